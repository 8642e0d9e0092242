"""AddPartitionsToTxn: what a transaction is going to write to, before it does.

Up to version 3 clients ask, for one transaction. From 4 on brokers do, for many (KIP-890): a leader
looks whether a partition belongs to the transaction whose records it was sent, or adds it in the
name of a client that leaves that to us. Version 2 may answer PRODUCER_FENCED, 5
TRANSACTION_ABORTABLE. If one partition does not exist, none is added, and the others are answered
with OPERATION_NOT_ATTEMPTED.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.fencing import fenced_as
from penstock.api.once_over import once_over
from penstock.api.outcome import Outcome
from penstock.api.replies import Rest, once_committed
from penstock.coordination.transaction.adding import add, missing
from penstock.coordination.transaction.state import Identity, Place, Transaction
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.metadata.internal_topics import INTERNAL
from penstock.metadata.views import View
from penstock.wire.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

FENCED_SINCE = 2
OF_BROKERS_SINCE = 4
ABORTABLE_SINCE = 5


def add_partitions_to_txn(
    broker: Broker, request: AddPartitionsToTxnRequest, call: Call
) -> Outcome[AddPartitionsToTxnResponse]:
    if call.version >= OF_BROKERS_SINCE:
        return _for_brokers(broker, request, call)
    name = request.v3_and_below_transactional_id
    writer = Identity(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
    topics = request.v3_and_below_topics
    places = list(_places(topics))
    errors = _unknown(broker, places)
    if errors:
        return _answer_one(topics, errors, ErrorCode.OPERATION_NOT_ATTEMPTED)
    speakers = broker.speakers.of_transactions

    def decide(turn: Turn, transaction: Transaction) -> AddPartitionsToTxnResponse:
        add(turn, transaction, writer, places)
        return _answer_one(topics, {}, ErrorCode.NONE)

    def attempt() -> Outcome[AddPartitionsToTxnResponse]:
        speakers.check(writer, call.client)
        with fenced_as(call, FENCED_SINCE):
            outcome = broker.transactions.shard(name).decide(name, decide)
        speakers.note(writer, call.client)
        return outcome

    return once_over(broker, name, attempt)


def _places(topics: Iterable[AddPartitionsToTxnTopic]) -> Iterable[Place]:
    for topic in topics:
        for index in topic.partitions:
            yield topic.name, index


def _unknown(broker: Broker, places: Iterable[Place]) -> dict[Place, ErrorCode]:
    errors = {}
    for name, index in places:
        topic = broker.image.readable.topic(name)
        if isinstance(topic, View):  # to wait until there is a topic, as clients do, would not help
            errors[name, index] = ErrorCode.INVALID_TOPIC
        elif topic is None or not 0 <= index < topic.record.partitions:
            errors[name, index] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif name in INTERNAL:
            errors[name, index] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return errors


def _answer_one(
    topics: Iterable[AddPartitionsToTxnTopic], errors: Mapping[Place, ErrorCode], otherwise: int
) -> AddPartitionsToTxnResponse:
    results = _results(topics, errors, otherwise)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)


def _results(
    topics: Iterable[AddPartitionsToTxnTopic], errors: Mapping[Place, int], otherwise: int
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            topic.name,
            [
                AddPartitionsToTxnPartitionResult(index, errors.get((topic.name, index), otherwise))
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]


def _for_brokers(
    broker: Broker, request: AddPartitionsToTxnRequest, call: Call
) -> Outcome[AddPartitionsToTxnResponse]:
    if call.client.broker_id < 0:
        raise Refused(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "versions from 4 on are for brokers only"
        )
    rests: list[Rest] = []
    results = [
        AddPartitionsToTxnResult(each.transactional_id, _one(broker, each, call, rests))
        for each in request.transactions
    ]
    return once_committed(rests, AddPartitionsToTxnResponse(results_by_transaction=results))


def _one(
    broker: Broker, asked: AddPartitionsToTxnTransaction, call: Call, rests: list[Rest]
) -> list[AddPartitionsToTxnTopicResult]:
    name, writer = asked.transactional_id, Identity(asked.producer_id, asked.producer_epoch)
    places = list(_places(asked.topics))

    def decide(turn: Turn, transaction: Transaction) -> set[Place]:
        if asked.verify_only:
            return missing(transaction, writer, places)
        add(turn, transaction, writer, places)
        return set()

    try:
        lacking, rest = broker.transactions.shard(name).decide_part(name, decide)
    except Refused as refused:
        return _results(asked.topics, {}, refused.code)
    rests.append(rest)
    not_added = ErrorCode.INVALID_TXN_STATE
    if call.version >= ABORTABLE_SINCE:
        not_added = ErrorCode.TRANSACTION_ABORTABLE
    return _results(asked.topics, dict.fromkeys(lacking, not_added), ErrorCode.NONE)


def add_partitions_to_txn_failed(
    request: AddPartitionsToTxnRequest, code: ErrorCode, message: str
) -> AddPartitionsToTxnResponse:
    """Versions from 4 on have one for the whole of it."""
    answer = _answer_one(request.v3_and_below_topics, {}, code)
    answer.error_code = code
    return answer
