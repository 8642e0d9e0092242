"""ConsumerGroupHeartbeat and ConsumerGroupDescribe, asked of a broker."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace
from tests.api.desk import Desk
from tests.api.reducing import reduce_to

from penstock.api.call import Call
from penstock.api.handlers.k68_consumer_group_heartbeat import consumer_group_heartbeat
from penstock.api.handlers.k69_consumer_group_describe import (
    consumer_group_describe,
    consumer_group_describe_failed,
)
from penstock.api.outcome import Later, Resume
from penstock.api.table import answer
from penstock.coordination.group import protocols
from penstock.coordination.pace import Pace
from penstock.errors import ErrorCode
from penstock.metadata.changes import Commit
from penstock.metadata.internal_topics import OFFSETS, create_internal_topic
from penstock.metadata.records import FEATURES, FeaturesRecord, encode
from penstock.wire.codec import Message
from penstock.wire.messages import ApiKey
from penstock.wire.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from penstock.wire.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest

APIS = {
    68: answer(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1, consumer_group_heartbeat),
    69: answer(
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        0,
        1,
        consumer_group_describe,
        failed=consumer_group_describe_failed,
    ),
}


def ask(desk: Desk, request: Message, version: int = 1) -> Any:
    """The answer, once what it rests on is committed."""
    api = APIS[request.KEY]
    sent = api.request.decode(memoryview(bytearray(request.encode(version))), version)
    call = Call(api, version, 1, "client", "192.0.2.7:5001", 1, sent)
    outcome = call.run(desk.broker)
    if isinstance(outcome, Later):
        assert outcome.answer(False) is None
        commit(desk)
        outcome = outcome.answer(False)
    return desk.decoded(outcome, version)


def commit(desk: Desk) -> None:
    for leader in desk.broker.take_dirty():
        leader.log.write_out()
        leader.log.end_sync(leader.log.begin_sync())
        leader.advance()


@pytest.fixture
def looking_after(make_desk: Callable[..., Desk]) -> Desk:
    desk = make_desk({"offsets.topic.num.partitions": "2"})
    desk.change(
        lambda image: create_internal_topic(
            image, OFFSETS, desk.broker.config, topic_id=desk.chance.uuid(), now_ms=1
        )
    )
    desk.broker.groups.follow()
    return desk


def joining(group: str = "readers", member_id: str = "m1") -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group,
        member_id,
        0,
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )


@pytest.mark.parametrize("version", [0, 1])
def test_a_member_joins_and_gets_its_partitions_once_that_is_committed(
    looking_after: Desk, version: int
) -> None:
    topic_id = looking_after.create("orders", 2)
    told = ask(looking_after, joining(), version)
    assert (told.error_code, told.member_id, told.member_epoch) == (ErrorCode.NONE, "m1", 1)
    (part,) = told.assignment.topic_partitions
    assert (part.topic_id, part.partitions) == (topic_id, [0, 1])


def test_a_member_without_an_id_is_given_one_in_the_first_version_only(
    looking_after: Desk,
) -> None:
    assert ask(looking_after, joining(member_id=""), 0).member_id
    told = ask(looking_after, joining(member_id=""), 1)
    assert told.error_code == ErrorCode.INVALID_REQUEST


def test_a_group_without_a_name_is_refused(looking_after: Desk) -> None:
    told = ask(looking_after, joining(group=""))
    assert told.error_code == ErrorCode.INVALID_REQUEST
    assert told.error_message


def test_a_cluster_that_was_not_told_to_use_the_protocol_refuses_it(looking_after: Desk) -> None:
    record = encode(FeaturesRecord(levels={}, epoch=2))
    looking_after.change(lambda image: Commit(None, puts=[(FEATURES, record)]))
    assert ask(looking_after, joining()).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_group_that_another_broker_looks_after_is_refused(desk: Desk) -> None:
    assert desk.image.topic(OFFSETS) is None
    assert ask(desk, joining()).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def heartbeat(desk: Desk, epoch: int, topic_id: bytes = b"", *partitions: int) -> Any:
    """Of a member that has these partitions, if there is a topic."""
    owned = [TopicPartitions(topic_id, list(partitions))] if topic_id else None
    return ask(desk, ConsumerGroupHeartbeatRequest("readers", "m1", epoch, topic_partitions=owned))


def parts(told: Any) -> list[tuple[bytes, list[int]]]:
    return [(part.topic_id, part.partitions) for part in told.assignment.topic_partitions]


def test_a_topic_that_has_lost_partitions_is_assigned_anew_under_its_new_id(
    looking_after: Desk,
) -> None:
    desk = looking_after
    before = desk.create("orders", 4)
    ask(desk, joining())
    shown_id = reduce_to(desk, "orders", 2)
    changed = partial(protocols.topics_changed, topics={"orders"})
    for _ in desk.broker.groups.for_each(changed, Pace()):
        pass
    commit(desk)
    told = heartbeat(desk, 1)
    assert (told.member_epoch, parts(told)) == (1, [(shown_id, [0, 1])])
    assert heartbeat(desk, 1, before, 0, 1, 2, 3).member_epoch == 1, "it has to let go first"
    told = heartbeat(desk, 1, before, 0, 1)
    assert (told.member_epoch, parts(told)) == (2, [(shown_id, [0, 1])])
    request = ConsumerGroupDescribeRequest(["readers"])
    (member,) = ask(desk, request).groups[0].members
    assert parts(member) == [(shown_id, [0, 1])]


@pytest.mark.parametrize("version", [0, 1])
def test_a_group_is_described_by_name(looking_after: Desk, version: int) -> None:
    looking_after.create("orders", 2)
    ask(looking_after, joining())
    told = ask(looking_after, ConsumerGroupDescribeRequest(group_ids=["readers", "x", ""]), version)
    codes = [group.error_code for group in told.groups]
    assert codes == [ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.INVALID_GROUP_ID]
    readers = told.groups[0]
    assert (readers.group_id, readers.group_state) == ("readers", "Stable")
    (member,) = readers.members
    assert (member.client_id, member.client_host) == ("client", "/192.0.2.7")
    assert member.member_type == (1 if version else -1)
    assert [part.topic_name for part in member.assignment.topic_partitions] == ["orders"]


def test_members_that_name_many_topics_are_described_in_slices(looking_after: Desk) -> None:
    names = [f"a-topic-that-is-not-there-{number}" for number in range(2_000)]
    for member_id in ("m1", "m2"):
        request = replace(joining(member_id=member_id), subscribed_topic_names=names)
        assert ask(looking_after, request).error_code == ErrorCode.NONE
    call = looking_after.call(ConsumerGroupDescribeRequest(group_ids=["readers"]))
    outcome = call.api.handler(looking_after.broker, call.request, call)
    assert isinstance(outcome, Resume), "it is not done in one go"
    (group,) = looking_after.ask(ConsumerGroupDescribeRequest(group_ids=["readers"])).groups
    assert [len(each.subscribed_topic_names) for each in group.members] == [2_000, 2_000]
