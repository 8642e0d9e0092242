"""Snapshots of producers that were too many for a roll."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.raw_client import a_batch
from tests.server.house import House
from tests.server.test_upkeep import upkeep_of

from penstock.log import snapshotting
from penstock.server import upkeep as upkeep_module
from penstock.wire.batch import read_header


async def test_a_snapshot_that_a_roll_has_left_is_written(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshotting, "AT_ONCE_MAX", 0)
    monkeypatch.setattr(upkeep_module, "SNAPSHOT_CHECK_MS", 1)
    house.desk.create("news")
    batch = bytearray(a_batch(b"v", producer_id=7, producer_epoch=0, base_sequence=0))
    log = house.broker.leader("news", 0).log
    log.append(batch, read_header(batch), 0, 0)
    log.roll()
    assert log.held_snapshot is not None
    upkeep = upkeep_of(house)
    upkeep.start()
    await house.settle(lambda: log.held_snapshot is None)
    assert list(Path(log.folder).glob("*.snapshot"))
    await upkeep.stop()
