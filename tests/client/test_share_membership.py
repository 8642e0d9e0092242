"""Being a member of a share group, with a coordinator that answers as a test says."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.client.scripted import TOPIC_ID, ScriptedBroker, client_of, cluster

from penstock.client.errors import ClientError
from penstock.client.share_membership import Membership
from penstock.errors import ErrorCode
from penstock.wire.messages import ApiKey
from penstock.wire.messages.k10_find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from penstock.wire.messages.k76_share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)


def beats(epoch: int, *partitions: int, code: int = 0) -> Callable[[Any], Any]:
    assignment = Assignment([TopicPartitions(TOPIC_ID, list(partitions))]) if partitions else None
    return lambda request: ShareGroupHeartbeatResponse(
        error_code=code,
        member_id=request.member_id,
        member_epoch=epoch,
        heartbeat_interval_ms=3000,
        assignment=assignment,
    )


def coordinator(*answers: Callable[[Any], Any]) -> ScriptedBroker:
    found = FindCoordinatorResponse(coordinators=[Coordinator("g", 1, "broker", 1)])
    broker = ScriptedBroker().answers(ApiKey.METADATA, cluster({0: 1}))
    broker.answers(ApiKey.FIND_COORDINATOR, lambda _: found)
    return broker.answers(ApiKey.SHARE_GROUP_HEARTBEAT, *answers)


def member_of(broker: ScriptedBroker) -> Membership:
    return Membership(client_of({1: broker}), "g", "t")


def beat(member: Membership) -> bool:
    return member.beat(time.monotonic() + 30)


def asked(broker: ScriptedBroker) -> list[tuple[int, list[str] | None]]:
    found = broker.asked(ShareGroupHeartbeatRequest)
    return [(each.member_epoch, each.subscribed_topic_names) for each in found]


def test_it_says_what_it_wants_once_and_hears_what_it_has() -> None:
    broker = coordinator(beats(1, 0, 1), beats(1), beats(2, 0))
    member = member_of(broker)
    assert beat(member)
    assert member.assigned == {(TOPIC_ID, 0), (TOPIC_ID, 1)}
    assert not beat(member)
    assert beat(member)
    assert member.assigned == {(TOPIC_ID, 0)}
    assert asked(broker) == [(0, ["t"]), (1, None), (1, None)]
    assert member.interval_s == 3.0


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.GROUP_ID_NOT_FOUND,
    ],
)
def test_one_that_was_forgotten_joins_again(code: ErrorCode) -> None:
    broker = coordinator(beats(4, 0), beats(0, code=code), beats(7))
    member = member_of(broker)
    beat(member)
    beat(member)
    beat(member)
    assert asked(broker) == [(0, ["t"]), (4, None), (0, ["t"]), (7, None)]


def test_a_group_of_another_kind_is_for_good() -> None:
    member = member_of(coordinator(beats(0, code=ErrorCode.GROUP_ID_NOT_FOUND)))
    with pytest.raises(ClientError) as failed:
        beat(member)
    assert failed.value.code is ErrorCode.GROUP_ID_NOT_FOUND
    assert not failed.value.is_retriable


def test_a_coordinator_that_has_moved_is_looked_for_again_and_told_everything() -> None:
    broker = coordinator(beats(4, 0), beats(0, code=ErrorCode.NOT_COORDINATOR), beats(4))
    member = member_of(broker)
    beat(member)
    with pytest.raises(ClientError):
        beat(member)
    beat(member)
    assert len(broker.asked(FindCoordinatorRequest)) == 2
    assert asked(broker) == [(0, ["t"]), (4, None), (4, ["t"])]


def test_leaving_is_said_once_and_only_by_who_has_joined() -> None:
    broker = coordinator(beats(1, 0), beats(-1))
    member = member_of(broker)
    member.leave(time.monotonic() + 30)
    assert asked(broker) == []
    beat(member)
    member.leave(time.monotonic() + 30)
    member.leave(time.monotonic() + 30)
    assert asked(broker) == [(0, ["t"]), (-1, None)]
