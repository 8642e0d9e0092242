"""Segments on disk, looked into and checked without a broker."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Penstock

from penstock.cli import log_scan
from penstock.log.offset_index import OffsetIndex
from penstock.log.time_index import TimeIndex
from penstock.wire.batch_builder import build_batch
from penstock.wire.compression import Codec
from penstock.wire.records import Record


def batch(first: int, count: int, codec: Codec = Codec.NONE) -> bytes:
    records = [
        Record(first + n, 1000 * (first + n), b"k", b"%d" % (first + n), ((b"h", b"1"),))
        for n in range(count)
    ]
    return bytes(
        build_batch(records, codec=codec, producer_id=9, producer_epoch=1, base_sequence=0)
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A partition of two segments, the first with its indexes."""
    made = tmp_path / "data" / "orders-0"
    made.mkdir(parents=True)
    first, second = batch(0, 3), batch(3, 2, Codec.GZIP)
    (made / "00000000000000000000.log").write_bytes(first + second)
    offsets, times = OffsetIndex(), TimeIndex()
    offsets.add(4, len(first))
    times.add(4000, 4)
    (made / "00000000000000000000.index").write_bytes(offsets.encode())
    (made / "00000000000000000000.timeindex").write_bytes(times.encode())
    (made / "00000000000000000005.log").write_bytes(batch(5, 1))
    return made


@pytest.mark.parametrize("place", ["..", ".", "00000000000000000000.log"])
def test_a_sound_log_is_found_sound(offline: Penstock, folder: Path, place: str) -> None:
    result = offline("log", "verify", str(folder / place))
    assert result.exit_code == 0
    assert result.stdout.startswith("ok: ")


def test_verifying_counts_what_is_there(offline: Penstock, folder: Path) -> None:
    assert offline("log", "verify", str(folder)).stdout == "ok: 2 segments, 3 batches, 6 records\n"
    told = json.loads(offline("log", "verify", str(folder), "--json").stdout)
    assert told["ok"]
    assert [each["next_offset"] for each in told["segments"]] == [5, 6]


def flip_a_byte(folder: Path) -> None:
    path = folder / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)


def cut_the_end(folder: Path) -> None:
    path = folder / "00000000000000000005.log"
    path.write_bytes(path.read_bytes()[:-1])


def append_zeros(folder: Path) -> None:
    with (folder / "00000000000000000005.log").open("ab") as file:
        file.write(bytes(100))


def repeat_an_offset(folder: Path) -> None:
    with (folder / "00000000000000000005.log").open("ab") as file:
        file.write(batch(5, 1))


def overlap_segments(folder: Path) -> None:
    with (folder / "00000000000000000000.log").open("ab") as file:
        file.write(batch(5, 1))


def misplace_an_index_entry(folder: Path) -> None:
    index = OffsetIndex()
    index.add(4, 100)
    (folder / "00000000000000000000.index").write_bytes(index.encode())


def misname_an_index_entry(folder: Path) -> None:
    index = OffsetIndex()
    index.add(3, len(batch(0, 3)))
    (folder / "00000000000000000000.index").write_bytes(index.encode())


def break_the_index(folder: Path) -> None:
    (folder / "00000000000000000000.index").write_bytes(b"1234567")


def age_the_time_index(folder: Path) -> None:
    index = TimeIndex()
    index.add(3999, 4)
    (folder / "00000000000000000000.timeindex").write_bytes(index.encode())


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (flip_a_byte, "at byte 0: the CRC does not match"),
        (cut_the_end, "is cut short"),
        (append_zeros, "this is no batch; 100 bytes follow"),
        (repeat_an_offset, "offset 5 after 5"),
        (overlap_segments, "begins at offset 5, within the segment before it"),
        (misplace_an_index_entry, "leads to byte 100, where no batch begins"),
        (misname_an_index_entry, "has offset 3 at byte"),
        (break_the_index, "is not an index of this segment"),
        (age_the_time_index, "has 3999 as the newest up to 4; it is 4000"),
    ],
)
def test_damage_is_found_and_told(
    offline: Penstock, folder: Path, damage: Callable[[Path], None], said: str
) -> None:
    damage(folder)
    result = offline("log", "verify", str(folder))
    assert result.exit_code == 1
    assert said in result.stderr
    assert result.stdout.startswith("1 problem: ")


def test_a_missing_segment_is_told_as_a_gap(offline: Penstock, folder: Path) -> None:
    (folder / "00000000000000000009.log").write_bytes(batch(9, 1))
    result = offline("log", "verify", str(folder))
    assert result.exit_code == 0, "compaction leaves gaps too"
    assert "9.log: gap: begins at offset 9, and the segment before it ends at 6" in result.stderr
    assert result.stdout == "ok: 3 segments, 4 batches, 7 records, 1 gap\n"
    told = json.loads(offline("log", "verify", str(folder), "--json").stdout)
    assert [bool(each["gap"]) for each in told["segments"]] == [False, False, True]


def test_a_dump_shows_every_batch(offline: Penstock, folder: Path) -> None:
    result = offline("log", "dump", str(folder), "--json")
    told = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert [(each["base_offset"], each["last_offset"], each["count"]) for each in told] == [
        (0, 2, 3),
        (3, 4, 2),
        (5, 5, 1),
    ]
    assert [each["codec"] for each in told] == ["none", "gzip", "none"]
    assert {(each["producer_id"], each["crc_ok"]) for each in told} == {(9, True)}


def test_a_dump_shows_records_if_asked(offline: Penstock, folder: Path) -> None:
    told = offline("log", "dump", str(folder), "--records").stdout
    assert "  3..4  at " in told
    assert "    4  1970-01-01T00:00:04.000Z  'k' = '4'  h: 1\n" in told


def test_a_dump_of_damage_goes_on_and_says_so(offline: Penstock, folder: Path) -> None:
    flip_a_byte(folder)
    cut_the_end(folder)
    result = offline("log", "dump", str(folder), "--records")
    assert result.exit_code == 1
    assert "WRONG" in result.stdout
    assert "'k' = '4'" in result.stdout
    assert "is cut short" in result.stderr


@pytest.mark.parametrize(
    ("name", "said"), [("nothing", "there is no"), ("", "no segments in it"), ("f", "no segment")]
)
def test_a_place_without_segments_is_refused(
    offline: Penstock, tmp_path: Path, name: str, said: str
) -> None:
    (tmp_path / "f").write_bytes(b"")
    result = offline("log", "verify", str(tmp_path / name))
    assert result.exit_code == 1
    assert said in result.stderr


def test_an_empty_segment_is_sound(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000007.log"
    path.write_bytes(b"")
    report = log_scan.verify(path)
    assert (report.problems, report.next_offset) == ([], 7)


def test_what_a_broker_wrote_is_sound(penstock: Penstock, broker_data: Path, topic: str) -> None:
    penstock("topic", "create", topic, "--set", "segment.bytes=4096")
    penstock("produce", topic, "--rate", "2000", *(f"{number:0200}" for number in range(100)))
    result = penstock("log", "verify", str(broker_data / f"{topic}-0"))
    assert (result.exit_code, result.stderr) == (0, "")
    assert "100 records" in result.stdout
