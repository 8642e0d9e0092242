"""InitProducerId: an identity for an idempotent producer.

Ids come in blocks from the metadata store, so that no two brokers hand out the same. Version 3 lets
a producer ask for its own id with the next epoch; without transactions a new id serves as well,
and is what Kafka gives. Transactional ids are refused: transactions are not supported yet.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Change, Outcome
from penstock.errors import ErrorCode, Refused
from penstock.metadata.cluster_changes import allocate_producer_ids
from penstock.wire.messages.k22_init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)


def init_producer_id(
    broker: Broker, request: InitProducerIdRequest, call: Call
) -> Outcome[InitProducerIdResponse]:
    if request.transactional_id is not None:
        raise Refused(ErrorCode.INVALID_REQUEST, "transactions are not supported yet")
    if (producer_id := broker.take_producer_id()) is not None:
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
    nonce = broker.chance.uuid()

    def then(block: range) -> Outcome[InitProducerIdResponse]:
        broker.add_producer_ids(block.start, len(block))
        return init_producer_id(broker, request, call)

    return Change(lambda image: allocate_producer_ids(image, nonce=nonce), then)
