from __future__ import annotations

import msgspec
import pytest
from tests.api.desk import Desk

from penstock.api.outcome import Resume
from penstock.coordination.share.names import ShareKey
from penstock.errors import ErrorCode
from penstock.metadata.changes import Commit
from penstock.metadata.internal_topics import OFFSETS, SHARES, TRANSACTIONS
from penstock.metadata.records import broker_key, encode, partition_key
from penstock.wire.messages.k10_find_coordinator import FindCoordinatorRequest

GROUP, TRANSACTION, SHARE = 0, 1, 2


@pytest.mark.parametrize("version", range(4))
def test_a_group_is_looked_after_by_this_broker(desk: Desk, version: int) -> None:
    answer = desk.ask(FindCoordinatorRequest(key="group"), version)
    assert answer.error_code == ErrorCode.NONE
    assert (answer.node_id, answer.host, answer.port) == (1, "broker.test", 9092)


@pytest.mark.parametrize("version", range(4, 7))
def test_several_groups_are_answered_each(desk: Desk, version: int) -> None:
    answer = desk.ask(FindCoordinatorRequest(coordinator_keys=["a", "b"]), version)
    found = [(each.key, each.node_id, each.host, each.port) for each in answer.coordinators]
    assert found == [("a", 1, "broker.test", 9092), ("b", 1, "broker.test", 9092)]
    assert not any(each.error_code for each in answer.coordinators)


def test_what_is_not_supported_is_refused_for_good(desk: Desk) -> None:
    old = desk.ask(FindCoordinatorRequest(key="key", key_type=9), 3)
    assert (old.error_code, old.node_id) == (ErrorCode.INVALID_REQUEST, -1)
    assert old.error_message
    (new,) = desk.ask(FindCoordinatorRequest(key_type=9, coordinator_keys=["key"])).coordinators
    assert (new.key, new.error_code, new.node_id) == ("key", ErrorCode.INVALID_REQUEST, -1)
    assert new.error_message == old.error_message


def test_the_first_share_has_its_topic_made(desk: Desk) -> None:
    name = ShareKey("jobs", desk.create("orders"), 0).name
    (found,) = desk.ask(FindCoordinatorRequest("", SHARE, [name])).coordinators
    assert (found.key, found.error_code, found.node_id) == (name, ErrorCode.NONE, 1)
    assert desk.image.topics[SHARES].record.partitions == 50
    assert OFFSETS not in desk.image.topics


def test_what_names_no_share_is_refused_by_itself(desk: Desk) -> None:
    name = ShareKey("jobs", desk.create("orders"), 0).name
    found = desk.ask(FindCoordinatorRequest("", SHARE, [name, "jobs", ""])).coordinators
    invalid = ErrorCode.INVALID_REQUEST
    assert [each.error_code for each in found] == [0, invalid, invalid]


@pytest.mark.parametrize("version", [3, 5])
def test_before_version_6_shares_are_not_asked_for(desk: Desk, version: int) -> None:
    name = ShareKey("jobs", desk.create("orders"), 0).name
    is_old = version < 4
    request = FindCoordinatorRequest(name if is_old else "", SHARE, [] if is_old else [name])
    answer = desk.ask(request, version)
    for each in answer.coordinators or [answer]:
        assert each.error_code == ErrorCode.INVALID_REQUEST
        assert "version 6" in each.error_message
    assert SHARES not in desk.image.topics


def test_a_share_of_a_group_with_the_longest_name_is_looked_after(desk: Desk) -> None:
    topic_id = desk.create("orders")
    names = [ShareKey("g" * length, topic_id, 0).name for length in (1000, 1050)]
    found = desk.ask(FindCoordinatorRequest("", SHARE, names)).coordinators
    assert [each.error_code for each in found] == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]


def test_the_first_transactional_id_has_its_topic_made(desk: Desk) -> None:
    request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=["payments"])
    (found,) = desk.ask(request).coordinators
    assert (found.error_code, found.node_id) == (ErrorCode.NONE, 1)
    assert desk.image.topics[TRANSACTIONS].record.partitions == 50
    assert OFFSETS not in desk.image.topics


def test_the_first_who_asks_has_the_offsets_topic_made(desk: Desk) -> None:
    desk.ask(FindCoordinatorRequest(key="a"), 0)
    topic = desk.image.topics[OFFSETS]
    assert (topic.record.partitions, topic.record.replication_factor) == (50, 1)
    desk.ask(FindCoordinatorRequest(coordinator_keys=["b"]))
    assert len(desk.commits) == 1


def test_a_name_that_no_group_can_have_is_refused_by_itself(desk: Desk) -> None:
    answer = desk.ask(FindCoordinatorRequest(coordinator_keys=["a", "", "x" * 8001, "a"]))
    invalid = ErrorCode.INVALID_GROUP_ID
    assert [each.error_code for each in answer.coordinators] == [0, invalid, invalid]
    assert desk.ask(FindCoordinatorRequest(key=""), 3).error_code == invalid


def test_a_group_is_where_the_leader_of_its_partition_is(desk: Desk) -> None:
    desk.register(2, host="other.test")
    names = [f"group-{number}" for number in range(50)]
    answer = desk.ask(FindCoordinatorRequest(coordinator_keys=names))
    for each in answer.coordinators:
        leader = desk.broker.groups.place(each.key)[1].leader
        assert (each.node_id, each.host) == (leader, {1: "broker.test", 2: "other.test"}[leader])


def test_a_group_whose_broker_is_away_is_to_be_asked_for_again(desk: Desk) -> None:
    desk.ask(FindCoordinatorRequest(key="group"), 0)
    desk.change(lambda image: Commit(None, deletes=[broker_key(1)]))
    (found,) = desk.ask(FindCoordinatorRequest(coordinator_keys=["group"])).coordinators
    assert (found.error_code, found.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)


def test_a_broker_without_its_lease_does_not_say_that_a_group_is_its_own(desk: Desk) -> None:
    desk.ask(FindCoordinatorRequest(key="group"), 0)
    topic = desk.image.topics[OFFSETS]
    for index in range(topic.record.partitions):
        record = topic.partition(index)
        assert record is not None
        shared = msgspec.structs.replace(record, replicas=(1, 2))
        put = partition_key(topic.id, index), encode(shared)
        desk.change(lambda image, put=put: Commit(None, puts=[put]))
    assert not desk.ask(FindCoordinatorRequest(key="group"), 0).error_code
    desk.broker.has_lease = lambda: False
    answer = desk.ask(FindCoordinatorRequest(key="group"), 0)
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_broker_that_is_not_registered_asks_clients_to_come_back(desk: Desk) -> None:
    desk.change(lambda image: Commit(None, deletes=[broker_key(1)]))
    answer = desk.ask(FindCoordinatorRequest(key="group"), 0)
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_many_keys_are_answered_in_slices_and_each_once(desk: Desk) -> None:
    desk.ask(FindCoordinatorRequest(key="group"), 0)
    names = [f"group-{number}" for number in range(2_000)]
    for kind, code in ((GROUP, 0), (9, ErrorCode.INVALID_REQUEST)):
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=names * 2)
        call = desk.call(request)
        assert isinstance(call.run(desk.broker), Resume)
        found = desk.ask(request).coordinators
        assert [each.key for each in found] == names
        assert {each.error_code for each in found} == {code}


def test_a_request_that_fails_names_each_key_once(desk: Desk) -> None:
    desk.change(lambda image: Commit(None, deletes=[broker_key(1)]))
    answer = desk.ask(FindCoordinatorRequest(coordinator_keys=["a", "b", "a"]))
    assert [each.key for each in answer.coordinators] == ["a", "b"]
