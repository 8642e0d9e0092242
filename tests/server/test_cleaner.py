"""Which logs are compacted, whatever is wrong with others."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable

import pytest
from tests.server.house import House

from penstock.log import compaction_plan
from penstock.log.compaction import Compaction
from penstock.log.partition_log import PartitionLog
from penstock.server.cleaner import Cleaner


def cleaner_of(house: House) -> Cleaner:
    def keep(compaction: Compaction, delay_ms: int) -> None:
        """Replaced files stay: the house is torn down with them."""

    return Cleaner(house.clock, house.disk, house.broker, house.syncer, keep)


def make_dirty(house: House, topic: str) -> PartitionLog:
    house.desk.create(topic, cleanup_policy="compact", segment_bytes="1024")
    log = house.broker.leader(topic, 0).log
    while len(log.segments) < 5:
        house.desk.append(topic, count=5)
    return log


@pytest.mark.parametrize("problem", [OSError(errno.EIO, "bad sector"), ValueError("a bug")])
async def test_a_log_that_cannot_be_examined_keeps_no_other_from_being_compacted(
    house: House,
    problem: Exception,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    logs = {topic: make_dirty(house, topic) for topic in ("a-good", "bad", "c-good")}
    examine = compaction_plan.examine

    def failing(log: PartitionLog, now_ms: int, stable_offset: int) -> compaction_plan.Dirt | None:
        if log is logs["bad"]:
            raise problem
        return examine(log, now_ms, stable_offset)

    monkeypatch.setattr(compaction_plan, "examine", failing)
    with caplog.at_level(logging.ERROR):
        await cleaner_of(house).run()
    assert [log.cleaned_to > 0 for log in logs.values()] == [True, False, True]
    assert f"bad-0 could not be examined for compaction: {problem}" in caplog.text


async def test_logs_that_are_not_compacted_are_not_even_opened(
    make_house: Callable[..., House],
) -> None:
    house = make_house()
    house.desk.create("plain", partitions=3)
    house.desk.append("plain", 1)
    make_dirty(house, "dirty")
    house.desk = house.desk.restart()
    house.broker = house.desk.broker
    assert not any(log.is_open for log in house.desk.log_dir.logs.values())
    await cleaner_of(house).run()
    opened = {topic: log.is_open for (topic, _), log in house.desk.log_dir.logs.items()}
    assert opened == {"plain": False, "dirty": True}


async def test_a_sync_that_fails_is_as_fatal_as_any_other(house: House) -> None:
    log = make_dirty(house, "dirty")
    house.disk.sync_fails = True
    await cleaner_of(house).run()
    (failure,) = house.failures
    assert isinstance(failure, OSError)
    assert failure.errno == errno.EIO
    assert log.cleaned_to == 0
    with pytest.raises(OSError, match="Input/output error"):
        await house.syncer.drain()
