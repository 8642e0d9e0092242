"""Where partitions begin and end, when not all of them can be read."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.client.scripted import Answer, ScriptedBroker, client_of, cluster

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.offsets import LATEST, ends, survey, vacancies
from penstock.errors import ErrorCode
from penstock.wire.codec import Message
from penstock.wire.messages import ApiKey
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

BOTH = {0: LATEST, 1: LATEST}


def told(codes: dict[int, int]) -> Answer:
    """Every partition that is asked for ends at 7, but for those with a code."""

    def answer(request: Any) -> Message:
        parts = [
            ListOffsetsPartitionResponse(
                each.partition_index,
                codes.get(each.partition_index, 0),
                offset=-1 if codes.get(each.partition_index) else 7,
            )
            for each in request.topics[0].partitions
        ]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", parts)])

    return answer


def client_told(broker: ScriptedBroker, *answers: Answer) -> WireClient:
    broker.answers(ApiKey.METADATA, cluster({0: 1, 1: 1})).answers(ApiKey.LIST_OFFSETS, *answers)
    return client_of({1: broker})


def test_a_partition_that_cannot_be_read_is_not_waited_for() -> None:
    broker = ScriptedBroker()
    known = survey(client_told(broker, told({0: ErrorCode.KAFKA_STORAGE_ERROR})), "t", BOTH)
    assert known.offsets == {1: 7}
    assert known.failures[0].code is ErrorCode.KAFKA_STORAGE_ERROR
    assert len(broker.asked(ListOffsetsRequest)) == 1


def test_what_may_pass_is_asked_again() -> None:
    moved = told({0: ErrorCode.NOT_LEADER_OR_FOLLOWER})
    known = survey(client_told(ScriptedBroker(), moved, told({})), "t", BOTH)
    assert (known.offsets, known.failures) == ({0: 7, 1: 7}, {})


@pytest.mark.parametrize("is_patient", [True, False])
def test_a_new_leaders_end_is_waited_for_by_who_wants_to(is_patient: bool) -> None:
    unsure, known = told({0: ErrorCode.OFFSET_NOT_AVAILABLE}), told({})
    client = client_told(ScriptedBroker(), unsure, known)
    found = survey(client, "t", BOTH, is_patient=is_patient)
    assert found.offsets == ({0: 7, 1: 7} if is_patient else {1: 7})
    assert [error.code for error in found.failures.values()] == (
        [] if is_patient else [ErrorCode.OFFSET_NOT_AVAILABLE]
    )


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes on by a minute with every look: no try is followed by another."""

    class Clock:
        looks = 0

        def monotonic(self) -> float:
            self.looks += 1
            return time.monotonic() + 60.0 * self.looks

    monkeypatch.setattr("penstock.client.cluster.time", Clock())


@pytest.mark.usefixtures("impatient")
def test_what_does_not_pass_in_time_leaves_the_others_known() -> None:
    broker = ScriptedBroker()
    client = client_told(broker, told({}))
    broker.answers(ApiKey.METADATA, cluster({0: -1, 1: 1}))
    known = survey(client, "t", BOTH)
    assert known.offsets == {1: 7}
    assert known.failures[0].code is ErrorCode.LEADER_NOT_AVAILABLE


@pytest.mark.usefixtures("impatient")
def test_where_nobody_answers_it_fails() -> None:
    with pytest.raises(ClientError, match="closed the connection"):
        survey(client_told(ScriptedBroker(), lambda _: None), "t", BOTH)


def test_what_there_is_not_fails_as_a_whole() -> None:
    broker = ScriptedBroker()
    client = client_told(broker, told({}))
    broker.answers(ApiKey.METADATA, cluster({0: 1}, code=ErrorCode.INVALID_TOPIC))
    with pytest.raises(ClientError, match="topic t: invalid topic"):
        survey(client, "t", BOTH)


@pytest.mark.usefixtures("impatient")
def test_what_is_vacant_is_told_of_partitions_whose_leaders_answer() -> None:
    broker = ScriptedBroker()
    client = client_told(broker, told({0: ErrorCode.NOT_LEADER_OR_FOLLOWER}))
    assert vacancies(client, "t", {0: 3, 1: 4}) == {1: 0}
    (request,) = broker.asked(ListOffsetsRequest)
    assert [each.vacant_from for each in request.topics[0].partitions] == [3, 4]
    broker.is_up = False
    assert vacancies(client, "t", {0: 3, 1: 4}) == {}


def test_who_needs_them_all_gets_the_error() -> None:
    client = client_told(ScriptedBroker(), told({0: ErrorCode.KAFKA_STORAGE_ERROR}))
    with pytest.raises(ClientError, match="t-0: kafka storage error"):
        ends(client, "t", BOTH, LATEST)
