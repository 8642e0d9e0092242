"""Addresses, versions agreed upon, and what a broken connection is called."""

from __future__ import annotations

import socket
import time
from struct import pack
from typing import cast

import pytest
from tests.client.scripted import MemorySocket, ScriptedBroker, client_of, cluster

from penstock.client.connection import Address, Connection, parse_addresses
from penstock.client.errors import ClientError, Lost, Unreachable
from penstock.errors import ErrorCode
from penstock.wire.messages import ApiKey
from penstock.wire.messages.k03_metadata import MetadataRequest, MetadataResponse
from penstock.wire.messages.k18_api_versions import ApiVersion, ApiVersionsResponse
from penstock.wire.messages.k19_create_topics import CreateTopicsRequest


def connect(broker: ScriptedBroker) -> Connection:
    def dial(address: Address, seconds: float) -> socket.socket:
        return cast(socket.socket, MemorySocket(broker))

    return Connection.open(Address("broker", 1), "test", time.monotonic() + 30, dial)


def test_addresses_are_read_with_their_ports() -> None:
    assert parse_addresses("a:1, [::1]:9092") == [Address("a", 1), Address("::1", 9092)]
    assert str(Address("::1", 9092)) == "[::1]:9092"


@pytest.mark.parametrize("text", ["", "a", "a:", ":9092", "a:x", "a:70000", "a:1,,b:2"])
def test_an_address_without_host_and_port_is_refused(text: str) -> None:
    with pytest.raises(ClientError, match="give HOST:PORT"):
        parse_addresses(text)


def test_the_highest_version_that_both_speak_is_used() -> None:
    connection = connect(ScriptedBroker({ApiKey.METADATA: (0, 99), ApiKey.CREATE_TOPICS: (2, 4)}))
    assert connection.version_of(MetadataRequest) == MetadataRequest.MAX_VERSION
    assert connection.version_of(CreateTopicsRequest) == 4


@pytest.mark.parametrize("versions", [{}, {ApiKey.METADATA: (90, 99)}])
def test_an_api_without_a_common_version_is_refused(
    versions: dict[ApiKey, tuple[int, int]],
) -> None:
    connection = connect(ScriptedBroker({ApiKey.PRODUCE: (3, 9), **versions}))
    with pytest.raises(ClientError, match="has no Metadata that we speak"):
        connection.version_of(MetadataRequest)


def test_a_connection_closed_by_the_broker_is_lost() -> None:
    connection = connect(ScriptedBroker().answers(ApiKey.METADATA, lambda _: None))
    with pytest.raises(Lost) as caught:
        connection.ask(MetadataRequest(), MetadataResponse, time.monotonic() + 30)
    assert caught.value.code is ErrorCode.NETWORK_EXCEPTION
    assert not connection.is_open


def test_a_broker_that_does_not_answer_in_time_is_lost() -> None:
    connection = connect(ScriptedBroker())
    with pytest.raises(Lost) as caught:
        connection.receive(MetadataResponse, time.monotonic() + 30)
    assert caught.value.code is ErrorCode.REQUEST_TIMED_OUT


def test_answers_are_matched_with_requests_in_their_order() -> None:
    broker = ScriptedBroker().answers(ApiKey.METADATA, cluster({0: 1}), cluster({0: 1, 1: 1}))
    connection = connect(broker)
    deadline = time.monotonic() + 30
    connection.send(MetadataRequest(), deadline)
    connection.send(MetadataRequest(), deadline)
    first = connection.receive(MetadataResponse, deadline)
    second = connection.receive(MetadataResponse, deadline)
    assert [len(each.topics[0].partitions) for each in (first, second)] == [1, 2]


class Stranger(MemorySocket):
    """Something else that listens on the port."""

    def sendall(self, data: bytes) -> None:
        self._incoming += b"HTTP/1.1 400 Bad Request\r\n\r\n"


def test_a_listener_that_is_no_broker_is_recognised() -> None:
    def dial(address: Address, seconds: float) -> socket.socket:
        return cast(socket.socket, Stranger(ScriptedBroker()))

    with pytest.raises(ClientError, match="is it a Kafka listener"):
        Connection.open(Address("web", 80), "test", time.monotonic() + 30, dial)


def test_nobody_at_the_address_says_how_to_start_a_broker() -> None:
    down = ScriptedBroker()
    down.is_up = False
    with pytest.raises(Unreachable, match="penstock serve") as caught:
        client_of({1: down}).metadata()
    assert "cannot connect to broker:1 (Connection refused)" in str(caught.value)


class OldBroker(MemorySocket):
    """Knows no flexible ApiVersions: answers whatever is asked in version 0."""

    def sendall(self, data: bytes) -> None:
        answer = ApiVersionsResponse(
            error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[ApiVersion(ApiKey.METADATA, 0, 5)]
        )
        body = data[8:12] + answer.encode(0)
        self._incoming += pack(">i", len(body)) + body


def test_an_older_broker_tells_its_versions_in_the_oldest_form() -> None:
    def dial(address: Address, seconds: float) -> socket.socket:
        return cast(socket.socket, OldBroker(ScriptedBroker()))

    connection = Connection.open(Address("old", 1), "test", time.monotonic() + 30, dial)
    assert connection.version_of(MetadataRequest) == 5


def test_a_connection_that_was_closed_meanwhile_is_noticed_before_something_is_sent() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        connection = Connection(Address("127.0.0.1", 1), ours, "us")
        before = connection.is_hung_up
    assert (before, connection.is_hung_up) == (False, True)
    connection.close()
