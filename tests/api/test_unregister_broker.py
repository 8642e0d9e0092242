from __future__ import annotations

from tests.api.desk import NODE_ID, Desk

from penstock.errors import ErrorCode
from penstock.metadata.cluster_changes import join
from penstock.wire.messages.k60_describe_cluster import DescribeClusterRequest
from penstock.wire.messages.k64_unregister_broker import UnregisterBrokerRequest


def fenced(desk: Desk) -> dict[int, bool]:
    answer = desk.ask(DescribeClusterRequest(include_fenced_brokers=True))
    return {each.broker_id: each.is_fenced for each in answer.brokers}


def test_a_broker_that_is_down_is_listed_as_fenced_until_it_is_forgotten(desk: Desk) -> None:
    desk.change(lambda image: join(image, NODE_ID, b""))
    desk.change(lambda image: join(image, 2, b""))
    assert fenced(desk) == {NODE_ID: False, 2: True}
    assert [each.broker_id for each in desk.ask(DescribeClusterRequest()).brokers] == [NODE_ID]
    assert desk.ask(UnregisterBrokerRequest(2)).error_code == 0
    assert fenced(desk) == {NODE_ID: False}


def test_a_broker_that_is_alive_or_unknown_is_not_forgotten(desk: Desk) -> None:
    desk.change(lambda image: join(image, NODE_ID, b""))
    alive = desk.ask(UnregisterBrokerRequest(NODE_ID))
    assert (alive.error_code, "stop it first" in alive.error_message) == (
        ErrorCode.INVALID_REQUEST,
        True,
    )
    assert desk.ask(UnregisterBrokerRequest(7)).error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
