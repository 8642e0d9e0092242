"""Fetch as followers use it: who is served, with what, and what it makes the leader believe."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.api.desk import NODE_ID, Desk

from penstock.api.trust import Client
from penstock.errors import ErrorCode, Refused
from penstock.metadata.cluster_changes import register_broker
from penstock.metadata.records import PartitionRecord, encode, partition_key
from penstock.metadata.store import Entry, Event
from penstock.replication.leader import Leader
from penstock.wire.messages.k01_fetch import (
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)

FOLLOWER = 2
STRANGER = 3
EPOCH = 5
TOPIC_IDS_SINCE, REPLICA_STATE_SINCE = 13, 15


class Leading:
    """A desk that leads a topic, which broker 2 follows."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        desk.register(FOLLOWER)
        self.topic_id = desk.create("news", min_insync_replicas="2")
        self.lead(isr=(NODE_ID, FOLLOWER))
        self._records(3)

    def lead(self, isr: tuple[int, ...], epoch: int = EPOCH) -> None:
        record = PartitionRecord(
            replicas=(NODE_ID, FOLLOWER), leader=NODE_ID, isr=isr, leader_epoch=epoch
        )
        key, image = partition_key(self.topic_id, 0), self.desk.image
        revision = image.revision + 1
        image.apply([Event(key, Entry(key, encode(record), revision), revision)], revision)
        self.desk.broker.follow_partition(self.topic_id, 0)

    def _records(self, count: int) -> None:
        for _ in range(count):
            self.desk.append("news")

    @property
    def leader(self) -> Leader:
        return self.desk.broker.leader("news", 0)

    @property
    def registration(self) -> int:
        return self.desk.image.brokers[FOLLOWER].epoch

    def ask(
        self,
        offset: int = 0,
        *,
        replica: int = FOLLOWER,
        proved: int = FOLLOWER,
        registration: int | None = None,
        leader_epoch: int = EPOCH,
        last_epoch: int = -1,
        version: int = 17,
    ) -> FetchResponse:
        wanted = FetchPartition(
            0,
            current_leader_epoch=leader_epoch if version >= 9 else -1,
            fetch_offset=offset,
            last_fetched_epoch=last_epoch,
            partition_max_bytes=1 << 20,
        )
        epoch = self.registration if registration is None else registration
        is_old, by_id = version < REPLICA_STATE_SINCE, version >= TOPIC_IDS_SINCE
        request = FetchRequest(
            replica_id=replica if is_old else -1,
            replica_state=ReplicaState() if is_old else ReplicaState(replica, epoch),
            max_wait_ms=0,
            max_bytes=1 << 20,
            session_epoch=-1,
            topics=[
                FetchTopic("" if by_id else "news", self.topic_id if by_id else bytes(16), [wanted])
            ],
        )
        call = self.desk.call(request, version)
        call.client = Client("peer", broker_id=proved)
        answer: Any = call.api.handler(self.desk.broker, call.request, call)
        found: FetchResponse = self.desk.decoded(answer, version)
        return found

    def part(self, offset: int = 0, **more: Any) -> PartitionData:
        return self.ask(offset, **more).responses[0].partitions[0]


@pytest.fixture
def leading(desk: Desk) -> Leading:
    return Leading(desk)


def refused(leading: Leading, **more: Any) -> ErrorCode:
    with pytest.raises(Refused) as problem:
        leading.ask(3, **more)
    assert leading.leader.high_watermark == 0, "it counts for nothing"
    return problem.value.code


def test_a_follower_gets_what_is_not_committed_yet(leading: Leading) -> None:
    part = leading.part(0)
    assert part.error_code == 0
    assert part.high_watermark == 0
    assert part.records


def test_a_record_is_committed_once_the_follower_asks_for_the_next(leading: Leading) -> None:
    for offset in (1, 2, 3):
        leading.part(offset, last_epoch=EPOCH)
        assert leading.leader.high_watermark == offset


def test_who_has_proved_nothing_is_no_follower(leading: Leading) -> None:
    assert refused(leading, proved=-1) is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.parametrize("version", [4, 11, 14, 15, 17])
def test_nor_is_it_in_any_version(leading: Leading, version: int) -> None:
    """Until 14 the replica's id stood elsewhere, and its registration nowhere."""
    assert refused(leading, proved=-1, version=version) is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_who_has_proved_to_be_another_broker_is_refused(leading: Leading) -> None:
    leading.desk.register(STRANGER)
    code = refused(leading, proved=STRANGER, replica=FOLLOWER)
    assert code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.parametrize("change", [-1, 1])
def test_a_follower_in_another_registration_than_its_current_is_refused(
    leading: Leading, change: int
) -> None:
    registration = leading.registration + change
    assert refused(leading, registration=registration) is ErrorCode.STALE_BROKER_EPOCH


def test_a_follower_that_has_registered_again_is_refused_in_its_old_registration(
    leading: Leading,
) -> None:
    before = leading.registration
    leading.desk.register(FOLLOWER)
    assert refused(leading, registration=before) is ErrorCode.STALE_BROKER_EPOCH
    assert leading.part(3).error_code == 0


def test_a_broker_that_is_not_registered_is_refused(leading: Leading) -> None:
    code = refused(leading, replica=STRANGER, proved=STRANGER, registration=-1)
    assert code is ErrorCode.STALE_BROKER_EPOCH


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        (EPOCH - 1, ErrorCode.FENCED_LEADER_EPOCH),
        (EPOCH + 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_a_follower_of_another_term_is_told_so_and_counts_for_nothing(
    leading: Leading, epoch: int, expected: ErrorCode
) -> None:
    assert leading.part(3, leader_epoch=epoch).error_code == expected
    assert leading.leader.high_watermark == 0


def test_a_broker_without_a_replica_gets_nothing(leading: Leading) -> None:
    leading.desk.register(STRANGER)
    registration = leading.desk.image.brokers[STRANGER].epoch
    part = leading.part(3, replica=STRANGER, proved=STRANGER, registration=registration)
    assert part.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert leading.leader.high_watermark == 0


def test_a_follower_with_another_history_is_told_where_they_part_and_counts_for_nothing(
    leading: Leading,
) -> None:
    part = leading.part(3, last_epoch=EPOCH - 1)
    assert part.error_code == 0
    assert part.diverging_epoch.end_offset == 0
    assert not part.records
    assert leading.leader.high_watermark == 0


def test_an_offset_beyond_the_log_is_out_of_range_and_counts_for_nothing(leading: Leading) -> None:
    assert leading.part(4).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert leading.leader.high_watermark == 0


def test_a_follower_that_has_caught_up_is_to_be_in_sync(leading: Leading) -> None:
    leading.lead((NODE_ID,), EPOCH + 1)
    leading.part(2, leader_epoch=EPOCH + 1, last_epoch=EPOCH)
    assert leading.leader not in leading.desk.broker.changing, "the term began at 3"
    part = leading.part(3, leader_epoch=EPOCH + 1, last_epoch=EPOCH)
    assert part.diverging_epoch == EpochEndOffset(EPOCH + 1, 3), "it has to note the term"
    assert leading.leader not in leading.desk.broker.changing
    leading.part(3, leader_epoch=EPOCH + 1, last_epoch=EPOCH + 1)
    assert leading.leader in leading.desk.broker.changing


def test_a_broker_that_is_not_registered_yet_leads_nothing(leading: Leading) -> None:
    """It may have come back with an empty disk, under a registration from before."""
    leading.desk.broker.remove_topic(leading.desk.image.topics["news"])
    leading.desk.broker.is_registered = False
    assert leading.part(0).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    leading.desk.broker.is_registered = True
    assert leading.part(0).error_code == 0


def test_after_a_crash_a_broker_does_not_lead_on_in_a_term_from_before(leading: Leading) -> None:
    """What it has lost and what it appends would be of one term, and look the same."""
    desk = leading.desk
    desk.broker.remove_topic(desk.image.topics["news"])
    record = replace(desk.image.brokers[NODE_ID].record, clean=False)
    desk.change(lambda image: register_broker(image, record, "another session"))
    assert leading.part(0).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    leading.lead((NODE_ID, FOLLOWER), EPOCH + 1)
    assert leading.part(0, leader_epoch=EPOCH + 1).error_code == 0


@pytest.mark.parametrize("offset", [2, 3, 5])
def test_records_of_a_term_that_this_leader_has_nothing_of_are_to_be_cut_off(
    leading: Leading, offset: int
) -> None:
    """Also before there is a record of its own term."""
    leading.lead((NODE_ID, FOLLOWER), epoch=EPOCH + 2)
    part = leading.part(offset, leader_epoch=EPOCH + 2, last_epoch=EPOCH + 1)
    assert part.error_code == 0
    assert (part.diverging_epoch.epoch, part.diverging_epoch.end_offset) == (EPOCH, 3)
    assert not part.records


def test_a_leader_with_an_empty_log_has_nothing_of_any_term(desk: Desk) -> None:
    desk.register(FOLLOWER)
    topic_id = desk.create("empty")
    record = PartitionRecord(
        replicas=(NODE_ID, FOLLOWER), leader=NODE_ID, isr=(NODE_ID,), leader_epoch=EPOCH
    )
    desk._write([(partition_key(topic_id, 0), encode(record))], (), None)
    desk.broker.follow_partition(topic_id, 0)
    assert desk.broker.leader("empty", 0).epoch_end_offset(EPOCH - 1) == (EPOCH - 1, 0)
