"""Followers that a leader asks for as in sync: as they are now, not as they once were."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.log.making import TOPIC_ID, put, settle

from penstock.config import TopicConfig
from penstock.log.partition_log import PartitionLog
from penstock.metadata.records import PartitionRecord
from penstock.replication.leader import Leader
from penstock.world.real_disk import RealDisk

OLD, NEW = 7, 8
"""Registrations of broker 3."""


@pytest.fixture
def disk() -> Iterator[RealDisk]:
    disk = RealDisk()
    yield disk
    disk.close()


@pytest.fixture
def leader(disk: RealDisk, tmp_path: Path) -> Leader:
    log = PartitionLog(disk, str(tmp_path / "t-0"), TOPIC_ID, TopicConfig(min_insync_replicas=1))
    log.open()
    put(log, *[b"v"] * 5)
    settle(log)
    record = PartitionRecord(replicas=(1, 2, 3), leader=1, isr=(1, 2), leader_epoch=4)
    return Leader(1, "t", 0, record, log)


def test_who_has_caught_up_joins_with_the_registration_that_has_shown_it(leader: Leader) -> None:
    leader.fetched(3, leader.log.end_offset, 0, OLD)
    leader.want(leader.in_sync | leader.caught_up())
    assert leader.joining() == {3: OLD}


def test_who_came_back_with_an_empty_disk_is_not_asked_for_any_more(leader: Leader) -> None:
    leader.fetched(2, leader.log.end_offset, 0)
    leader.fetched(3, leader.log.end_offset, 0, OLD)
    leader.want(leader.in_sync | leader.caught_up())
    leader.fetched(3, 0, 1, NEW)
    assert leader.joining() == {}


def test_who_is_in_sync_already_does_not_join(leader: Leader) -> None:
    leader.want(frozenset({1, 2}))
    assert leader.joining() == {}
