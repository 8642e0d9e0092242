"""One group, of consumers or a share group: who is in it, and its end.

Every broker looks after some of the groups. Who looks after this one, its coordinator, is asked for
anew each time, since groups move from broker to broker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError, check, refused
from penstock.client.group_members import Member, classic_member, consumer_member, share_member
from penstock.errors import ErrorCode
from penstock.wire.codec import Message
from penstock.wire.messages.k10_find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from penstock.wire.messages.k15_describe_groups import DescribedGroup as ClassicGroup
from penstock.wire.messages.k15_describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from penstock.wire.messages.k42_delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from penstock.wire.messages.k69_consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from penstock.wire.messages.k69_consumer_group_describe import DescribedGroup as ConsumerGroup
from penstock.wire.messages.k77_share_group_describe import DescribedGroup as ShareGroup
from penstock.wire.messages.k77_share_group_describe import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)

M = TypeVar("M", bound=Message)
T = TypeVar("T")

CLASSIC, CONSUMER, SHARE = "classic", "consumer", "share"
_DEAD = "Dead"
_ELSEWHERE = {ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION}
"""It is not of that kind, or the broker does not know such groups."""


@dataclass(frozen=True, slots=True)
class GroupDescription:
    name: str
    kind: str
    state: str
    coordinator: int
    assignor: str
    """Of the members' choice in the classic protocol, of the broker in the new one."""
    members: list[Member]
    epoch: int | None = None
    assignment_epoch: int | None = None
    """What the last plan was made for; neither in the classic protocol."""


def coordinator_of(client: WireClient, group: str, deadline: float) -> int:
    request = FindCoordinatorRequest(coordinator_keys=[group])
    answer = client.ask_any(request, FindCoordinatorResponse, deadline)
    (found,) = answer.coordinators
    check(f"group {group}", found.error_code, found.error_message)
    return found.node_id


def ask_coordinator(
    client: WireClient,
    group: str,
    request: Message,
    kind: type[M],
    read: Callable[[M, int], T],
    *,
    changes: bool = False,
) -> T:
    """`read` gets the answer and who gave it, and raises ClientError for what it was refused."""

    def attempt(deadline: float) -> T:
        node = coordinator_of(client, group, deadline)
        return read(client.ask_node(node, request, kind, deadline), node)

    return client.retry(attempt, changes=changes)


def describe_group(client: WireClient, group: str) -> GroupDescription:
    """Of whichever kind it is. Raises ClientError with GROUP_ID_NOT_FOUND if there is none."""
    for describe in (_describe_consumer, _describe_classic, _describe_share):
        try:
            return describe(client, group)
        except ClientError as error:
            if error.code not in _ELSEWHERE:
                raise
    raise missing(group)


def _describe_consumer(client: WireClient, group: str) -> GroupDescription:
    def read(answer: ConsumerGroupDescribeResponse, node: int) -> GroupDescription:
        (told,) = answer.groups
        check(f"group {group}", told.error_code, told.error_message)
        return _of_consumer(told, node)

    request = ConsumerGroupDescribeRequest(group_ids=[group])
    return ask_coordinator(client, group, request, ConsumerGroupDescribeResponse, read)


def _describe_classic(client: WireClient, group: str) -> GroupDescription:
    def read(answer: DescribeGroupsResponse, node: int) -> GroupDescription:
        (told,) = answer.groups
        if told.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            raise missing(group)
        check(f"group {group}", told.error_code, told.error_message)
        if told.group_state == _DEAD:  # so older brokers say the same
            raise missing(group)
        return _of_classic(told, node)

    request = DescribeGroupsRequest(groups=[group])
    return ask_coordinator(client, group, request, DescribeGroupsResponse, read)


def _describe_share(client: WireClient, group: str) -> GroupDescription:
    def read(answer: ShareGroupDescribeResponse, node: int) -> GroupDescription:
        (told,) = answer.groups
        check(f"group {group}", told.error_code, told.error_message)
        return _of_share(told, node)

    request = ShareGroupDescribeRequest(group_ids=[group])
    return ask_coordinator(client, group, request, ShareGroupDescribeResponse, read)


def delete_group(client: WireClient, group: str) -> None:
    def read(answer: DeleteGroupsResponse, _: int) -> None:
        (told,) = answer.results
        if told.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            raise missing(group)
        check(f"group {group}", told.error_code)

    request = DeleteGroupsRequest(groups_names=[group])
    ask_coordinator(client, group, request, DeleteGroupsResponse, read, changes=True)


def missing(group: str) -> ClientError:
    return refused(f"group {group}", ErrorCode.GROUP_ID_NOT_FOUND, "there is no such group")


def _of_consumer(told: ConsumerGroup, node: int) -> GroupDescription:
    return GroupDescription(
        name=told.group_id,
        kind=CONSUMER,
        state=told.group_state,
        coordinator=node,
        assignor=told.assignor_name,
        members=[consumer_member(each) for each in told.members],
        epoch=told.group_epoch,
        assignment_epoch=told.assignment_epoch,
    )


def _of_share(told: ShareGroup, node: int) -> GroupDescription:
    return GroupDescription(
        name=told.group_id,
        kind=SHARE,
        state=told.group_state,
        coordinator=node,
        assignor=told.assignor_name,
        members=[share_member(each) for each in told.members],
        epoch=told.group_epoch,
        assignment_epoch=told.assignment_epoch,
    )


def _of_classic(told: ClassicGroup, node: int) -> GroupDescription:
    return GroupDescription(
        name=told.group_id,
        kind=CLASSIC,
        state=told.group_state,
        coordinator=node,
        assignor=told.protocol_data,
        members=[classic_member(each, told.protocol_type) for each in told.members],
    )
