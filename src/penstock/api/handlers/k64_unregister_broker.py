"""UnregisterBroker: a broker that the cluster is to count on no more.

It must be down and hold no replicas, or they would be lost sight of.
"""

from __future__ import annotations

from functools import partial

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Change, Outcome
from penstock.metadata.cluster_changes import remove_member
from penstock.wire.messages.k64_unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)


def unregister_broker(
    broker: Broker, request: UnregisterBrokerRequest, call: Call
) -> Outcome[UnregisterBrokerResponse]:
    return Change(
        partial(remove_member, node_id=request.broker_id), lambda _: UnregisterBrokerResponse()
    )
