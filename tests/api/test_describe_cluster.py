from __future__ import annotations

import pytest
from tests.api.desk import CLUSTER_ID, Desk

from penstock.errors import ErrorCode
from penstock.wire.messages.k60_describe_cluster import DescribeClusterRequest


@pytest.mark.parametrize("version", range(3))
def test_the_cluster_and_its_brokers_are_described(desk: Desk, version: int) -> None:
    desk.register(3, host="third.test", rack="r3")
    answer = desk.ask(DescribeClusterRequest(), version)
    assert (answer.error_code, answer.cluster_id, answer.controller_id) == (0, CLUSTER_ID, 1)
    assert [(each.broker_id, each.host, each.port, each.rack) for each in answer.brokers] == [
        (1, "broker.test", 9092, None),
        (3, "third.test", 9092, "r3"),
    ]


@pytest.mark.parametrize(
    ("endpoint_type", "code"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (7, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
def test_only_endpoints_of_brokers_are_known(
    desk: Desk, endpoint_type: int, code: ErrorCode
) -> None:
    answer = desk.ask(DescribeClusterRequest(endpoint_type=endpoint_type))
    assert answer.error_code == code
    assert answer.error_message
