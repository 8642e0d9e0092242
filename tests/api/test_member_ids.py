"""Whatever clients call themselves: it can be stored, or is refused before anything is decided."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.grouping import DELAY_MS, GROUP, Asked, Room, commit, join, sync

from penstock.errors import ErrorCode
from penstock.wire.codec import Message
from penstock.wire.messages.k11_join_group import JoinGroupRequestProtocol
from penstock.wire.messages.k12_heartbeat import HeartbeatRequest
from penstock.wire.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from penstock.wire.messages.k14_sync_group import SyncGroupRequest
from penstock.wire.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from penstock.wire.stored.consumer_protocol_subscription import ConsumerProtocolSubscription
from penstock.wire.stored_codec import encode_value

TOO_LONG = "x" * 40_000
LONGEST = "x" * 32_767
"""Of texts whose length is told in 16 bits, such as a client's id."""


def heartbeat(member_id: str = "native", **fields: Any) -> ConsumerGroupHeartbeatRequest:
    """With which a member joins."""
    fields.setdefault("subscribed_topic_names", ["orders"])
    return ConsumerGroupHeartbeatRequest(
        GROUP, member_id, 0, rebalance_timeout_ms=30_000, topic_partitions=[], **fields
    )


def ask_as(room: Room, client_id: str, request: Message) -> Asked:
    call = room.desk.call(request)
    call.client_id = client_id
    asked = Asked(room.desk, call, call.run(room.desk.broker))
    room.sync()
    return asked


@pytest.mark.parametrize("member_id", ["x" * 8_001, TOO_LONG])
def test_an_id_that_cannot_be_stored_does_not_cost_a_group_its_members(
    room: Room, member_id: str
) -> None:
    room.tell(heartbeat())
    shard = room.shard()
    assert room.ask(join(member_id=member_id)).code == ErrorCode.INVALID_REQUEST
    assert room.shard() is shard
    group = shard.kept.get(GROUP)
    assert group is not None
    assert list(group.body.members) == ["native"]


@pytest.mark.parametrize(
    "request_",
    [
        join(member_id=TOO_LONG),
        join(group_instance_id=TOO_LONG),
        HeartbeatRequest(GROUP, 1, TOO_LONG),
        HeartbeatRequest(GROUP, 1, "m", TOO_LONG),
        LeaveGroupRequest(GROUP, members=[MemberIdentity("m"), MemberIdentity(TOO_LONG)]),
        LeaveGroupRequest(GROUP, members=[MemberIdentity("", TOO_LONG)]),
        sync(TOO_LONG),
        SyncGroupRequest(GROUP, 1, "m", TOO_LONG),
        heartbeat(TOO_LONG),
        heartbeat(instance_id=TOO_LONG),
        heartbeat(rack_id=TOO_LONG),
        heartbeat(subscribed_topic_names=[TOO_LONG]),
    ],
)
@pytest.mark.parametrize("is_native", [False, True])
def test_ids_that_cannot_be_stored_are_refused_in_every_request(
    room: Room, request_: Message, is_native: bool
) -> None:
    room.tell(heartbeat() if is_native else commit())
    shard = room.shard()
    assert room.ask(request_).code == ErrorCode.INVALID_REQUEST
    assert room.shard() is shard


def test_one_member_leaves_under_no_longer_an_id_in_old_versions(room: Room) -> None:
    room.tell(commit())
    asked = room.ask(LeaveGroupRequest(GROUP, "x" * 8_001), 2)
    assert asked.code == ErrorCode.INVALID_REQUEST


def test_the_longest_client_id_can_be_stored_in_the_classic_protocol(room: Room) -> None:
    asked = ask_as(room, LONGEST, join(group_instance_id="i"))
    room.wait(DELAY_MS)
    assert room.tell(sync(asked.answer.member_id)).error_code == ErrorCode.NONE


def test_the_longest_texts_can_be_stored_in_the_new_protocol(room: Room) -> None:
    """Those of classic members too: the rack and topics of their subscriptions, their protocols."""
    assert ask_as(room, LONGEST, heartbeat()).code == ErrorCode.NONE
    wants = ConsumerProtocolSubscription([LONGEST], rack_id=LONGEST)
    protocols = [JoinGroupRequestProtocol("\N{GRINNING FACE}" * 8_000, encode_value(wants, 3))]
    long_id = "\N{GRINNING FACE}" * 8_000
    assert ask_as(room, LONGEST, join(member_id=long_id, protocols=protocols)).code == 0
    room = room.restart()
    room.load()
    group = room.shard().kept.get(GROUP)
    assert group is not None
    assert set(group.body.members) == {"native", long_id}
