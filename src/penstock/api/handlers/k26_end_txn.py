"""EndTxn: a transaction is committed or aborted.

It is answered once that is decided and safe; the partitions are told after that. Version 2 may
answer PRODUCER_FENCED. With version 5 the producer speaks KIP-890 and gets the next epoch.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.fencing import fenced_as
from penstock.api.handlers.k22_init_producer_id import once_there_are_ids
from penstock.api.outcome import Outcome
from penstock.coordination.transaction.ending import WITH_NEW_EPOCH, end
from penstock.coordination.transaction.state import Identity, Transaction
from penstock.coordination.turn import Turn
from penstock.wire.messages.k26_end_txn import EndTxnRequest, EndTxnResponse

FENCED_SINCE = 2
NEW_EPOCH_SINCE = 5


def end_txn(broker: Broker, request: EndTxnRequest, call: Call) -> Outcome[EndTxnResponse]:
    if not broker.has_producer_id:  # its epochs may be used up
        return once_there_are_ids(broker, lambda: end_txn(broker, request, call))
    name, writer = request.transactional_id, Identity(request.producer_id, request.producer_epoch)
    speakers = broker.speakers.of_transactions
    version = WITH_NEW_EPOCH if call.version >= NEW_EPOCH_SINCE else WITH_NEW_EPOCH - 1
    if version < WITH_NEW_EPOCH:
        speakers.check(writer, call.client)

    def decide(turn: Turn, transaction: Transaction) -> EndTxnResponse:
        ended = end(
            turn,
            transaction,
            writer,
            is_commit=request.committed,
            version=version,
            take_id=broker.take_producer_id,
        )
        return EndTxnResponse(
            producer_id=ended.identity.producer_id, producer_epoch=ended.identity.epoch
        )

    with fenced_as(call, FENCED_SINCE):
        outcome = broker.transactions.shard(name).decide(name, decide)
    speakers.note(writer, call.client)
    return outcome
