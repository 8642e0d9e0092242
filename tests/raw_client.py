"""A client without manners: sends any bytes, whole requests or not, and shows what comes back."""

from __future__ import annotations

import itertools
import socket
import struct
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from penstock.api.table import APIS
from penstock.wire.batch_builder import build_batch
from penstock.wire.codec import Message, decode_response, encode_request
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from penstock.wire.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from penstock.wire.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from penstock.wire.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from penstock.wire.records import Record

R = TypeVar("R", bound=Message)

PRODUCE_VERSION, FETCH_VERSION, CREATE_VERSION = 9, 11, 5
NOW_MS = 1_700_000_000_000
TIMEOUT_SECONDS = 60


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def frame_of(request: Message, version: int, correlation_id: int = 1) -> bytes:
    parts: Sequence[Any] = encode_request(request, version, correlation_id, "raw")
    return b"".join(map(bytes, parts))


def a_batch(*values: bytes, at_ms: int = NOW_MS, **more: Any) -> bytes:
    records = [Record(number, at_ms, b"key", value) for number, value in enumerate(values)]
    return bytes(build_batch(records, **more))


def produce_of(
    topic: str,
    batch: bytes | None,
    *,
    acks: int = -1,
    partition: int = 0,
    topic_id: bytes = bytes(16),
    timeout_ms: int = 30_000,
) -> ProduceRequest:
    data = PartitionProduceData(partition, batch)
    return ProduceRequest(
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[TopicProduceData(topic, topic_id, partition_data=[data])],
    )


def fetch_of(
    topic: str,
    offset: int = 0,
    *,
    partition: int = 0,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 26,
    leader_epoch: int = -1,
) -> FetchRequest:
    wanted = FetchPartition(
        partition,
        current_leader_epoch=leader_epoch,
        fetch_offset=offset,
        partition_max_bytes=max_bytes,
    )
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_epoch=-1,
        topics=[FetchTopic(topic, partitions=[wanted])],
    )


def partition_of(answer: FetchResponse) -> PartitionData:
    return answer.responses[0].partitions[0]


class RawClient:
    def __init__(self, port: int, *, receive_buffer: int | None = None) -> None:
        self._numbers = itertools.count(1)
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(TIMEOUT_SECONDS)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    # -- bytes

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self) -> bytes:
        """The next answer, without its length."""
        return self._exactly(struct.unpack(">i", self._exactly(4))[0])

    def _exactly(self, count: int) -> bytes:
        data = bytearray(count)
        view = memoryview(data)
        while view:
            got = self.socket.recv_into(view)
            if not got:
                raise ConnectionError("the broker closed the connection")
            view = view[got:]
        return bytes(data)

    def is_closed_by_broker(self) -> bool:
        """Waits for that; False when an answer comes instead."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    # -- requests

    def ask(self, request: Message, version: int | None = None) -> Any:
        """The answer to one request, by default in the highest version."""
        api = APIS[request.KEY]
        version = api.versions.max if version is None else version
        number = next(self._numbers)
        self.send(frame_of(request, version, number))
        return self.answer_to(api.response, version, number)

    def answer_to(self, kind: type[R], version: int, number: int | None = None) -> R:
        found, answer = decode_response(kind, self.receive(), version)
        assert number in (None, found), "an answer to another request"
        return answer

    def ping(self) -> None:
        """The broker serves this connection."""
        answer: ApiVersionsResponse = self.ask(ApiVersionsRequest("raw", "1"), 3)
        assert answer.error_code == 0

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> None:
        """Settings are given with underscores in place of dots."""
        settings = [CreatableTopicConfig(k.replace("_", "."), v) for k, v in configs.items()]
        topic = CreatableTopic(name, partitions, 1, configs=settings)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=30_000)
        answer: CreateTopicsResponse = self.ask(request, CREATE_VERSION)
        assert answer.topics[0].error_code == 0, answer

    def produce(
        self, topic: str, batch: bytes | None, version: int = PRODUCE_VERSION, **more: Any
    ) -> PartitionProduceResponse:
        answer: ProduceResponse = self.ask(produce_of(topic, batch, **more), version)
        return answer.responses[0].partition_responses[0]

    def fetch(
        self, topic: str, offset: int = 0, version: int = FETCH_VERSION, **more: Any
    ) -> PartitionData:
        return partition_of(self.ask(fetch_of(topic, offset, **more), version))

    def end_of(self, topic: str) -> int:
        """The offset that the next record gets."""
        return self.fetch(topic, 0).high_watermark
