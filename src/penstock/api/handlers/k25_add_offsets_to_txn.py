"""AddOffsetsToTxn: a transaction is going to commit offsets of a group.

Version 2 may answer PRODUCER_FENCED. Clients that speak KIP-890 leave this to the group's
coordinator.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.fencing import fenced_as
from penstock.api.handlers.k10_find_coordinator import once_there_is
from penstock.api.once_over import once_over
from penstock.api.outcome import Outcome
from penstock.coordination.transaction.adding import add
from penstock.coordination.transaction.state import Identity, Transaction
from penstock.coordination.turn import Turn
from penstock.metadata.internal_topics import OFFSETS
from penstock.wire.messages.k25_add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)

FENCED_SINCE = 2


def add_offsets_to_txn(
    broker: Broker, request: AddOffsetsToTxnRequest, call: Call
) -> Outcome[AddOffsetsToTxnResponse]:
    if broker.image.topic(OFFSETS) is None:  # a group that has not committed anywhere else
        return once_there_is(
            broker, OFFSETS, call.now_ms, lambda _: add_offsets_to_txn(broker, request, call)
        )
    name, writer = request.transactional_id, Identity(request.producer_id, request.producer_epoch)
    speakers = broker.speakers.of_transactions
    place = OFFSETS, broker.groups.place(request.group_id)[0]

    def decide(turn: Turn, transaction: Transaction) -> AddOffsetsToTxnResponse:
        add(turn, transaction, writer, [place])
        return AddOffsetsToTxnResponse()

    def attempt() -> Outcome[AddOffsetsToTxnResponse]:
        speakers.check(writer, call.client)
        with fenced_as(call, FENCED_SINCE):
            outcome = broker.transactions.shard(name).decide(name, decide)
        speakers.note(writer, call.client)
        return outcome

    return once_over(broker, name, attempt)
