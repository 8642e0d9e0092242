"""DescribeTransactions: where the transactions of some ids are.

The producer is the one whose records they are. Another may be the one to end them (KIP-939).
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.replies import Rest, once_committed
from penstock.coordination.transaction.state import Transaction
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k65_describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)


def describe_transactions(
    broker: Broker, request: DescribeTransactionsRequest, call: Call
) -> Outcome[DescribeTransactionsResponse]:
    rests: list[Rest] = []
    states = [_described(broker, name, rests) for name in dict.fromkeys(request.transactional_ids)]
    return once_committed(rests, DescribeTransactionsResponse(transaction_states=states))


def _described(broker: Broker, name: str, rests: list[Rest]) -> TransactionState:
    try:
        shard = broker.transactions.shard(name)
    except Refused as refused:
        return TransactionState(refused.code, name)
    found = shard.kept.get(name)
    rests.append(shard.rest(found))
    if found is None or found.state is None:
        return TransactionState(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, name)
    state = found.state
    return TransactionState(
        ErrorCode.NONE,
        name,
        state.phase.value,
        state.timeout_ms,
        state.started_ms,
        state.owner.producer_id,
        state.owner.epoch,
        _topics(found),
    )


def _topics(transaction: Transaction) -> list[TopicData]:
    topics: dict[str, list[int]] = {}
    partitions = transaction.state.partitions if transaction.state else ()
    for topic, index in sorted(partitions):
        topics.setdefault(topic, []).append(index)
    return [TopicData(topic, indexes) for topic, indexes in topics.items()]
