"""Views of what is not in the page cache: read off the loop, however much of it there is."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.api.desk import Desk
from tests.api.test_views import VERSION, make, offsets, put
from tests.raw_client import fetch_of, partition_of

from penstock.api import viewing
from penstock.errors import ErrorCode
from penstock.log.partition_log import PartitionLog
from penstock.log.steps import WARM_TRIES
from penstock.world.ports import Cold, File
from penstock.world.real_disk import RealDisk

BATCHES = 200


@pytest.fixture
def orders(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Much that does not match, and then what does; of which little is read at a time."""
    monkeypatch.setattr(viewing, "CHUNK_BYTES", 300)
    monkeypatch.setattr(viewing, "LEAST_BYTES", 300)
    desk.create("orders")
    assert make(desk).error_code == 0
    for _ in range(BATCHES):
        put(desk, ["us"] * 3)
    put(desk, ["eu"])
    return desk


class Pages:
    """What the cache has of a log, by the offsets that are read; nothing at first."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, keeps: bool) -> None:
        self.warm: set[int] = set()
        self.tries: Counter[int] = Counter()
        self.read_cold: list[int] = []
        self.problem: OSError | None = None
        really_read = PartitionLog.read

        def read(log: PartitionLog, offset: int, *args: Any, cold_ok: bool, **more: Any) -> Any:
            self.tries[offset] += 1
            if offset not in self.warm:
                self.was_cold(log, offset, cold_ok)
            return really_read(log, offset, *args, cold_ok=cold_ok, **more)

        async def warm(_: RealDisk, file: File, position: int, length: int) -> None:
            if keeps:
                self.warm.add(position)

        monkeypatch.setattr(PartitionLog, "read", read)
        monkeypatch.setattr(RealDisk, "warm", warm)

    def was_cold(self, log: PartitionLog, offset: int, cold_ok: bool) -> None:
        if not cold_ok:
            assert log.active is not None
            raise Cold(log.active.file, offset, 10)
        self.read_cold.append(offset)
        if self.problem is not None:
            raise self.problem


def found(desk: Desk) -> tuple[list[int], int]:
    return offsets(partition_of(desk.ask(fetch_of("eu"), VERSION)))


def test_a_long_walk_reads_nothing_cold_on_the_loop(
    orders: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = Pages(monkeypatch, keeps=True)
    assert found(orders) == ([BATCHES * 3], BATCHES * 3 + 1)
    assert len(pages.tries) > BATCHES // 2
    assert pages.read_cold == []


def test_what_the_cache_never_keeps_is_read_all_the_same(
    orders: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = Pages(monkeypatch, keeps=False)
    assert found(orders) == ([BATCHES * 3], BATCHES * 3 + 1)
    assert max(pages.tries.values()) <= WARM_TRIES + 2


def test_what_is_cold_and_cannot_be_read_is_told(
    orders: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    Pages(monkeypatch, keeps=False).problem = OSError(5, "Input/output error")
    data = partition_of(orders.ask(fetch_of("eu"), VERSION))
    assert data.error_code == ErrorCode.KAFKA_STORAGE_ERROR
