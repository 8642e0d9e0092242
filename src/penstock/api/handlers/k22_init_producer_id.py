"""InitProducerId: an identity for an idempotent producer, or the next one for a transactional id.

Ids come in blocks from the metadata store, so that no two brokers hand out the same. Version 3 lets
a producer ask for its own id with the next epoch; without a transactional id a new id serves as
well, and is what Kafka gives. Version 4 may answer PRODUCER_FENCED, 6 brought commits in two phases
(KIP-939).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.fencing import fenced_as
from penstock.api.outcome import Change, Outcome
from penstock.coordination.transaction.beginning import Asked, begin
from penstock.coordination.transaction.state import Identity, Transaction
from penstock.coordination.turn import Turn
from penstock.metadata.cluster_changes import allocate_producer_ids
from penstock.wire.messages.k22_init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)

R = TypeVar("R")

FENCED_SINCE = 4


def init_producer_id(
    broker: Broker, request: InitProducerIdRequest, call: Call
) -> Outcome[InitProducerIdResponse]:
    if not broker.has_producer_id:
        return once_there_are_ids(broker, lambda: init_producer_id(broker, request, call))
    if request.transactional_id is None:
        return InitProducerIdResponse(producer_id=broker.take_producer_id(), producer_epoch=0)
    with fenced_as(call, FENCED_SINCE):
        return _begin(broker, request, request.transactional_id)


def once_there_are_ids(broker: Broker, go_on: Callable[[], Outcome[R]]) -> Change[R]:
    nonce = broker.chance.uuid()

    def then(block: range) -> Outcome[R]:
        broker.add_producer_ids(block.start, len(block))
        return go_on()

    return Change(lambda image: allocate_producer_ids(image, nonce=nonce), then)


def _begin(
    broker: Broker, request: InitProducerIdRequest, name: str
) -> Outcome[InitProducerIdResponse]:
    asked = Asked(
        request.transaction_timeout_ms,
        Identity(request.producer_id, request.producer_epoch),
        request.enable2_pc,
        request.keep_prepared_txn,
    )

    def decide(turn: Turn, transaction: Transaction) -> InitProducerIdResponse:
        begun = begin(turn, transaction, asked, broker.take_producer_id)
        return InitProducerIdResponse(
            error_code=begun.error,
            producer_id=begun.identity.producer_id,
            producer_epoch=begun.identity.epoch,
            ongoing_txn_producer_id=begun.ongoing.producer_id,
            ongoing_txn_producer_epoch=begun.ongoing.epoch,
        )

    return broker.transactions.shard(name).decide(name, decide)
