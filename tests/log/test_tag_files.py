"""Indexes of tags beside their segments: kept once they are whole, believed only where they fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.log.compacting import carry_out
from tests.log.making import NOW_MS, TOPIC_ID, opened, put_marker, settle

from penstock.api import viewing
from penstock.api.partial_lag import Seen, seen_between
from penstock.api.sieves import Sieve
from penstock.api.viewing import Viewing
from penstock.config import TopicConfig
from penstock.log import tagging
from penstock.log.index_cache import IndexCache
from penstock.log.partition_log import PartitionLog
from penstock.log.segment import Segment
from penstock.log.steps import Steps
from penstock.log.tag_index import NAMES_MAX, TagIndex, digest
from penstock.log.tagging import TagCache
from penstock.predicate.predicate import parse
from penstock.wire.batch import HEADER_SIZE, read_header
from penstock.wire.batch_builder import build_batch
from penstock.wire.records import Record
from penstock.world.real_disk import RealDisk

SMALL = TopicConfig(segment_bytes=4096)
EU = parse("region = 'eu'")
NAMES = (b"region",)
BATCHES = 40
REGIONS = ["us"] * 20 + ["eu"] * 10 + ["ap"] * 10


def put(log: PartitionLog, regions: Sequence[str]) -> None:
    records = [
        Record(n, NOW_MS + n, None, bytes(100), ((b"region", region.encode()),))
        for n, region in enumerate(regions)
    ]
    batch = build_batch(records)
    log.append(batch, read_header(batch), NOW_MS, 0)
    log.write_out()


@pytest.fixture
def log(disk: RealDisk, folder: Path) -> PartitionLog:
    """Some finished segments, of which one or two have what matches."""
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL)
    for number in range(BATCHES):
        put(log, [REGIONS[number]] * 3)
    settle(log)
    assert len(log.segments) > 3
    return log


def matches_between(log: PartitionLog, sieve: Sieve, first: int, end: int) -> Steps[Seen]:
    return seen_between(log, Viewing(sieve, first), first, end)


def matches(log: PartitionLog, sieve: Sieve | None = None) -> int:
    """How many there are in all, by a walk from start to end."""
    end = log.end_offset
    steps = matches_between(log, sieve or Sieve(EU), log.start_offset, end)
    while True:
        try:
            carry_out(log, next(steps))
        except StopIteration as found:
            number: int = found.value.number
            return number


def kept(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.glob("*.tagindex"))


def blocks(segment: Segment) -> list[object]:
    assert segment.tags is not None
    columns = segment.tags.columns()
    return [*(list(column) for column in columns), segment.tags.names, segment.tags.bytes]


def looked_into(
    log: PartitionLog,
    monkeypatch: pytest.MonkeyPatch,
    sieve: Sieve | None = None,
    expected: int = 30,
) -> list[int]:
    """The batches that a walk opens."""
    found: list[int] = []
    look = Sieve.look

    def noting(sieve: Sieve, batch: memoryview, index: TagIndex, *, light: bool) -> object:
        found.append(read_header(batch).base_offset)
        return look(sieve, batch, index, light=light)

    with monkeypatch.context() as patched:
        patched.setattr(Sieve, "look", noting)
        assert matches(log, sieve) == expected
    return found


def test_segments_that_are_finished_and_gone_through_have_theirs_on_disk(
    log: PartitionLog, folder: Path
) -> None:
    assert matches(log) == 30
    assert kept(folder) == [segment.base for segment in log.segments[:-1]]


def test_who_reads_the_newest_leaves_them_behind_as_well(disk: RealDisk, folder: Path) -> None:
    log, sieve = PartitionLog(disk, str(folder), TOPIC_ID, SMALL), Sieve(EU)
    for region in REGIONS:
        before = log.end_offset
        put(log, [region] * 3)
        for wait in matches_between(log, sieve, before, log.end_offset):
            carry_out(log, wait)
    assert len(log.segments) > 3
    assert kept(folder) == [segment.base for segment in log.segments[:-1]]


def test_a_segment_that_is_read_in_part_has_none(log: PartitionLog, folder: Path) -> None:
    first, second = log.segments[0], log.segments[1]
    steps = matches_between(log, Sieve(EU), first.base + 3, second.base + 3)
    for wait in steps:
        carry_out(log, wait)
    assert kept(folder) == []


def test_after_a_start_only_what_may_match_is_read(
    log: PartitionLog, disk: RealDisk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matches(log)
    before = [blocks(segment) for segment in log.segments[:-1]]
    log.close()
    again = opened(disk, str(folder), SMALL, recovery_point=log.end_offset)
    active = again.segments[-1].base
    read = [offset for offset in looked_into(again, monkeypatch) if offset < active]
    assert len(read) < BATCHES / 2
    assert [blocks(segment) for segment in again.segments[:-1]] == before


def test_transactions_ends_are_in_it_and_always_read(
    disk: RealDisk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, SMALL)
    markers = []
    for number in range(BATCHES):
        put(log, [REGIONS[number]] * 3)
        if number % 10 == 0:
            markers.append(put_marker(log, 7, commit=True).base_offset)
    matches(log)
    assert kept(folder) == [segment.base for segment in log.segments[:-1]]
    assert set(markers) <= set(looked_into(log, monkeypatch))


@pytest.mark.parametrize("spoil", ["checksum", "shorter", "empty", "version", "gone"])
def test_one_that_is_wrong_is_made_anew(
    log: PartitionLog, disk: RealDisk, folder: Path, spoil: str
) -> None:
    matches(log)
    log.close()
    path = next(iter(sorted(folder.glob("*.tagindex"))))
    right = path.read_bytes()
    wrong = {
        "checksum": right[:-1] + bytes([right[-1] ^ 1]),
        "shorter": right[:-8],
        "empty": b"",
        "version": right[:5] + b"\x09" + right[6:],
    }
    if spoil == "gone":
        path.unlink()
    else:
        path.write_bytes(wrong[spoil])
    again = opened(disk, str(folder), SMALL, recovery_point=log.end_offset)
    assert matches(again) == 30
    assert path.read_bytes() == right


def test_one_of_another_log_is_not_believed(
    log: PartitionLog, disk: RealDisk, folder: Path
) -> None:
    """Of the same length, even: its last batch tells."""
    matches(log)
    log.close()
    one, other = sorted(folder.glob("*.tagindex"))[:2]
    other.write_bytes(one.read_bytes())
    again = opened(disk, str(folder), SMALL, recovery_point=log.end_offset)
    assert again.segments[0].size == again.segments[1].size
    assert matches(again) == 30


def test_it_goes_with_its_segment(log: PartitionLog, folder: Path) -> None:
    matches(log)
    bases = kept(folder)
    log.truncate_to(log.segments[2].base + 1)
    assert kept(folder) == bases[:2]
    put(log, ["eu"])
    assert matches(log) is not None
    assert kept(folder) == bases[:2]


def test_another_name_that_is_asked_for_is_added_to_it(log: PartitionLog, folder: Path) -> None:
    matches(log)
    assert matches(log, Sieve(parse("tier is null and region = 'us'"))) == 60
    assert set(log.segments[0].tags.names) == {b"region", b"tier"}  # type: ignore[union-attr]
    assert kept(folder) == [segment.base for segment in log.segments[:-1]]
    log.segments[0].tags = None
    found = tagging.known(log, log.segments[0], cold_ok=True)
    assert found is not None
    assert set(found.names) == {b"region", b"tier"}


def asking_for_many(region: str, name: str, count: int) -> Sieve:
    """A region, and that none of so many other headers is there."""
    missing = " and ".join(f"{name}{number} is null" for number in range(count))
    return Sieve(parse(f"region = '{region}' and {missing}"))


def test_views_that_ask_for_more_names_than_it_takes_leave_each_others_alone(
    log: PartitionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    eu, us = asking_for_many("eu", "a", 20), asking_for_many("us", "b", 20)
    assert (matches(log, eu), matches(log, us), matches(log, eu)) == (30, 60, 30)
    names = log.segments[0].tags.names  # type: ignore[union-attr]
    assert len(names) == NAMES_MAX
    assert set(eu.predicate.names) <= set(names)
    for sieve, expected in ((eu, 30), (us, 60), (None, 30)):
        assert len(looked_into(log, monkeypatch, sieve, expected)) < BATCHES
    assert log.segments[0].tags.names == names  # type: ignore[union-attr]


def test_one_view_that_asks_for_more_names_than_it_takes_has_the_first_of_them(
    log: PartitionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewing, "LEAST_BYTES", 500)
    monkeypatch.setattr(viewing, "CHUNK_BYTES", 500)
    matches(log, Sieve(parse("tier is null")))
    many = asking_for_many("eu", "a", NAMES_MAX + 5)
    assert (matches(log, many), matches(log, many)) == (30, 30)
    assert len(looked_into(log, monkeypatch, many, 30)) < BATCHES
    for segment in log.segments:
        assert segment.tags is not None
        assert len(segment.tags.names) == NAMES_MAX
        assert segment.tags.bytes == segment.size


def test_indexes_in_memory_are_bounded_over_all_logs(log: PartitionLog) -> None:
    matches(log)
    log.indexes = IndexCache()
    log.indexes.tags = TagCache(limit_bytes=1)
    for segment in log.segments:
        segment.tags = None
    assert matches(log) == 30
    in_memory = [segment for segment in log.segments if segment.tags is not None]
    assert len(in_memory) == 1
    assert matches(log) == 30


def test_a_disk_that_will_not_have_it_does_not_keep_readers_from_reading(
    log: PartitionLog, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(segment: Segment, kind: str, data: bytes) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(Segment, "write_index", refusing)
    assert matches(log) == 30
    assert kept(folder) == []


def test_a_block_says_what_all_of_its_batches_have() -> None:
    index = TagIndex(NAMES, 0)
    for base, region in ((0, b"eu"), (1, b"us")):
        record = Record(base, NOW_MS + base, None, b"", ((b"region", region),))
        batch = bytes(build_batch([record]))
        header = read_header(batch)._replace(base_offset=base)
        index.note(header, digest(header, batch[HEADER_SIZE:], NAMES))
    block = index.block_at(1)
    assert block is not None
    assert block.end == 2
    assert block.tags == (frozenset({b"eu", b"us"}),)
    assert block.times == (NOW_MS, NOW_MS + 1)
