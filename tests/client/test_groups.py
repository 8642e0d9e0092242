"""Who looks after a group, what is told of it, and what is tried again."""

from __future__ import annotations

from typing import Any

import pytest
from tests.client.scripted import TOPIC_ID, Answer, ScriptedBroker, client_of, cluster

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.group_listing import EMPTY, ListedGroup, list_groups, member_counts
from penstock.client.group_members import Member
from penstock.client.group_offsets import (
    CommittedOffset,
    commit_offsets,
    committed_offsets,
    delete_offsets,
)
from penstock.client.groups import delete_group, describe_group
from penstock.errors import ErrorCode
from penstock.wire.messages import APIS, ApiKey
from penstock.wire.messages import k15_describe_groups as k15
from penstock.wire.messages import k16_list_groups as k16
from penstock.wire.messages import k69_consumer_group_describe as k69
from penstock.wire.messages import k77_share_group_describe as k77
from penstock.wire.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from penstock.wire.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from penstock.wire.messages.k10_find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from penstock.wire.messages.k42_delete_groups import DeletableGroupResult, DeleteGroupsResponse
from penstock.wire.messages.k47_offset_delete import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from penstock.wire.stored.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from penstock.wire.stored.consumer_protocol_subscription import ConsumerProtocolSubscription
from penstock.wire.stored_codec import encode_value

PASSING = [
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
]


def looked_after_by(node: int, code: int = 0) -> Answer:
    return lambda request: FindCoordinatorResponse(
        coordinators=[
            Coordinator(key, node, "broker", node, code) for key in request.coordinator_keys
        ]
    )


def broker_of(nodes: tuple[int, ...] = (1,), coordinator: int = 1) -> ScriptedBroker:
    made = ScriptedBroker().answers(ApiKey.METADATA, cluster({0: 1, 1: 1}, nodes))
    return made.answers(ApiKey.FIND_COORDINATOR, looked_after_by(coordinator))


def deleted(code: int = 0) -> Answer:
    return lambda request: DeleteGroupsResponse(
        results=[DeletableGroupResult(name, code) for name in request.groups_names]
    )


@pytest.fixture
def broker() -> ScriptedBroker:
    return broker_of()


@pytest.fixture
def client(broker: ScriptedBroker) -> WireClient:
    return client_of({1: broker})


# Who looks after it


@pytest.mark.parametrize("code", PASSING)
def test_a_coordinator_that_is_not_ready_is_asked_again(
    broker: ScriptedBroker, client: WireClient, code: ErrorCode
) -> None:
    broker.answers(ApiKey.FIND_COORDINATOR, looked_after_by(-1, code), looked_after_by(1))
    broker.answers(ApiKey.DELETE_GROUPS, deleted(code), deleted())
    delete_group(client, "g")
    assert len(broker.asked(FindCoordinatorRequest)) == 3


def test_a_group_that_has_moved_is_found_again() -> None:
    first, second = broker_of((1, 2)), broker_of((1, 2))
    first.answers(ApiKey.FIND_COORDINATOR, looked_after_by(1), looked_after_by(2))
    first.answers(ApiKey.DELETE_GROUPS, deleted(ErrorCode.NOT_COORDINATOR))
    second.answers(ApiKey.DELETE_GROUPS, deleted())
    delete_group(client_of({1: first, 2: second}), "g")
    assert second.requests


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (ErrorCode.GROUP_ID_NOT_FOUND, "no such group; `penstock group list`"),
        (ErrorCode.NON_EMPTY_GROUP, "non empty group; stop its members first"),
    ],
)
def test_a_group_that_cannot_be_deleted_says_why(
    broker: ScriptedBroker, client: WireClient, code: ErrorCode, said: str
) -> None:
    broker.answers(ApiKey.DELETE_GROUPS, deleted(code))
    with pytest.raises(ClientError, match=said) as raised:
        delete_group(client, "g")
    assert raised.value.code is code


# All of them


def listing(*names: str, code: int = 0, state: str = "Stable", kind: str = "Classic") -> Answer:
    groups = [k16.ListedGroup(name, "consumer", state, kind) for name in names]
    return lambda request: k16.ListGroupsResponse(error_code=code, groups=groups)


def test_every_broker_is_asked_for_its_groups() -> None:
    first, second = broker_of((1, 2)), broker_of((1, 2))
    first.answers(ApiKey.LIST_GROUPS, listing("b"))
    second.answers(ApiKey.LIST_GROUPS, listing("a", state=EMPTY, kind="Consumer"))
    found = list_groups(client_of({1: first, 2: second}), ["Stable"], ["classic"])
    assert found == [
        ListedGroup("a", "consumer", EMPTY, "consumer", 2),
        ListedGroup("b", "classic", "Stable", "consumer", 1),
    ]
    (asked,) = second.asked(k16.ListGroupsRequest)
    assert (asked.states_filter, asked.types_filter) == (["Stable"], ["classic"])


def test_groups_that_are_being_loaded_are_waited_for(
    broker: ScriptedBroker, client: WireClient
) -> None:
    loading = listing(code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    broker.answers(ApiKey.LIST_GROUPS, loading, listing("a"))
    assert [each.name for each in list_groups(client)] == ["a"]


def test_a_broker_that_fails_is_not_left_out_in_silence(
    broker: ScriptedBroker, client: WireClient
) -> None:
    broker.answers(ApiKey.LIST_GROUPS, listing(code=ErrorCode.UNKNOWN_SERVER_ERROR))
    with pytest.raises(ClientError, match="broker 1: unknown server error"):
        list_groups(client)


def test_members_are_counted_many_groups_at_a_time(
    broker: ScriptedBroker, client: WireClient
) -> None:
    def described(request: Any) -> k15.DescribeGroupsResponse:
        members = [k15.DescribedGroupMember("m"), k15.DescribedGroupMember("n")]
        return k15.DescribeGroupsResponse(
            groups=[k15.DescribedGroup(group_id=name, members=members) for name in request.groups]
        )

    def shared(request: Any) -> k77.ShareGroupDescribeResponse:
        return k77.ShareGroupDescribeResponse(
            groups=[
                k77.DescribedGroup(group_id=name, members=[k77.Member("m")])
                for name in request.group_ids
            ]
        )

    def gone(request: Any) -> k69.ConsumerGroupDescribeResponse:
        code = ErrorCode.GROUP_ID_NOT_FOUND
        return k69.ConsumerGroupDescribeResponse(
            groups=[k69.DescribedGroup(code, group_id=name) for name in request.group_ids]
        )

    broker.answers(ApiKey.DESCRIBE_GROUPS, described)
    broker.answers(ApiKey.CONSUMER_GROUP_DESCRIBE, gone)
    broker.answers(ApiKey.SHARE_GROUP_DESCRIBE, shared)
    classic = [ListedGroup(f"g{n}", "classic", "Stable", "consumer", 1) for n in range(250)]
    others = [
        ListedGroup("empty", "classic", EMPTY, "consumer", 1),
        ListedGroup("gone", "consumer", "Stable", "consumer", 1),
        ListedGroup("shared", "share", "Stable", "share", 1),
        ListedGroup("odd", "streams", "Stable", "streams", 1),
    ]
    counts = member_counts(client, classic + others)
    counted = {**dict.fromkeys((each.name for each in classic), 2), "empty": 0, "shared": 1}
    assert counts == counted
    assert len(broker.asked(k15.DescribeGroupsRequest)) == 3


# One of them


def not_of_kip_848(request: Any) -> k69.ConsumerGroupDescribeResponse:
    return k69.ConsumerGroupDescribeResponse(
        groups=[k69.DescribedGroup(ErrorCode.GROUP_ID_NOT_FOUND, "none", "g")]
    )


def no_share_group(request: Any) -> k77.ShareGroupDescribeResponse:
    return k77.ShareGroupDescribeResponse(
        groups=[k77.DescribedGroup(ErrorCode.GROUP_ID_NOT_FOUND, "none", "g")]
    )


def classic(*members: k15.DescribedGroupMember, **told: Any) -> Answer:
    told = {"group_state": "Stable", "protocol_type": "consumer", "protocol_data": "range", **told}
    group = k15.DescribedGroup(group_id="g", members=list(members), **told)
    return lambda request: k15.DescribeGroupsResponse(groups=[group])


def member(**told: Any) -> k15.DescribedGroupMember:
    return k15.DescribedGroupMember("m", "i", "c", "/10.0.0.1", **told)


def test_a_classic_group_is_described_by_what_its_members_have_agreed_on(
    broker: ScriptedBroker, client: WireClient
) -> None:
    plan = ConsumerProtocolAssignment([TopicPartition("t", [1, 0])])
    wish = ConsumerProtocolSubscription(["t"])
    told = member(member_assignment=encode_value(plan), member_metadata=encode_value(wish))
    broker.answers(ApiKey.CONSUMER_GROUP_DESCRIBE, not_of_kip_848)
    broker.answers(ApiKey.DESCRIBE_GROUPS, classic(told))
    found = describe_group(client, "g")
    assert (found.kind, found.state, found.assignor) == ("classic", "Stable", "range")
    assert (found.coordinator, found.epoch) == (1, None)
    assert found.members == [Member("m", "i", "c", "10.0.0.1", {"t": [0, 1]}, ["t"])]
    assert found.members[0].partition_count == 2


@pytest.mark.parametrize("protocol_type", ["consumer", "connect"])
def test_bytes_that_are_no_plan_are_left_out(
    broker: ScriptedBroker, client: WireClient, protocol_type: str
) -> None:
    told = member(member_assignment=b"\x00\x00\xff", member_metadata=b"\x00")
    broker.answers(ApiKey.CONSUMER_GROUP_DESCRIBE, not_of_kip_848)
    broker.answers(ApiKey.DESCRIBE_GROUPS, classic(told, protocol_type=protocol_type))
    (found,) = describe_group(client, "g").members
    assert (found.assigned, found.topics) == ({}, [])


def test_a_broker_without_kip_848_has_classic_groups_only() -> None:
    versions = {ApiKey(key): (api.min_version, api.max_version) for key, api in APIS.items()}
    del versions[ApiKey.CONSUMER_GROUP_DESCRIBE]
    old = ScriptedBroker(versions).answers(ApiKey.METADATA, cluster({}))
    old.answers(ApiKey.FIND_COORDINATOR, looked_after_by(1))
    old.answers(ApiKey.DESCRIBE_GROUPS, classic())
    assert describe_group(client_of({1: old}), "g").kind == "classic"


def test_a_share_group_is_described_with_its_members(
    broker: ScriptedBroker, client: WireClient
) -> None:
    parts = [k77.TopicPartitions(bytes(16), "orders", [1, 0])]
    member = k77.Member("m", None, 3, "c", "/192.0.2.7", ["orders"], k77.Assignment(parts))
    told = k77.DescribedGroup(0, None, "g", "Stable", 3, 3, "simple", [member])
    broker.answers(ApiKey.CONSUMER_GROUP_DESCRIBE, not_of_kip_848)
    broker.answers(ApiKey.DESCRIBE_GROUPS, classic(error_code=ErrorCode.GROUP_ID_NOT_FOUND))
    broker.answers(
        ApiKey.SHARE_GROUP_DESCRIBE, lambda request: k77.ShareGroupDescribeResponse(groups=[told])
    )
    found = describe_group(client, "g")
    assert (found.kind, found.state, found.epoch) == ("share", "Stable", 3)
    (seen,) = found.members
    assert (seen.id, seen.host, seen.epoch, seen.target) == ("m", "192.0.2.7", 3, None)
    assert seen.assigned == {"orders": [0, 1]}


@pytest.mark.parametrize("told", [{"error_code": ErrorCode.GROUP_ID_NOT_FOUND}, {}])
def test_a_dead_group_is_not_there(
    broker: ScriptedBroker, client: WireClient, told: dict[str, Any]
) -> None:
    broker.answers(ApiKey.CONSUMER_GROUP_DESCRIBE, not_of_kip_848)
    broker.answers(ApiKey.DESCRIBE_GROUPS, classic(group_state="Dead", **told))
    broker.answers(ApiKey.SHARE_GROUP_DESCRIBE, no_share_group)
    with pytest.raises(ClientError, match="group g: there is no such group") as raised:
        describe_group(client, "g")
    assert raised.value.code is ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("code", PASSING)
def test_a_group_that_is_being_loaded_is_waited_for(
    broker: ScriptedBroker, client: WireClient, code: ErrorCode
) -> None:
    busy = classic(group_state="Dead", error_code=code)
    broker.answers(ApiKey.CONSUMER_GROUP_DESCRIBE, not_of_kip_848)
    broker.answers(ApiKey.DESCRIBE_GROUPS, busy, classic())
    assert describe_group(client, "g").state == "Stable"


def test_a_group_of_the_new_protocol_is_described_with_its_epochs(
    broker: ScriptedBroker, client: WireClient
) -> None:
    def share(*partitions: int) -> k69.Assignment:
        return k69.Assignment([k69.TopicPartitions(TOPIC_ID, "t", list(partitions))])

    told = k69.Member(
        member_id="m",
        member_epoch=4,
        client_id="c",
        client_host="/10.0.0.1",
        subscribed_topic_names=["t"],
        subscribed_topic_regex="t.*",
        assignment=share(1),
        target_assignment=share(1, 0),
    )
    group = k69.DescribedGroup(
        group_id="g",
        group_state="Reconciling",
        group_epoch=5,
        assignment_epoch=4,
        assignor_name="uniform",
        members=[told],
    )
    answer = k69.ConsumerGroupDescribeResponse(groups=[group])
    broker.answers(ApiKey.CONSUMER_GROUP_DESCRIBE, lambda request: answer)
    found = describe_group(client, "g")
    assert (found.kind, found.state, found.assignor) == ("consumer", "Reconciling", "uniform")
    assert (found.epoch, found.assignment_epoch) == (5, 4)
    assert found.members == [
        Member("m", None, "c", "10.0.0.1", {"t": [1]}, ["t"], "t.*", 4, {"t": [0, 1]})
    ]


# Its offsets


def offsets(*parts: OffsetFetchResponsePartitions, topic_id: bytes = TOPIC_ID) -> Answer:
    topic = OffsetFetchResponseTopics("t", topic_id, list(parts))
    group = OffsetFetchResponseGroup("g", [topic])
    return lambda request: OffsetFetchResponse(groups=[group])


@pytest.mark.parametrize("version", [9, 10], ids=["names", "ids"])
def test_offsets_are_told_by_the_names_of_topics(version: int) -> None:
    versions = {ApiKey(key): (api.min_version, api.max_version) for key, api in APIS.items()}
    versions[ApiKey.OFFSET_FETCH] = (1, version)
    broker = ScriptedBroker(versions).answers(ApiKey.METADATA, cluster({0: 1}))
    broker.answers(ApiKey.FIND_COORDINATOR, looked_after_by(1))
    part = OffsetFetchResponsePartitions(0, 7, 2, "m", 0, 5, 1200)
    nowhere = OffsetFetchResponsePartitions(1, -1)
    broker.answers(ApiKey.OFFSET_FETCH, offsets(nowhere, part))
    found = committed_offsets(client_of({1: broker}), "g")
    assert found == {("t", 0): CommittedOffset(7, 2, "m", 5, 1200)}
    assert broker.asked(OffsetFetchRequest)[0].with_lag


def test_a_broker_that_tells_no_lag_leaves_it_unknown(
    broker: ScriptedBroker, client: WireClient
) -> None:
    broker.answers(ApiKey.OFFSET_FETCH, offsets(OffsetFetchResponsePartitions(0, 7, -1, None)))
    assert committed_offsets(client, "g") == {("t", 0): CommittedOffset(7, -1, "", None, None)}


def test_a_topic_that_nobody_knows_any_more_is_left_out(
    broker: ScriptedBroker, client: WireClient
) -> None:
    part = OffsetFetchResponsePartitions(0, 7)
    broker.answers(ApiKey.OFFSET_FETCH, offsets(part, topic_id=bytes(15) + b"\x01"))
    assert committed_offsets(client, "g") == {}


def committing(code: int) -> Answer:
    return lambda request: OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                "t",
                TOPIC_ID,
                [
                    OffsetCommitResponsePartition(each.partition_index, code)
                    for each in request.topics[0].partitions
                ],
            )
        ]
    )


def test_offsets_are_set_as_nobodys_member(broker: ScriptedBroker, client: WireClient) -> None:
    broker.answers(ApiKey.OFFSET_COMMIT, committing(ErrorCode.NOT_COORDINATOR), committing(0))
    commit_offsets(client, "g", {("t", 0): 3, ("t", 1): 4})
    asked = broker.asked(OffsetCommitRequest)[-1]
    assert (asked.generation_id_or_member_epoch, asked.member_id) == (-1, "")
    assert asked.topics[0].topic_id == TOPIC_ID
    parts = asked.topics[0].partitions
    assert [(each.partition_index, each.committed_offset) for each in parts] == [(0, 3), (1, 4)]


def test_a_group_that_has_members_takes_no_offsets(
    broker: ScriptedBroker, client: WireClient
) -> None:
    broker.answers(ApiKey.OFFSET_COMMIT, committing(ErrorCode.UNKNOWN_MEMBER_ID))
    with pytest.raises(ClientError, match="group g: it has members") as raised:
        commit_offsets(client, "g", {("t", 0): 3})
    assert raised.value.code is ErrorCode.NON_EMPTY_GROUP


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (OffsetDeleteResponse(error_code=69), ErrorCode.GROUP_ID_NOT_FOUND),
        (
            OffsetDeleteResponse(
                topics=[OffsetDeleteResponseTopic("t", [OffsetDeleteResponsePartition(0, 86)])]
            ),
            ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ),
    ],
)
def test_offsets_that_are_not_deleted_are_told(
    broker: ScriptedBroker, client: WireClient, answer: OffsetDeleteResponse, code: ErrorCode
) -> None:
    broker.answers(ApiKey.OFFSET_DELETE, lambda request: answer)
    with pytest.raises(ClientError) as raised:
        delete_offsets(client, "g", [("t", 0)])
    assert raised.value.code is code
