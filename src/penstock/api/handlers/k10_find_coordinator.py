"""FindCoordinator: which broker looks after a group.

Version 1 brought the type of the key, 4 several keys in one request (KIP-699). Groups are looked
after by this broker. Transactional ids and share groups are refused, with an error that clients do
not try again: both are not supported yet.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.errors import ErrorCode, Refused
from penstock.metadata.records import BrokerRecord
from penstock.wire.messages.k10_find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

GROUP, TRANSACTION, SHARE = 0, 1, 2
MANY_KEYS_SINCE = 4
UNSUPPORTED = {
    TRANSACTION: "transactions are not supported yet",
    SHARE: "share groups are not supported yet",
}


def find_coordinator(
    broker: Broker, request: FindCoordinatorRequest, call: Call
) -> FindCoordinatorResponse:
    found = _coordinator(broker, request.key_type)
    if call.version < MANY_KEYS_SINCE:
        return FindCoordinatorResponse(node_id=found.node_id, host=found.host, port=found.port)
    return FindCoordinatorResponse(
        coordinators=[
            Coordinator(key, found.node_id, found.host, found.port)
            for key in request.coordinator_keys
        ]
    )


def _coordinator(broker: Broker, key_type: int) -> BrokerRecord:
    if key_type != GROUP:
        problem = UNSUPPORTED.get(key_type, f"{key_type} is no type of coordinator")
        raise Refused(ErrorCode.INVALID_REQUEST, problem)
    member = broker.image.brokers.get(broker.node_id)
    if member is None:
        raise Refused(
            ErrorCode.COORDINATOR_NOT_AVAILABLE, "this broker is not registered in the cluster"
        )
    return member.record


def find_coordinator_failed(
    request: FindCoordinatorRequest, code: ErrorCode, message: str
) -> FindCoordinatorResponse:
    if request.coordinator_keys:
        return FindCoordinatorResponse(
            coordinators=[
                Coordinator(key, -1, "", -1, code, message) for key in request.coordinator_keys
            ]
        )
    return FindCoordinatorResponse(error_code=code, error_message=message, node_id=-1, port=-1)
