"""One wrong bit in a batch's header costs that batch, and no other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from struct import pack_into, unpack_from

import pytest
from tests.log.making import NOW_MS, copied, opened
from tests.log.spoiling import COUNT, INDEXED, assert_all_found_but, files, is_refused, started
from tests.log.timing import finished, patient_headers, since

from penstock.log.reindexing import reindex
from penstock.wire.batch import LENGTH_OVERHEAD, read_header, size_at
from penstock.world.real_disk import RealDisk

BAD = 7


def change_header(path: Path, at: int, change: Callable[[int], int]) -> None:
    """Four bytes of a batch's header."""
    data = bytearray(path.read_bytes())
    start = BAD * size_at(data)
    assert read_header(data, start).base_offset == int(path.stem) + BAD
    pack_into(">I", data, start + at, change(unpack_from(">I", data, start + at)[0]) & 0xFFFFFFFF)
    path.write_bytes(data)


@pytest.mark.parametrize("bit", [0, 1, 3, 5, 8, 11, 17, 24, 31])
@pytest.mark.parametrize("at", [0, 4, 8, 23], ids=["offset", "low offset", "length", "delta"])
def test_one_flipped_bit_in_a_header_costs_one_batch_as_in_a_recovery(
    disk: RealDisk, filled: Path, tmp_path: Path, at: int, bit: int
) -> None:
    change_header(files(filled, ".log")[0], at, lambda value: value ^ 1 << bit)
    recovered = opened(disk, str(copied(filled, tmp_path / "copy")), INDEXED)
    log = started(disk, filled)
    log.open()
    finished(log, reindex(log, log.segments[0]))
    assert [(each.first_offset, each.end_offset) for each in recovered.damage] == [(BAD, BAD + 1)]
    assert log.damage == recovered.damage
    assert_all_found_but(log, BAD)


@pytest.mark.parametrize("batches", [2, 5, None], ids=["two", "five", "all"])
def test_a_length_that_leads_to_a_later_batch_or_the_end_costs_one_batch(
    disk: RealDisk, filled: Path, batches: int | None
) -> None:
    path = files(filled, ".log")[0]
    size = size_at(path.read_bytes())
    rest = path.stat().st_size - BAD * size
    wanted = (rest if batches is None else batches * size) - LENGTH_OVERHEAD
    change_header(path, 8, lambda _: wanted)
    log = started(disk, filled)
    log.open()
    finished(log, reindex(log, log.segments[0]))
    assert [each[:2] for each in log.damage] == [(BAD, BAD + 1)]
    assert_all_found_but(log, BAD)
    again = started(disk, filled)
    again.open()
    assert again.damage == log.damage
    assert_all_found_but(again, BAD)


@pytest.mark.parametrize("first", [0, BAD - 1, BAD, BAD + 1, BAD + 8, BAD + 9])
@pytest.mark.parametrize("at", [4, 23], ids=["offset", "delta"])
@pytest.mark.parametrize("has_gaps", [True, False])
def test_a_batch_that_its_neighbour_contradicts_is_refused_and_no_other(
    disk: RealDisk, filled: Path, first: int, at: int, has_gaps: bool
) -> None:
    """Whoever reads first, and also where compaction may have left gaps."""
    change_header(files(filled, ".log")[0], at, lambda value: value + 8)
    if has_gaps:
        (filled / "penstock.compacted").touch()
    log = started(disk, filled)
    if first == BAD:
        assert is_refused(log, BAD)
    else:
        assert patient_headers(log, first, 1)[0].base_offset == first
    assert_all_found_but(log, BAD, 1)
    assert_all_found_but(log, BAD)
    assert [each[:2] for each in log.damage] == [(BAD, BAD + 1)]


@pytest.mark.parametrize("at", [4, 23], ids=["offset", "delta"])
def test_no_time_is_looked_for_in_a_batch_that_its_neighbour_contradicts(
    disk: RealDisk, filled: Path, at: int
) -> None:
    change_header(files(filled, ".log")[0], at, lambda value: value + 8)
    (filled / "penstock.compacted").touch()
    log = started(disk, filled)
    wanted = BAD + 2
    assert since(log, NOW_MS + wanted * 1000, COUNT) == (NOW_MS + wanted * 1000, wanted, 0)
    assert_all_found_but(log, BAD, 1)


def test_several_wrong_headers_cost_as_many_batches(disk: RealDisk, filled: Path) -> None:
    path = files(filled, ".log")[0]
    data = bytearray(path.read_bytes())
    size, wrong = size_at(data), [3, 4, 8, 15]
    for number in wrong:
        data[number * size + 10] ^= 4
    path.write_bytes(data)
    log = started(disk, filled)
    log.open()
    finished(log, reindex(log, log.segments[0]))
    refused = [offset for each in log.damage for offset in range(each[0], each[1])]
    assert refused == wrong
    assert patient_headers(log, 5)[0].base_offset == 5
