"""DescribeCluster: the cluster's id and its brokers.

Version 1 brought endpoint types (KIP-919): every endpoint of ours is a broker's. Version 2 asks for
fenced brokers too (KIP-1073): those that belong to the cluster and are not alive. Nobody knows
where they will be next, so they have no address.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.errors import ErrorCode, Refused
from penstock.metadata.image import Image
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
    brokers = _alive(broker.image)
    if request.include_fenced_brokers:
        brokers |= _down(broker.image)
    return DescribeClusterResponse(
        cluster_id=broker.image.cluster_id,
        controller_id=broker.controller_id,
        brokers=[brokers[node_id] for node_id in sorted(brokers)],
    )


def _alive(image: Image) -> dict[int, DescribeClusterBroker]:
    return {
        node_id: DescribeClusterBroker(
            node_id, member.record.host, member.record.port, member.record.rack or None
        )
        for node_id, member in image.brokers.items()
    }


def _down(image: Image) -> dict[int, DescribeClusterBroker]:
    return {
        node_id: DescribeClusterBroker(node_id, host="", port=-1, is_fenced=True)
        for node_id, member in image.members.items()
        if node_id not in image.brokers and not member.record.is_gone
    }
