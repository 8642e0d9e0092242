"""Swaps that are found at a start, ours and Kafka's: which are believed, and what becomes of them.

The log has batches of one record each, in segments that begin at 0, 7, 14, ... The swap stands for
the first two.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.log.crashing import Crashes, WatchedDisk
from tests.log.making import (
    TOPIC_ID,
    CountingDisk,
    a_batch,
    all_values,
    opened,
    put,
    settle,
)

from penstock.config import TopicConfig
from penstock.log.partition_log import PartitionLog
from penstock.wire import batch as batches
from penstock.wire.batch import Offset
from penstock.world.real_disk import RealDisk

PLAIN = TopicConfig(segment_bytes=1024, index_interval_bytes=100)
COMPACTED = TopicConfig(segment_bytes=1024, index_interval_bytes=100, cleanup_policy=("compact",))
END = 40
NAME = "00000000000000000000.log"
KAFKAS = ".swap"
OURS = ".00000000000000000014.swap"
VALUES = [(number, b"%03d" % number * 20) for number in range(END)]


@pytest.fixture
def written(disk: RealDisk, folder: Path) -> list[bytes]:
    """The batches of the log in the folder, all of them synced."""
    log = PartitionLog(disk, str(folder), TOPIC_ID, PLAIN)
    for _, value in VALUES:
        put(log, value)
    settle(log)
    log.close()
    assert [segment.base for segment in log.segments[:4]] == [0, 7, 14, 21]
    data = b"".join(Path(segment.file.path).read_bytes() for segment in log.segments)
    return list(in_batches(data))


@pytest.fixture
def watched() -> Iterator[WatchedDisk]:
    disk = WatchedDisk()
    yield disk
    disk.close()


def in_batches(data: bytes) -> Iterator[bytes]:
    while data:
        size = batches.size_at(data)
        yield data[:size]
        data = data[size:]


def started(disk: RealDisk, folder: Path, config: TopicConfig) -> PartitionLog:
    """After a crash; all that was synced is below the recovery point, and not looked at again."""
    return opened(disk, str(folder), config, recovery_point=END)


def check_set_aside(disk: RealDisk, folder: Path, config: TopicConfig, suffix: str) -> None:
    content = (folder / (NAME + suffix)).read_bytes()
    for _ in range(2):
        log = started(disk, folder, config)
        assert all_values(log) == VALUES
        assert not log.damage
    assert not list(folder.glob("*.swap"))
    assert (folder / (NAME + suffix + ".doubtful")).read_bytes() == content


def bad_swaps(written: list[bytes]) -> dict[str, bytes]:
    """By what is wrong with them, whatever kind of log they are found in."""
    whole = b"".join(written[:14])
    flipped = bytearray(whole)
    flipped[300] ^= 1
    other = bytearray(a_batch(b"other" * 12))
    batches.stamp(other, Offset(40), 0)
    return {
        "garbage": b"no batch at all, but long enough to be taken for the header of one " * 20,
        "zeros": bytes(2000),
        "cut short": whole[:-1],
        "with more after it": whole + b"x",
        "with a bit flipped": bytes(flipped),
        "out of order": b"".join([*written[:5], written[6], written[5], *written[7:14]]),
        "twice the same": b"".join([*written[:6], written[5], *written[6:14]]),
        "beyond the last segment": whole + bytes(other),
    }


@pytest.mark.parametrize("config", [PLAIN, COMPACTED], ids=["plain", "compacted"])
@pytest.mark.parametrize("suffix", [KAFKAS, OURS])
@pytest.mark.parametrize("fault", list(bad_swaps([bytes(100)] * 14)))
def test_a_swap_that_is_not_all_good_batches_is_set_aside(
    disk: RealDisk,
    folder: Path,
    written: list[bytes],
    caplog: pytest.LogCaptureFixture,
    config: TopicConfig,
    suffix: str,
    fault: str,
) -> None:
    (folder / (NAME + suffix)).write_bytes(bad_swaps(written)[fault])
    (folder / ("00000000000000000000.index" + suffix)).write_bytes(b"of the swap")
    check_set_aside(disk, folder, config, suffix)
    assert sum("set aside" in line for line in caplog.messages) == 1


@pytest.mark.parametrize("suffix", [KAFKAS, OURS])
@pytest.mark.parametrize("left", ["nothing", "not the first", "not one within", "not the last"])
def test_a_swap_with_fewer_records_is_set_aside_where_the_log_is_not_compacted(
    disk: RealDisk, folder: Path, written: list[bytes], suffix: str, left: str
) -> None:
    kept = {
        "nothing": [],
        "not the first": written[1:14],
        "not one within": [*written[:4], *written[5:14]],
        "not the last": written[:13],
    }
    (folder / (NAME + suffix)).write_bytes(b"".join(kept[left]))
    check_set_aside(disk, folder, PLAIN, suffix)


def test_an_empty_swap_of_kafkas_is_set_aside_even_where_the_log_is_compacted(
    disk: RealDisk, folder: Path, written: list[bytes]
) -> None:
    assert written
    (folder / (NAME + KAFKAS)).write_bytes(b"")
    check_set_aside(disk, folder, COMPACTED, KAFKAS)


@pytest.mark.parametrize("config", [PLAIN, COMPACTED], ids=["plain", "compacted"])
@pytest.mark.parametrize(
    ("name", "begin", "end"),
    [
        ("00000000000000000003.log.swap", 3, 14),  # in the midst of a segment
        ("00000000000000000003.log.00000000000000000014.swap", 3, 14),
        ("00000000000000000007.log.swap", 0, 14),  # not what it is named after
        ("00000000000000000000.log.00000000000000000014.swap", 0, 21),  # beyond the next segment
        ("00000000000000000000.log.00000000000000000013.swap", 0, 13),  # where no segment begins
        ("00000000000000000035.log.swap", 35, 40),  # what is still written to
        ("00000000000000000007.log.00000000000000000007.swap", 7, 7),
    ],
)
def test_a_swap_that_does_not_fit_its_place_is_set_aside(
    disk: RealDisk,
    folder: Path,
    written: list[bytes],
    config: TopicConfig,
    name: str,
    begin: int,
    end: int,
) -> None:
    (folder / name).write_bytes(b"".join(written[begin:end]))
    assert all_values(started(disk, folder, config)) == VALUES
    assert (folder / f"{name}.doubtful").exists()


def test_two_swaps_for_the_same_segments_are_both_set_aside(
    disk: RealDisk, folder: Path, written: list[bytes]
) -> None:
    (folder / (NAME + OURS)).write_bytes(b"".join(written[:14]))
    (folder / "00000000000000000007.log.swap").write_bytes(b"".join(written[7:21]))
    assert all_values(started(disk, folder, COMPACTED)) == VALUES
    assert len(list(folder.glob("*.doubtful"))) == 2


@pytest.mark.parametrize("suffix", [KAFKAS, OURS])
def test_a_good_swap_takes_the_place_of_what_it_stands_for(
    disk: RealDisk, folder: Path, written: list[bytes], suffix: str
) -> None:
    (folder / (NAME + suffix)).write_bytes(b"".join(written[:14]))
    for _ in range(2):
        log = started(disk, folder, PLAIN)
        assert [segment.base for segment in log.segments[:2]] == [0, 14]
        assert all_values(log) == VALUES
    assert not list(folder.glob("*.doubtful"))


@pytest.mark.parametrize("suffix", [KAFKAS, OURS])
@pytest.mark.parametrize("is_noted", [False, True])
def test_a_swap_of_a_compacted_log_may_have_fewer_records(
    disk: RealDisk, folder: Path, written: list[bytes], suffix: str, is_noted: bool
) -> None:
    if is_noted:
        (folder / "penstock.compacted").touch()
    (folder / (NAME + suffix)).write_bytes(b"".join([written[2], *written[5:9]]))
    log = started(disk, folder, PLAIN if is_noted else COMPACTED)
    assert [segment.base for segment in log.segments[:2]] == [0, 14]
    assert [offset for offset, _ in all_values(log)] == [2, 5, 6, 7, 8, *range(14, END)]


def test_a_swap_whose_batches_were_not_renamed_yet_is_undone(
    disk: RealDisk, folder: Path, written: list[bytes]
) -> None:
    index = folder / "00000000000000000000.timeindex"
    before = index.read_bytes()
    Path(f"{index}.swap").write_bytes(b"of a compacted segment")
    (folder / "00000000000000000000.log.cleaned").write_bytes(written[0])
    assert all_values(started(disk, folder, PLAIN)) == VALUES
    assert index.read_bytes() == before
    assert not list(folder.glob("*.swap"))


def test_a_start_without_swaps_reads_no_batches_but_those_of_the_last_segment(
    folder: Path, written: list[bytes]
) -> None:
    assert written
    counting = CountingDisk()
    log = PartitionLog(counting, str(folder), TOPIC_ID, PLAIN)
    log.end_offset = log.written_end = log.synced_end = END
    log.open()
    assert {path for path in counting.reads if path.endswith(".log")} == {
        log.segments[-1].file.path
    }
    counting.close()


@pytest.mark.parametrize("suffix", [KAFKAS, OURS])
@pytest.mark.parametrize("config", [PLAIN, COMPACTED], ids=["plain", "compacted"])
@pytest.mark.parametrize("is_good", [True, False])
def test_a_crash_at_any_point_of_the_start_loses_nothing(
    watched: WatchedDisk,
    disk: RealDisk,
    folder: Path,
    tmp_path: Path,
    written: list[bytes],
    suffix: str,
    config: TopicConfig,
    is_good: bool,
) -> None:
    content = b"".join(written[:14])
    (folder / (NAME + suffix)).write_bytes(content if is_good else content[:-1])
    for kind in ("index", "timeindex"):
        source = folder / f"00000000000000000000.{kind}"
        (folder / f"{source.name}{suffix}").write_bytes(source.read_bytes())
    crashes = Crashes(folder, tmp_path / "crashes")
    watched.before_change = crashes
    started(watched, folder, config)
    assert len(crashes.folders) > (8 if is_good else 2)
    for place in crashes.folders:
        log = started(disk, place, config)
        assert all_values(log) == VALUES
        assert not log.damage
        assert (len(log.segments) < 6) == is_good
        assert not list(place.glob("*.swap"))


@pytest.mark.parametrize("moved", [["0"], ["0", "7"]])
@pytest.mark.parametrize("number", ["", ".1"])
def test_segments_that_had_made_room_for_a_swap_that_is_set_aside_come_back(
    watched: WatchedDisk,
    disk: RealDisk,
    folder: Path,
    tmp_path: Path,
    written: list[bytes],
    moved: list[str],
    number: str,
) -> None:
    (folder / (NAME + OURS)).write_bytes(b"".join(written[:14])[:-1])
    for base in moved:
        for path in folder.glob(f"{base:0>20}.*"):
            if path.suffix in {".log", ".index", ".timeindex"}:
                path.rename(f"{path}{number}.deleted")
    crashes = Crashes(folder, tmp_path / "crashes")
    watched.before_change = crashes
    assert all_values(started(watched, folder, COMPACTED)) == VALUES
    assert len(crashes.folders) > 3
    for place in crashes.folders:
        log = started(disk, place, COMPACTED)
        assert all_values(log) == VALUES
        assert [segment.base for segment in log.segments[:3]] == [0, 7, 14]


def test_segments_that_had_made_room_for_an_empty_swap_of_kafkas_come_back(
    disk: RealDisk, folder: Path, written: list[bytes]
) -> None:
    assert written
    for path in folder.glob("00000000000000000000.*"):
        path.rename(f"{path}.deleted")
    (folder / (NAME + KAFKAS)).write_bytes(b"")
    check_set_aside(disk, folder, COMPACTED, KAFKAS)
