"""Which transactions are said to hang: none as long as somebody who may know it was not asked."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.client.scripted import TOPIC_ID, ScriptedBroker, client_of

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.hanging import COORDINATORS, IDLE_MS, OpenHere, hanging_in
from penstock.errors import ErrorCode
from penstock.wire.messages import ApiKey
from penstock.wire.messages.k03_metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from penstock.wire.messages.k10_find_coordinator import Coordinator, FindCoordinatorResponse
from penstock.wire.messages.k61_describe_producers import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from penstock.wire.messages.k65_describe_transactions import (
    DescribeTransactionsResponse,
    TopicData,
)
from penstock.wire.messages.k65_describe_transactions import TransactionState as Described
from penstock.wire.messages.k66_list_transactions import (
    ListTransactionsResponse,
    TransactionState,
)

PRODUCER = 4711


def ago(ms: int) -> int:
    return time.time_ns() // 1_000_000 - ms


class Stage:
    """One broker that leads topic `t`, where a transaction is open, and answers for coordinators
    as a test says."""

    def __init__(self) -> None:
        self.leaders: list[int] = [1]
        """Of the partitions of the transactions' topic, one for each time that it is asked for; the
        last one for ever."""
        self.topic_code = ErrorCode.NONE
        self.list_code = ErrorCode.NONE
        self.known: list[str] = []
        self.last_ms = ago(IDLE_MS)
        self.broker = (
            ScriptedBroker()
            .answers(ApiKey.METADATA, self._metadata)
            .answers(ApiKey.DESCRIBE_PRODUCERS, self._producers)
            .answers(ApiKey.LIST_TRANSACTIONS, self._listed)
            .answers(ApiKey.DESCRIBE_TRANSACTIONS, self._described)
            .answers(ApiKey.FIND_COORDINATOR, self._found)
        )

    def client(self) -> WireClient:
        return client_of({1: self.broker}, timeout_s=0.2)

    def hanging(self, **options: Any) -> list[OpenHere]:
        return hanging_in(self.client(), ["t"], **options)

    def _metadata(self, request: Any) -> MetadataResponse:
        names = [each.name for each in request.topics or ()]
        return MetadataResponse(
            brokers=[MetadataResponseBroker(1, "broker", 1)],
            cluster_id="c",
            controller_id=1,
            topics=[self._topic(name) for name in names],
        )

    def _topic(self, name: str) -> MetadataResponseTopic:
        leader, code = 1, ErrorCode.NONE
        if name == COORDINATORS:
            code = self.topic_code
            leader = self.leaders.pop(0) if len(self.leaders) > 1 else self.leaders[0]
        part = MetadataResponsePartition(
            partition_index=0, leader_id=leader, leader_epoch=leader, replica_nodes=[1]
        )
        return MetadataResponseTopic(
            name=name, error_code=code, topic_id=TOPIC_ID, partitions=[] if code else [part]
        )

    def _producers(self, request: Any) -> DescribeProducersResponse:
        state = ProducerState(PRODUCER, 0, 0, self.last_ms, -1, 5)
        part = PartitionResponse(0, active_producers=[state])
        return DescribeProducersResponse(topics=[TopicResponse("t", [part])])

    def _listed(self, request: Any) -> ListTransactionsResponse:
        states = [TransactionState(name, PRODUCER, "Ongoing") for name in self.known]
        return ListTransactionsResponse(error_code=self.list_code, transaction_states=states)

    def _described(self, request: Any) -> DescribeTransactionsResponse:
        state = Described(0, self.known[0], "Ongoing", 1, 1, PRODUCER, 0, [TopicData("t", [0])])
        return DescribeTransactionsResponse(transaction_states=[state])

    def _found(self, request: Any) -> FindCoordinatorResponse:
        return FindCoordinatorResponse(coordinators=[Coordinator(self.known[0], 1, "broker", 1)])


@pytest.fixture
def stage() -> Stage:
    return Stage()


def refusal(stage: Stage) -> ErrorCode:
    with pytest.raises(ClientError) as caught:
        stage.hanging()
    return caught.value.code


def test_what_no_coordinator_knows_of_hangs(stage: Stage) -> None:
    (found,) = stage.hanging()
    assert (found.topic, found.partition, found.producer_id) == ("t", 0, PRODUCER)


def test_what_a_coordinator_knows_of_does_not(stage: Stage) -> None:
    stage.known = ["payments"]
    assert stage.hanging() == []


def test_while_a_coordinator_is_away_nothing_is_said(stage: Stage) -> None:
    """It may know the transaction: to abort a part of that would leave the rest to be committed."""
    stage.leaders = [-1]
    assert refusal(stage) is ErrorCode.LEADER_NOT_AVAILABLE
    stage.leaders = [2]
    assert refusal(stage) is ErrorCode.LEADER_NOT_AVAILABLE, "nor is one that is not there"


def test_while_a_coordinator_has_not_read_its_transactions_nothing_is_said(stage: Stage) -> None:
    stage.list_code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert refusal(stage) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_what_is_there_of_the_coordinators_must_be_known(stage: Stage) -> None:
    stage.topic_code = ErrorCode.LEADER_NOT_AVAILABLE
    assert refusal(stage) is ErrorCode.LEADER_NOT_AVAILABLE


def test_where_there_never_was_a_coordinator_all_of_them_hang(stage: Stage) -> None:
    stage.topic_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert len(stage.hanging()) == 1


def test_coordinators_that_change_meanwhile_are_asked_again(stage: Stage) -> None:
    stage.leaders = [1, -1, 1]
    assert len(stage.hanging()) == 1
    assert len([each for each in stage.broker.requests if each.KEY == ApiKey.LIST_TRANSACTIONS]) > 2


@pytest.mark.parametrize("written_ms_ago", [0, IDLE_MS // 2, None], ids=["now", "ago", "never"])
def test_what_was_written_to_a_while_ago_does_not_hang_yet(
    stage: Stage, written_ms_ago: int | None
) -> None:
    stage.last_ms = -1 if written_ms_ago is None else ago(written_ms_ago)
    assert stage.hanging() == []
    assert len(stage.hanging(idle_ms=0)) == 1, "unless the user knows better"
