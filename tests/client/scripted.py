"""Brokers that answer as a test says, behind sockets that are only memory."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from penstock.client.cluster import WireClient
from penstock.client.connection import Address
from penstock.wire.codec import Message, encode_response, request_header
from penstock.wire.messages import APIS, ApiKey, message_types
from penstock.wire.messages.k03_metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from penstock.wire.messages.k18_api_versions import ApiVersion, ApiVersionsResponse

Answer = Callable[[Any], Message | None]
"""Given the request; None closes the connection instead of answering."""

TOPIC_ID = bytes(range(16))


class ScriptedBroker:
    """Answers each API by the next of its script, the last one for ever."""

    def __init__(self, versions: dict[ApiKey, tuple[int, int]] | None = None) -> None:
        self.versions = versions or {
            ApiKey(key): (api.min_version, api.max_version) for key, api in APIS.items()
        }
        self.script: dict[ApiKey, deque[Answer]] = {}
        self.requests: list[Any] = []
        self.is_up = True

    def answers(self, key: ApiKey, *answers: Answer) -> ScriptedBroker:
        self.script[key] = deque(answers)
        return self

    def asked(self, kind: type[Message]) -> list[Any]:
        return [each for each in self.requests if isinstance(each, kind)]

    def answer(self, request: Any) -> Message | None:
        self.requests.append(request)
        if request.KEY == ApiKey.API_VERSIONS and ApiKey.API_VERSIONS not in self.script:
            rows = [ApiVersion(key, low, high) for key, (low, high) in self.versions.items()]
            return ApiVersionsResponse(api_keys=rows)
        script = self.script[ApiKey(request.KEY)]
        return (script.popleft() if len(script) > 1 else script[0])(request)


class MemorySocket:
    """What a client's connection needs of a socket; answers are there as soon as it has sent."""

    def __init__(self, broker: ScriptedBroker) -> None:
        self._broker = broker
        self._incoming = bytearray()
        self._is_closed = False

    def settimeout(self, seconds: float) -> None:
        assert seconds >= 0

    def sendall(self, data: bytes) -> None:
        if self._is_closed or not self._broker.is_up:
            raise ConnectionResetError(104, "Connection reset by peer")
        header, at = request_header(memoryview(data)[4:])
        kind = message_types(ApiKey(header.api_key))[0]
        request = kind.decode(memoryview(data)[4:], header.api_version, at)
        answer = self._broker.answer(request)
        if answer is None:
            self._is_closed = True
        elif getattr(request, "acks", None) != 0:
            parts = encode_response(answer, header.api_version, header.correlation_id)
            self._incoming += b"".join(cast("list[bytes]", parts))

    def recv_into(self, space: memoryview) -> int:
        if not self._incoming and not self._is_closed:
            raise TimeoutError
        count = min(len(space), len(self._incoming))
        space[:count] = self._incoming[:count]
        del self._incoming[:count]
        return count

    def recv(self, count: int, flags: int = 0) -> bytes:
        """Nothing comes before something is asked, which is all that a peek is to find out."""
        if flags or not (self._incoming or self._is_closed):
            raise BlockingIOError
        data = bytes(self._incoming[:count])
        del self._incoming[:count]
        return data

    def close(self) -> None:
        self._is_closed = True


def client_of(brokers: dict[int, ScriptedBroker], timeout_s: float = 30.0) -> WireClient:
    """A client of brokers that listen at ports of their own numbers; it never really waits."""

    def dial(address: Address, seconds: float) -> socket.socket:
        broker = brokers.get(address.port)
        if broker is None or not broker.is_up:
            raise ConnectionRefusedError(111, "Connection refused")
        return cast(socket.socket, MemorySocket(broker))

    bootstrap = ",".join(f"broker:{port}" for port in brokers)
    return WireClient(bootstrap, timeout_s=timeout_s, dial=dial, sleep=lambda _: None)


def cluster(
    leaders: dict[int, int],
    brokers: tuple[int, ...] = (1,),
    code: int = 0,
    open_partitions: int = -1,
) -> Answer:
    """Metadata of one topic `t` whose partitions are led so."""

    def answer(request: Any) -> MetadataResponse:
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node, "broker", node) for node in brokers],
            cluster_id="c",
            controller_id=brokers[0],
            topics=[
                MetadataResponseTopic(
                    name="t",
                    error_code=code,
                    topic_id=TOPIC_ID,
                    partitions=[
                        MetadataResponsePartition(
                            partition_index=index,
                            leader_id=leader,
                            leader_epoch=0,
                            replica_nodes=list(brokers),
                            isr_nodes=list(brokers),
                        )
                        for index, leader in leaders.items()
                    ],
                    open_partitions=open_partitions,
                )
            ],
        )

    return answer
