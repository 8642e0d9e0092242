"""The way to the brokers: who is asked, and when again."""

from __future__ import annotations

from typing import Any

import pytest
from tests.client.scripted import Answer, ScriptedBroker, client_of, cluster

from penstock.client import admin, offsets
from penstock.client.errors import ClientError, Lost, Unreachable
from penstock.client.group_listing import list_groups
from penstock.errors import ErrorCode
from penstock.wire.codec import Message
from penstock.wire.messages import ApiKey
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from penstock.wire.messages.k03_metadata import MetadataRequest
from penstock.wire.messages.k16_list_groups import ListedGroup, ListGroupsResponse
from penstock.wire.messages.k19_create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)


def offset(number: int, code: int = 0) -> Answer:
    def answer(request: Any) -> Message:
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    topic.name,
                    [
                        ListOffsetsPartitionResponse(each.partition_index, code, -1, number)
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    return answer


def created(code: int = 0, message: str | None = None) -> Answer:
    return lambda request: CreateTopicsResponse(
        topics=[CreatableTopicResult("t", error_code=code, error_message=message)]
    )


def test_any_reachable_broker_will_do_for_a_start() -> None:
    down, up = ScriptedBroker(), ScriptedBroker().answers(ApiKey.METADATA, cluster({0: 2}, (2,)))
    down.is_up = False
    assert client_of({1: down, 2: up}).metadata().brokers.keys() == {2}


def test_a_proxy_that_takes_calls_for_a_broker_that_is_down_is_passed_by() -> None:
    down = ScriptedBroker().answers(ApiKey.API_VERSIONS, lambda _: None)
    up = ScriptedBroker().answers(ApiKey.METADATA, cluster({0: 2}, (2,)))
    assert client_of({1: down, 2: up}).metadata().brokers.keys() == {2}


def test_no_attempt_to_read_uses_up_all_of_the_time() -> None:
    client = client_of({1: ScriptedBroker()}, timeout_s=30.0)
    deadlines = []

    def attempt(deadline: float) -> int:
        deadlines.append(deadline)
        if len(deadlines) < 2:
            raise Lost(ErrorCode.NETWORK_EXCEPTION, "it hangs")
        return 7

    latest = client.deadline() - 15
    assert client.retry(attempt) == 7
    assert max(deadlines) < latest


def test_brokers_are_asked_for_anew_when_one_of_them_does_not_answer() -> None:
    dead, alive = ScriptedBroker(), ScriptedBroker()
    dead.is_up = False
    alive.answers(ApiKey.METADATA, cluster({0: 2}, (1, 2)), cluster({0: 2}, (2,)))
    alive.answers(ApiKey.LIST_GROUPS, lambda request: ListGroupsResponse(groups=[ListedGroup("g")]))
    (listed,) = list_groups(client_of({2: alive, 1: dead}))
    assert (listed.name, listed.coordinator) == ("g", 2)


def test_every_leader_is_asked_for_its_own_partitions() -> None:
    first, second = ScriptedBroker(), ScriptedBroker()
    first.answers(ApiKey.METADATA, cluster({0: 1, 1: 2, 2: 1}, (1, 2)))
    first.answers(ApiKey.LIST_OFFSETS, offset(10))
    second.answers(ApiKey.LIST_OFFSETS, offset(20))
    found = offsets.ends(client_of({1: first, 2: second}), "t", [0, 1, 2], offsets.LATEST)
    assert found == {0: 10, 1: 20, 2: 10}


def test_a_leader_that_has_moved_is_looked_for_again() -> None:
    first, second = ScriptedBroker(), ScriptedBroker()
    first.answers(ApiKey.METADATA, cluster({0: 1}, (1, 2)), cluster({0: 2}, (1, 2)))
    first.answers(ApiKey.LIST_OFFSETS, offset(-1, ErrorCode.NOT_LEADER_OR_FOLLOWER))
    second.answers(ApiKey.LIST_OFFSETS, offset(7))
    found = offsets.ends(client_of({1: first, 2: second}), "t", [0], offsets.LATEST)
    assert found == {0: 7}


def test_a_lost_connection_is_made_again() -> None:
    broker = ScriptedBroker().answers(ApiKey.METADATA, cluster({0: 1}))
    broker.answers(ApiKey.LIST_OFFSETS, lambda _: None, offset(7))
    assert offsets.ends(client_of({1: broker}), "t", [0], offsets.LATEST) == {0: 7}
    assert len(broker.asked(ListOffsetsRequest)) == 2


def test_a_known_topic_is_not_asked_for_twice() -> None:
    broker = ScriptedBroker().answers(ApiKey.METADATA, cluster({0: 1}))
    client = client_of({1: broker})
    assert client.topic("t") is client.topic("t")
    assert len(broker.asked(MetadataRequest)) == 1


def test_looking_at_a_topic_does_not_create_it() -> None:
    broker = ScriptedBroker().answers(ApiKey.METADATA, cluster({0: 1}))
    client_of({1: broker}).topic("t")
    assert not broker.asked(MetadataRequest)[0].allow_auto_topic_creation


def test_a_missing_topic_says_how_to_list_those_there_are() -> None:
    missing = cluster({}, code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    broker = ScriptedBroker().answers(ApiKey.METADATA, missing)
    with pytest.raises(ClientError, match="no such topic; `penstock topic list`"):
        client_of({1: broker}).topic("t")


def test_a_refusal_that_will_not_pass_is_raised_at_once() -> None:
    broker = ScriptedBroker().answers(ApiKey.METADATA, cluster({0: 1}))
    broker.answers(ApiKey.CREATE_TOPICS, created(ErrorCode.TOPIC_ALREADY_EXISTS, "t is there."))
    with pytest.raises(ClientError, match="topic t: t is there; choose another name") as caught:
        admin.create_topic(client_of({1: broker}), "t")
    assert caught.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert len(broker.asked(CreateTopicsRequest)) == 1


def test_a_change_whose_fate_is_unknown_is_not_repeated() -> None:
    broker = ScriptedBroker().answers(ApiKey.METADATA, cluster({0: 1}))
    broker.answers(ApiKey.CREATE_TOPICS, lambda _: None)
    with pytest.raises(Lost, match="look before you repeat it"):
        admin.create_topic(client_of({1: broker}), "t")
    assert len(broker.asked(CreateTopicsRequest)) == 1


def test_a_change_refused_by_a_former_controller_is_repeated() -> None:
    broker = ScriptedBroker().answers(ApiKey.METADATA, cluster({0: 1}))
    broker.answers(ApiKey.CREATE_TOPICS, created(ErrorCode.NOT_CONTROLLER), created())
    admin.create_topic(client_of({1: broker}), "t")
    assert len(broker.asked(CreateTopicsRequest)) == 2


def test_a_controller_that_is_gone_is_looked_for_again() -> None:
    gone, here = ScriptedBroker(), ScriptedBroker()
    gone.is_up = False
    stale, fresh = cluster({0: 2}, (1, 2)), cluster({0: 2}, (2,))
    here.answers(ApiKey.METADATA, stale, stale, stale, fresh)
    here.answers(ApiKey.CREATE_TOPICS, created())
    admin.create_topic(client_of({1: gone, 2: here}, timeout_s=1), "t", 1, 1)
    assert len(here.asked(CreateTopicsRequest)) == 1


def test_what_does_not_pass_in_time_is_raised() -> None:
    broker = ScriptedBroker().answers(ApiKey.METADATA, cluster({0: -1}))
    with pytest.raises(ClientError, match="no broker leads it now") as caught:
        offsets.ends(client_of({1: broker}, timeout_s=0.1), "t", [0], offsets.LATEST)
    assert caught.value.code is ErrorCode.LEADER_NOT_AVAILABLE


def test_a_cluster_that_was_never_reached_is_not_waited_for() -> None:
    down = ScriptedBroker()
    down.is_up = False
    with pytest.raises(Unreachable):
        offsets.ends(client_of({1: down}), "t", [0], offsets.LATEST)
