"""DescribeCluster: the cluster's id and its brokers.

Version 1 brought endpoint types (KIP-919): every endpoint of ours is a broker's. Version 2 asks for
fenced brokers too; a broker that is not alive has no registration, so there are none to list.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k60_describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS, CONTROLLERS = 1, 2


def describe_cluster(
    broker: Broker, request: DescribeClusterRequest, call: Call
) -> DescribeClusterResponse:
    if request.endpoint_type == CONTROLLERS:
        raise Refused(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE, "this is a broker's endpoint, not a controller's"
        )
    if request.endpoint_type != BROKERS:
        raise Refused(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"{request.endpoint_type} is no type of endpoint"
        )
    members = sorted(broker.image.brokers.items())
    return DescribeClusterResponse(
        cluster_id=broker.image.cluster_id,
        controller_id=broker.controller_id,
        brokers=[
            DescribeClusterBroker(
                node_id, member.record.host, member.record.port, member.record.rack or None
            )
            for node_id, member in members
        ],
    )
