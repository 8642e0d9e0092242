"""How a coordinator gets its state back from a log."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.log.making import NOW_MS, TOPIC_ID

from penstock.config import TopicConfig
from penstock.coordination import loading
from penstock.coordination.loading import load
from penstock.coordination.pace import COST_A_SLICE
from penstock.coordination.turn import Event
from penstock.log.damage import Damage
from penstock.log.partition_log import PartitionLog
from penstock.metadata.internal_topics import OFFSETS
from penstock.server.steps import carry_out, wait_on
from penstock.wire.batch import read_header, seal
from penstock.wire.batch_builder import build_batch, end_marker
from penstock.wire.compression import Codec
from penstock.wire.records import Record
from penstock.wire.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from penstock.wire.stored_codec import StoredKey, encode_key, encode_value
from penstock.world.ports import Cold
from penstock.world.real_disk import RealDisk
from penstock.world.real_file import RealFile


@pytest.fixture
def disk() -> Iterator[RealDisk]:
    disk = RealDisk()
    yield disk
    disk.close()


@pytest.fixture
def log(disk: RealDisk, tmp_path: Path) -> PartitionLog:
    return PartitionLog(disk, str(tmp_path / "log-0"), TOPIC_ID, TopicConfig())


def key(partition: int) -> bytes:
    return encode_key(OffsetCommitKey("group", "orders", partition))


def value(offset: int) -> bytes:
    return encode_value(OffsetCommitValue(offset), 3)


def write(log: PartitionLog, *events: tuple[bytes | None, bytes | None], codec: int = 0) -> None:
    records = [Record(number, NOW_MS, *event) for number, event in enumerate(events)]
    append(log, build_batch(records, codec=codec))


def append(log: PartitionLog, batch: bytearray) -> None:
    log.append(batch, read_header(batch), NOW_MS, 1)
    log.write_out()


def _nothing_is_left_out(key: StoredKey, problem: str) -> None:
    raise AssertionError(f"{key}: {problem}")


def _nothing_is_held(producer_id: int, event: Event, end: int) -> None:
    raise AssertionError(f"{producer_id} {event}")


class Taken(NamedTuple):
    """What is made of the events: a list of them."""

    apply: Callable[[Event], None]
    leave_out: Callable[[StoredKey, str], None] = _nothing_is_left_out
    hold: Callable[..., None] = _nothing_is_held


def loaded(
    disk: RealDisk, log: PartitionLog, left_out: dict[int, str] | None = None
) -> list[Event]:
    found: list[Event] = []

    def leave_out(key: StoredKey, problem: str) -> None:
        assert isinstance(key, OffsetCommitKey)
        assert left_out is not None
        left_out[key.partition] = problem

    asyncio.run(
        carry_out(partial(wait_on, disk), load(log, OFFSETS, Taken(found.append, leave_out)))
    )
    return found


def offsets(
    disk: RealDisk, log: PartitionLog, left_out: dict[int, str] | None = None
) -> dict[int, int | None]:
    found = {}
    for event in loaded(disk, log, left_out):
        assert isinstance(event.key, OffsetCommitKey)
        assert event.value is None or isinstance(event.value, OffsetCommitValue)
        found[event.key.partition] = event.value.offset if event.value else None
    return found


def test_nothing_comes_of_an_empty_log(disk: RealDisk, log: PartitionLog) -> None:
    assert loaded(disk, log) == []


def test_of_each_key_only_the_last_event_is_applied_and_ends_are_too(
    disk: RealDisk, log: PartitionLog
) -> None:
    write(log, (key(0), value(1)), (key(1), value(2)))
    write(log, (key(0), value(3)), (key(2), value(4)))
    write(log, (key(2), None))
    assert len(loaded(disk, log)) == 3
    assert offsets(disk, log) == {0: 3, 1: 2, 2: None}


def test_events_come_in_the_order_in_which_they_were_written_last(
    disk: RealDisk, log: PartitionLog
) -> None:
    for partition in (0, 1, 2, 0):
        write(log, (key(partition), value(partition)))
    assert list(offsets(disk, log)) == [1, 2, 0]


def test_a_log_of_many_chunks_is_read_to_its_end(
    disk: RealDisk, log: PartitionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "CHUNK_BYTES", 200)
    monkeypatch.setattr(loading, "EVENT_COST", COST_A_SLICE // 7)
    for partition in range(100):
        write(log, (key(partition), value(partition)))
    assert offsets(disk, log) == {each: each for each in range(100)}


def test_compressed_batches_and_gaps_of_compaction_are_read(
    disk: RealDisk, log: PartitionLog
) -> None:
    write(log, (key(0), value(1)), codec=Codec.GZIP)
    batch = build_batch([Record(20, NOW_MS, key(1), value(2)), Record(29, NOW_MS, key(2), None)])
    log.append_batches(memoryview(batch), NOW_MS)
    write(log, (key(3), value(3)))
    assert offsets(disk, log) == {0: 1, 1: 2, 2: None, 3: 3}


def test_markers_and_events_without_a_key_are_left_out(disk: RealDisk, log: PartitionLog) -> None:
    write(log, (None, value(1)), (key(0), value(2)))
    append(log, end_marker(7, 0, commit=True, coordinator_epoch=0, timestamp_ms=NOW_MS))
    assert offsets(disk, log) == {0: 2}


def test_events_of_types_that_are_not_known_are_left_out(
    disk: RealDisk, log: PartitionLog, caplog: pytest.LogCaptureFixture
) -> None:
    write(log, (struct.pack(">h", 999) + b"something", b"new"), (key(0), value(1)))
    assert offsets(disk, log) == {0: 1}
    assert not caplog.records


@pytest.mark.parametrize(
    "bad",
    [
        (b"", b""),
        (b"\x00", value(1)),
        (struct.pack(">h", 1) + b"\x00\x50short", value(1)),
        (key(7) + b"more", value(1)),
    ],
    ids=str,
)
def test_an_event_whose_key_cannot_be_read_is_told_of_and_hides_no_others(
    disk: RealDisk,
    log: PartitionLog,
    caplog: pytest.LogCaptureFixture,
    bad: tuple[bytes, bytes],
) -> None:
    write(log, (key(0), value(1)), bad, (key(1), value(2)))
    assert offsets(disk, log) == {0: 1, 1: 2}
    assert "cannot be read" in caplog.text


@pytest.mark.parametrize(
    "bad", [b"", value(1)[:-3], struct.pack(">h", 99) + value(1)], ids=["empty", "short", "newer"]
)
def test_an_event_whose_value_cannot_be_read_is_told_of_with_its_key(
    disk: RealDisk, log: PartitionLog, bad: bytes
) -> None:
    write(log, (key(0), value(1)), (key(7), bad), (key(1), value(2)))
    left_out: dict[int, str] = {}
    assert offsets(disk, log, left_out) == {0: 1, 1: 2}
    assert left_out.keys() == {7}
    write(log, (key(7), value(3)))
    assert offsets(disk, log) == {0: 1, 1: 2, 7: 3}, "what came later can be read"


def test_an_event_that_cannot_be_applied_is_told_of_and_hides_no_others(
    disk: RealDisk, log: PartitionLog, caplog: pytest.LogCaptureFixture
) -> None:
    write(log, (key(0), value(1)), (key(1), value(2)))
    applied = []

    def apply(event: Event) -> None:
        assert isinstance(event.key, OffsetCommitKey)
        if event.key.partition == 0:
            raise KeyError("nonsense")
        applied.append(event)

    left_out: list[tuple[StoredKey, str]] = []

    def leave_out(key: StoredKey, problem: str) -> None:
        left_out.append((key, problem))

    asyncio.run(carry_out(partial(wait_on, disk), load(log, OFFSETS, Taken(apply, leave_out))))
    assert len(applied) == 1
    assert left_out == [(OffsetCommitKey("group", "orders", 0), "KeyError('nonsense')")]
    assert "makes no sense" in caplog.text


def test_a_batch_that_cannot_be_unpacked_hides_no_others(
    disk: RealDisk, log: PartitionLog, caplog: pytest.LogCaptureFixture
) -> None:
    write(log, (key(0), value(1)))
    header = read_header(build_batch([Record(0, NOW_MS, key(1), value(2))], codec=Codec.GZIP))
    append(log, seal(header, b"this was never packed"))
    write(log, (key(2), value(3)))
    assert offsets(disk, log) == {0: 1, 2: 3}
    assert "are left out" in caplog.text


def test_what_is_damaged_on_disk_is_passed_over(disk: RealDisk, log: PartitionLog) -> None:
    ends = []
    for partition in range(4):
        write(log, (key(partition), value(partition)))
        ends.append(log.size_bytes)
    log.damage.append(Damage(1, 3, 0, ends[0], ends[2]))
    assert offsets(disk, log) == {0: 0, 3: 3}


def test_a_log_that_is_not_in_memory_is_warmed_first(
    disk: RealDisk, log: PartitionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(log, (key(0), value(1)))
    warmed: list[Cold] = []

    def cold_once(self: RealFile, position: int, length: int) -> bytes:
        if not warmed:
            raise Cold(self, position, length)
        return self.read(position, length)

    monkeypatch.setattr(RealFile, "read_cached", cold_once)

    async def wait_for(wait: object) -> None:
        if isinstance(wait, Cold):
            warmed.append(wait)

    found: list[Event] = []
    asyncio.run(carry_out(wait_for, load(log, OFFSETS, Taken(found.append))))
    assert len(warmed) == 1
    assert len(found) == 1
