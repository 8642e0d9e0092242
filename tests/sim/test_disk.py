"""The simulated disk: what survives a power loss, and what fails how."""

from __future__ import annotations

import errno
import re

import pytest
from tests.sim.disks import Machine

from penstock.errors import Unusable
from penstock.sim.disk import Killed, SimDisk
from penstock.sim.file import SimFile
from penstock.sim.loss import SECTOR_BYTES
from penstock.world.ports import Cold

SEEDS = range(200)
BYTES = bytes(range(1, 101))


def left_of(machine: Machine, path: str) -> bytes | None:
    disk = machine.after_power_loss()
    return disk.read_whole(path) if disk.exists(path) else None


def synced_file(machine: Machine) -> None:
    """Of which the second half is not."""
    file = machine.disk.open("/data/log")
    file.append([BYTES[:50]])
    machine.wait(machine.disk.sync_all([file], ["/data"]))
    file.append([BYTES[50:70], BYTES[70:]])


# -- bytes


@pytest.mark.parametrize("in_order", [True, False])
def test_what_was_synced_survives_and_the_rest_is_torn_anywhere(in_order: bool) -> None:
    sizes = set()
    for seed in SEEDS:
        machine = Machine(seed, in_order=in_order)
        synced_file(machine)
        left = left_of(machine, "/data/log")
        assert left is not None
        assert left[:50] == BYTES[:50]
        assert all(new in (0, old) for new, old in zip(left, BYTES, strict=False))
        sizes.add(len(left))
    assert {50, 100} <= sizes
    assert len(sizes) > 20


def test_out_of_order_a_later_part_may_survive_without_an_earlier_one() -> None:
    holes = 0
    for seed in SEEDS:
        machine = Machine(seed, in_order=False)
        synced_file(machine)
        machine.disk.open("/data/log").append([BYTES * 30])
        left = left_of(machine, "/data/log") or b""
        holes += b"\0" in left and not left.endswith(b"\0")
        for hole in re.finditer(rb"\0+", left):
            assert hole.start() in (50, 100) or hole.start() % SECTOR_BYTES == 0
            assert hole.end() == len(left) or hole.end() % SECTOR_BYTES == 0
    assert holes


def test_in_order_nothing_survives_what_was_written_before_it_and_is_lost() -> None:
    kinds = set()
    for seed in SEEDS:
        machine = Machine(seed)
        first, second = machine.disk.open("/data/1"), machine.disk.open("/data/2")
        for file in (first, second):
            file.append([b"x"])
        machine.wait(machine.disk.sync_all([first, second], ["/data"]))
        first.append([b"earlier"])
        second.append([b"later"])
        disk = machine.after_power_loss()
        ends = len(disk.read_whole("/data/1")), len(disk.read_whole("/data/2"))
        assert ends[1] == 1 or ends[0] == 8
        kinds.add(ends)
    assert {(1, 1), (8, 6)} <= kinds


def test_a_truncation_that_was_not_synced_may_be_undone() -> None:
    found = set()
    for seed in SEEDS:
        machine = Machine(seed)
        file = machine.disk.open("/data/log")
        file.append([b"abcdef"])
        machine.wait(machine.disk.sync_all([file], ["/data"]))
        file.truncate(3)
        found.add(left_of(machine, "/data/log"))
    assert found == {b"abcdef", b"abc"}


def test_a_sync_covers_what_was_there_when_it_began() -> None:
    found = set()
    for seed in SEEDS:
        machine = Machine(seed)
        file = machine.disk.open("/data/log")
        file.append([b"before"])
        under_way = machine.disk.sync_all([file], ["/data"])
        file.append([b"after"])
        machine.wait(under_way)
        found.add(left_of(machine, "/data/log"))
    assert {b"before", b"beforeafter"} <= found
    assert all(left is not None and left.startswith(b"before") for left in found)


def test_what_is_cut_while_it_is_synced_counts_only_up_to_the_cut() -> None:
    for seed in SEEDS:
        machine = Machine(seed)
        file = machine.disk.open("/data/log")
        file.append([b"abcdef"])
        under_way = machine.disk.sync_all([file], ["/data"])
        file.truncate(3)
        file.append([b"xyz"])
        machine.wait(under_way)
        left = left_of(machine, "/data/log")
        assert left is not None
        assert b"abcxyz".startswith(left)
        assert len(left) >= 3


def failed_sync(machine: Machine, lost: bytes) -> SimFile:
    """What is written later to the sector that the lost bytes end in brings that one back."""
    file = machine.disk.open("/data/log")
    file.append([b"kept"])
    machine.wait(machine.disk.sync_all([file], ["/data"]))
    file.append([lost])
    machine.disk.sync_fails = True
    with pytest.raises(OSError, match="Input/output"):
        machine.wait(machine.disk.sync_all([file], []))
    file.append([b"later"])
    machine.wait(machine.disk.sync_all([file], []))
    return file


def test_what_a_failed_sync_has_lost_reads_well_until_the_power_goes() -> None:
    machine, lost = Machine(), b"lost" * SECTOR_BYTES
    file = failed_sync(machine, lost)
    assert file.read(0, 10_000) == b"kept" + lost + b"later"
    again = 4 * SECTOR_BYTES - 4
    wanted = b"kept" + bytes(again) + lost[again:] + b"later"
    assert left_of(machine, "/data/log") == wanted


def test_what_a_failed_sync_has_lost_is_seen_by_who_has_the_cache_forget_it() -> None:
    machine, lost = Machine(), b"lost" * SECTOR_BYTES
    file = failed_sync(machine, lost)
    file.append([b"not written yet"])
    file.forget(0)
    again = 4 * SECTOR_BYTES - 4
    wanted = b"kept" + bytes(again) + lost[again:] + b"later"
    assert file.read(0, 10_000) == wanted + b"not written yet"
    assert not file.is_cached(0, 4)


# -- names


def test_a_new_file_needs_its_folder_synced() -> None:
    found = set()
    for seed in SEEDS:
        machine = Machine(seed)
        file = machine.disk.open("/data/log")
        file.append([b"x"])
        file.sync()
        found.add(left_of(machine, "/data/log"))
    assert found == {None, b"x"}


def test_a_renamed_file_may_be_back_under_its_old_name() -> None:
    found = set()
    for seed in SEEDS:
        machine = Machine(seed)
        machine.disk.write_whole("/data/old", b"x")
        machine.disk.rename("/data/old", "/data/new")
        found.add(tuple(machine.after_power_loss().list("/data")))
    assert found == {("old",), ("new",)}


def test_a_removed_file_may_be_back() -> None:
    found = set()
    for seed in SEEDS:
        machine = Machine(seed)
        machine.disk.write_whole("/data/log", b"x")
        machine.disk.remove("/data/log")
        found.add(left_of(machine, "/data/log"))
    assert found == {None, b"x"}


def test_changes_of_names_that_were_synced_stay() -> None:
    for seed in SEEDS:
        machine = Machine(seed)
        machine.disk.write_whole("/data/old", b"x")
        machine.disk.rename("/data/old", "/data/new")
        machine.disk.sync_folder("/data")
        assert machine.after_power_loss().list("/data") == ["new"]


def test_a_file_written_whole_is_the_old_or_the_new_one() -> None:
    for seed in SEEDS:
        machine = Machine(seed)
        machine.disk.write_whole("/data/note", b"old")
        machine.disk.die_after(seed % 2, lambda: None)
        with pytest.raises(Killed):
            machine.disk.write_whole("/data/note", b"new one")
        assert left_of(machine, "/data/note") in (b"old", b"new one")


def test_a_file_written_whole_is_there_afterwards() -> None:
    for seed in SEEDS:
        machine = Machine(seed)
        machine.disk.write_whole("/data/note", b"new")
        assert left_of(machine, "/data/note") == b"new"


# -- failures


def test_a_full_disk_takes_nothing_and_leaves_the_file_as_it_was() -> None:
    machine = Machine()
    file = machine.disk.open("/data/log")
    file.append([b"abc"])
    machine.storage.fill(leaving=2)
    with pytest.raises(OSError, match="No space left") as refused:
        file.append([b"def"])
    assert refused.value.errno == errno.ENOSPC
    assert (file.size, file.read(0, 10)) == (3, b"abc")
    with pytest.raises(OSError, match="No space left"):
        machine.disk.write_whole("/data/note", b"def")
    assert machine.disk.list("/data") == ["log"]
    machine.storage.foreign_bytes = 0
    file.append([b"def"])
    assert file.size == 6


def test_a_process_dies_before_the_change_that_it_was_told_to() -> None:
    machine = Machine()
    file = machine.disk.open("/data/log")
    machine.disk.die_after(2, machine.loop.kill)
    file.append([b"1"])
    file.append([b"2"])
    with pytest.raises(Killed):
        file.append([b"3"])
    with pytest.raises(Killed):
        machine.disk.remove("/data/log")
    assert machine.disk.read_whole("/data/log") == b"12"


def test_after_a_power_loss_nothing_is_in_memory() -> None:
    machine = Machine()
    machine.disk.write_whole("/data/log", b"abc")
    disk = machine.after_power_loss()
    file = disk.open("/data/log")
    with pytest.raises(Cold):
        file.read_cached(0, 3)
    assert not file.is_cached(0, 3)
    machine.run(disk.warm(file, 0, 3))
    assert file.read_cached(0, 3) == b"abc"


def test_a_folder_is_locked_by_one_process_at_a_time() -> None:
    machine = Machine()
    other = SimDisk(machine.storage, machine.loop, machine.disk.clock)
    machine.disk.lock("/data/.lock")
    with pytest.raises(Unusable):
        other.lock("/data/.lock")
    machine.disk.let_go()
    release = other.lock("/data/.lock")
    release()
    machine.disk.lock("/data/.lock")
