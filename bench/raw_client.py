"""A load generator that costs next to nothing: frames made beforehand, answers counted as bytes."""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Self

from penstock.wire.batch_builder import build_batch
from penstock.wire.codec import Message, decode_response, encode_request
from penstock.wire.messages import message_types
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from penstock.wire.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from penstock.wire.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from penstock.wire.messages.k20_delete_topics import DeleteTopicsRequest
from penstock.wire.records import Record

PRODUCE_VERSION, FETCH_VERSION, CREATE_VERSION, DELETE_VERSION = 9, 11, 5, 5


def join(parts: Sequence[object]) -> bytes:
    return b"".join(bytes(part) for part in parts)  # type: ignore[call-overload]


def batch_of(records: int, value_bytes: int) -> bytes:
    value = bytes(range(256)) * (value_bytes // 256) + bytes(value_bytes % 256)
    return bytes(build_batch([Record(n, 1_700_000_000_000, None, value) for n in range(records)]))


def produce_frame(topic: str, partition: int, batch: bytes, acks: int) -> bytes:
    request = ProduceRequest(
        acks=acks,
        timeout_ms=30_000,
        topic_data=[
            TopicProduceData(topic, partition_data=[PartitionProduceData(partition, batch)])
        ],
    )
    return join(encode_request(request, PRODUCE_VERSION, 1, "bench"))


def fetch_frame(topic: str, offset: int, max_bytes: int, wait_ms: int = 0) -> bytes:
    partition = FetchPartition(0, fetch_offset=offset, partition_max_bytes=max_bytes)
    request = FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        session_epoch=-1,
        topics=[FetchTopic(topic, partitions=[partition])],
    )
    return join(encode_request(request, FETCH_VERSION, 1, "bench"))


class RawClient:
    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(self, message: Message, version: int) -> Any:
        frame = join(encode_request(message, version, 1, "bench"))
        return decode_response(message_types(message.KEY)[1], self.ask(frame), version)[1]

    def ask(self, frame: bytes) -> bytes:
        """Send one request, return its answer without the length."""
        self.socket.sendall(frame)
        return self.answer()

    def answer(self) -> bytes:
        (length,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(length)

    def _exactly(self, count: int) -> bytes:
        data = bytearray(count)
        view = memoryview(data)
        while view:
            got = self.socket.recv_into(view)
            if not got:
                raise ConnectionError("the broker closed the connection")
            view = view[got:]
        return bytes(data)

    def await_taken(self, frame: bytes) -> None:
        """Until the broker knows that it leads the partition."""
        kind: Any = message_types(0)[1]
        error = -1
        while error:
            answer: Any = decode_response(kind, self.ask(frame), PRODUCE_VERSION)[1]
            error = answer.responses[0].partition_responses[0].error_code

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        replicas: int = 1,
    ) -> None:
        settings = [CreatableTopicConfig(key, value) for key, value in (configs or {}).items()]
        topic = CreatableTopic(name, partitions, replicas, configs=settings)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=60_000)
        answer = self.request(request, CREATE_VERSION)
        assert answer.topics[0].error_code == 0, answer

    def delete_topic(self, name: str) -> None:
        request = DeleteTopicsRequest(topic_names=[name], timeout_ms=30_000)
        answer = self.request(request, DELETE_VERSION)
        assert answer.responses[0].error_code == 0, answer

    def pipeline(self, frame: bytes, total: int, window: int, at_once: int) -> None:
        """Send a request so often, with at most `window` answers outstanding."""
        size = len(self.ask(frame)) + 4
        many = frame * at_once
        scratch = bytearray(1 << 20)
        sent = answered = 0
        self.socket.setblocking(False)
        unsent = memoryview(b"")
        while answered < total * size:
            if not unsent and sent < total and sent - answered // size + at_once <= window:
                unsent = memoryview(many)
                sent += at_once
            readable, writable, _ = select.select(
                [self.socket], [self.socket] if unsent else [], [], 30
            )
            if not readable and not writable:
                raise TimeoutError("the broker has stopped answering")
            if writable:
                unsent = unsent[self.socket.send(unsent) :]
            if readable:
                got = self.socket.recv_into(scratch)
                if not got:
                    raise ConnectionError("the broker closed the connection")
                answered += got
        self.socket.setblocking(True)
