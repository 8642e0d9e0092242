"""What brokers ask the coordinator of shares for: each share is answered by itself, once that is
committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.api.desk import Desk
from tests.api.grouping import Asked
from tests.api.transacting import BROKER, Office

from penstock.api.call import Unanswerable
from penstock.api.handlers import k84_read_share_group_state
from penstock.api.outcome import Later, Resume
from penstock.api.sharing import each_share
from penstock.api.trust import Client
from penstock.coordination import pace
from penstock.errors import ErrorCode
from penstock.metadata.internal_topics import SHARES
from penstock.wire.codec import Message
from penstock.wire.messages import k83_initialize_share_group_state as k83
from penstock.wire.messages import k84_read_share_group_state as k84
from penstock.wire.messages import k85_write_share_group_state as k85
from penstock.wire.messages import k86_delete_share_group_state as k86
from penstock.wire.messages import k87_read_share_group_state_summary as k87
from penstock.wire.messages.k10_find_coordinator import FindCoordinatorRequest

SETTINGS = {
    "share.coordinator.state.topic.num.partitions": "3",
    "offsets.topic.num.partitions": "1",
}
PARTITIONS = 8
ACCEPTED = 2


class Counter(Office):
    """Where brokers ask about shares of the topic orders."""

    def __init__(self, desk: Desk, topic_id: bytes) -> None:
        super().__init__(desk)
        self.topic_id = topic_id
        desk.ask(FindCoordinatorRequest(key_type=2, coordinator_keys=[":"]))
        desk.broker.shares.follow()

    def initialize(self, *partitions: int, start: int = 5, epoch: int = 0) -> Asked:
        parts = [k83.PartitionData(index, epoch, start) for index in partitions]
        topics = [k83.InitializeStateData(self.topic_id, parts)]
        return self.asked(k83.InitializeShareGroupStateRequest("jobs", topics))

    def read(self, *partitions: int, leader_epoch: int = 0) -> Asked:
        parts = [k84.PartitionData(index, leader_epoch) for index in partitions]
        topics = [k84.ReadStateData(self.topic_id, parts)]
        return self.asked(k84.ReadShareGroupStateRequest("jobs", topics))

    def write(
        self, *partitions: int, at: int = 7, leader_epoch: int = 0, client: Client = BROKER
    ) -> Asked:
        parts = [
            k85.PartitionData(index, 0, leader_epoch, 5, 1, [k85.StateBatch(at, at, ACCEPTED, 0)])
            for index in partitions
        ]
        topics = [k85.WriteStateData(self.topic_id, parts)]
        return self.asked(k85.WriteShareGroupStateRequest("jobs", topics), client)

    def delete(self, *partitions: int) -> Asked:
        parts = [k86.PartitionData(index) for index in partitions]
        topics = [k86.DeleteStateData(self.topic_id, parts)]
        return self.asked(k86.DeleteShareGroupStateRequest("jobs", topics))

    def summary(self, *partitions: int) -> Asked:
        parts = [k87.PartitionData(index, -1) for index in partitions]
        topics = [k87.ReadStateSummaryData(self.topic_id, parts)]
        return self.asked(k87.ReadShareGroupStateSummaryRequest("jobs", topics))

    def asked(self, request: Message, client: Client = BROKER) -> Asked:
        return self.ask(request, client=client)


@pytest.fixture
def counter(make_desk: Callable[..., Desk]) -> Counter:
    desk = make_desk(SETTINGS)
    return Counter(desk, desk.create("orders", partitions=PARTITIONS))


def parts(asked: Asked) -> list[Any]:
    return [part for topic in asked.answer.results for part in topic.partitions]


def codes(asked: Asked) -> list[int]:
    return [part.error_code for part in parts(asked)]


def test_a_share_begins_and_is_written_read_and_deleted(counter: Counter) -> None:
    asked = [counter.initialize(0, 1), counter.write(0, 1), counter.write(1, at=9)]
    assert all(each.is_waiting for each in asked)
    counter.sync()
    assert [codes(each) for each in asked] == [[0, 0], [0, 0], [0]]
    read, summary = counter.read(1, leader_epoch=4), counter.summary(1, 0)
    counter.sync()
    (part,) = parts(read)
    assert (part.partition, part.state_epoch, part.start_offset) == (1, 0, 5)
    assert [(each.first_offset, each.delivery_state) for each in part.state_batches] == [
        (7, ACCEPTED),
        (9, ACCEPTED),
    ]
    assert [
        (each.partition, each.leader_epoch, each.start_offset, each.delivery_complete_count)
        for each in parts(summary)
    ] == [(1, 4, 5, 1), (0, 0, 5, 1)]
    counter.delete(0, 1)
    counter.sync()
    assert [each.start_offset for each in parts(counter.summary(0, 1))] == [-1, -1]


def test_no_answer_is_given_before_it_is_committed(counter: Counter) -> None:
    begun = counter.initialize(0)
    repeated, read = counter.initialize(0), counter.read(0)
    assert begun.is_waiting
    assert repeated.is_waiting, "it rests on what the first one has written"
    assert read.is_waiting
    counter.sync()
    assert codes(begun) == codes(repeated) == codes(read) == [ErrorCode.NONE]


def test_each_share_is_refused_by_itself(counter: Counter) -> None:
    counter.initialize(0, 1)
    counter.read(1, leader_epoch=3)
    asked = counter.write(0, 1, 2, 50)
    counter.sync()
    assert codes(asked) == [
        ErrorCode.NONE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert "initialize" in parts(asked)[2].error_message


def test_one_that_is_not_committed_in_time_says_so_and_the_others_do_not(counter: Counter) -> None:
    counter.initialize(*range(PARTITIONS))
    counter.sync()
    shares = counter.desk.broker.shares
    asked = counter.write(*range(PARTITIONS))
    one = counter.desk.broker.leader(SHARES, 0)
    one.log.end_sync(one.log.begin_sync())
    one.advance()
    asked.time_is_up()
    index_of = {each.name: shares.place(each.name)[0] for _, each in shares.each()}
    late = {
        int(name.rpartition(":")[2]): ErrorCode.REQUEST_TIMED_OUT if index else ErrorCode.NONE
        for name, index in index_of.items()
    }
    assert set(late.values()) == {ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT}
    assert codes(asked) == [late[index] for index in range(PARTITIONS)]


def test_where_the_coordinator_is_another_broker_by_then_that_is_said(counter: Counter) -> None:
    counter.initialize(0)
    counter.sync()
    asked = counter.write(0)
    for shard in counter.desk.broker.shares.shards.values():
        shard.give_up()
    assert codes(asked) == [ErrorCode.NOT_COORDINATOR]


@pytest.mark.parametrize("key", [83, 84, 85, 86, 87])
def test_clients_are_refused(counter: Counter, key: int) -> None:
    counter.initialize(0)
    counter.sync()
    requests: dict[int, Message] = {
        83: k83.InitializeShareGroupStateRequest(
            "jobs", [k83.InitializeStateData(counter.topic_id, [k83.PartitionData(0, 9, 0)])]
        ),
        84: k84.ReadShareGroupStateRequest(
            "jobs", [k84.ReadStateData(counter.topic_id, [k84.PartitionData(0, 9)])]
        ),
        85: k85.WriteShareGroupStateRequest(
            "jobs", [k85.WriteStateData(counter.topic_id, [k85.PartitionData(0, 9, 9, 99)])]
        ),
        86: k86.DeleteShareGroupStateRequest(
            "jobs", [k86.DeleteStateData(counter.topic_id, [k86.PartitionData(0)])]
        ),
        87: k87.ReadShareGroupStateSummaryRequest(
            "jobs", [k87.ReadStateSummaryData(counter.topic_id, [k87.PartitionData(0, 9)])]
        ),
    }
    asked = counter.asked(requests[key], Client("somebody"))
    (part,) = parts(asked)
    assert part.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert "for brokers" in part.error_message
    (known,) = parts(counter.summary(0))
    assert (known.state_epoch, known.leader_epoch, known.start_offset) == (0, 0, 5)


def test_what_comes_over_a_connection_that_was_given_up_is_dropped(counter: Counter) -> None:
    counter.initialize(0)
    counter.write(0, at=7, client=Client("peer", broker_id=2, number=5))
    with pytest.raises(Unanswerable, match="newer connection"):
        counter.write(0, at=8, client=Client("peer", broker_id=2, number=4))
    counter.write(0, at=9, client=Client("peer", broker_id=3, number=4))
    read = counter.read(0)
    counter.sync()
    assert [each.first_offset for each in parts(read)[0].state_batches] == [7, 9]


def test_a_long_request_is_carried_out_in_slices(
    counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "COST_A_SLICE", 400)
    request = k83.InitializeShareGroupStateRequest(
        "jobs",
        [
            k83.InitializeStateData(counter.topic_id, [k83.PartitionData(index, 0, index)])
            for index in range(PARTITIONS)
        ],
    )
    call = counter.desk.call(request)
    call.client = BROKER
    assert isinstance(call.run(counter.desk.broker), Resume)
    asked = counter.asked(request)
    counter.sync()
    assert codes(asked) == [ErrorCode.NONE] * PARTITIONS
    summary = counter.summary(*range(PARTITIONS))
    assert [each.start_offset for each in parts(summary)] == list(range(PARTITIONS))


def test_what_was_given_up_between_two_slices_goes_no_further(
    counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter.initialize(0, 1)
    monkeypatch.setattr(pace, "COST_A_SLICE", 1)
    written = [k85.PartitionData(index, 0, 0, 6, 0, []) for index in (0, 1)]
    request = k85.WriteShareGroupStateRequest(
        "jobs", [k85.WriteStateData(counter.topic_id, written)]
    )
    call = counter.desk.call(request)
    call.client = Client("peer", broker_id=2, number=1)
    steps = each_share.EachShare(
        counter.desk.broker,
        call.request,
        call,
        each_share.Form(list, tuple, tuple, tuple),  # type: ignore[arg-type]
        lambda part: lambda turn, share: share.name,
        may_be_late=False,
    )._decided()
    next(steps)
    counter.write(0, client=Client("peer", broker_id=2, number=2))
    with pytest.raises(Unanswerable, match="newer connection"):
        next(steps)


def test_shares_that_do_not_fit_into_an_answer_are_asked_for_again(
    counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(k84_read_share_group_state, "BATCHES_MAX", 1)
    counter.initialize(0, 1, 2)
    counter.write(0, 1, 2)
    counter.sync()
    again = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert codes(counter.read(0, 1, 2)) == [ErrorCode.NONE, ErrorCode.NONE, again]
    assert codes(counter.read(2)) == [ErrorCode.NONE]


def test_an_answer_that_waits_is_given_in_slices_too(
    counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.api.slices.SLICE_BYTES", 10)
    counter.initialize(0, 1)
    counter.write(0, 1)
    asked = counter.read(0, 1)
    assert isinstance(asked._later, Later)
    counter.sync()
    assert [len(each.state_batches) for each in parts(asked)] == [1, 1]


def test_after_a_restart_all_that_was_answered_is_there(counter: Counter) -> None:
    counter.initialize(0)
    counter.write(0)
    counter.read(0, leader_epoch=6)
    counter.sync()
    again = Counter(counter.desk.restart(), counter.topic_id)
    for shard in again.desk.broker.shares.shards.values():
        for wait in shard.load() if not shard.is_loaded else ():
            assert wait is None
    (part,) = parts(again.read(0, leader_epoch=6))
    assert (part.start_offset, len(part.state_batches)) == (5, 1)
    late = again.write(0, leader_epoch=5)
    assert codes(late) == [ErrorCode.FENCED_LEADER_EPOCH]
