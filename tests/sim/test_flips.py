"""Bits that turn over: where they may, and that the format can tell."""

from __future__ import annotations

from random import Random

import pytest

from penstock.errors import Refused
from penstock.sim.cluster import Cluster
from penstock.sim.flips import flip_one
from penstock.sim.machine import Machine
from penstock.sim.scheduler import Scheduler
from penstock.sim.storage import Content
from penstock.wire.batch import check
from penstock.wire.batch_builder import build_batch
from penstock.wire.records import Record

BATCH = bytes(build_batch([Record(0, 1, None, b"value")]))


def machine_with(path: str, data: bytes, *, synced: bool = True) -> tuple[Machine, Content]:
    machine = Cluster(Scheduler(1), 1, {}).machines[0]
    made = Content(0)
    made.write(0, [data])
    if synced:
        made.settle(made.mark())
    folder, name = machine.storage.place(path)
    folder.change((name, made))
    return machine, made


def bits(data: bytes | bytearray) -> int:
    return int.from_bytes(data, "big")


@pytest.mark.parametrize("seed", range(50))
def test_one_bit_of_a_batch_turns_over_and_its_checksum_tells(seed: int) -> None:
    machine, made = machine_with("/data/0.log", BATCH)
    flip_one(machine, Random(seed))
    assert (bits(made.data) ^ bits(BATCH)).bit_count() == 1
    with pytest.raises(Refused):
        check(bytes(made.data))


def test_what_was_never_synced_is_left_alone() -> None:
    machine, made = machine_with("/data/0.log", BATCH, synced=False)
    flip_one(machine, Random(1))
    assert made.data == BATCH


def test_other_files_lose_a_bit_too() -> None:
    machine, made = machine_with("/data/checkpoint", b"0\n0\n")
    flip_one(machine, Random(1))
    assert (bits(made.data) ^ bits(b"0\n0\n")).bit_count() == 1
