"""The short way of reading and answering one-partition requests, held against the messages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import Malformed
from penstock.wire.codec import encode_request, encode_response, request_header
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from penstock.wire.single_produce import (
    HIGHEST,
    LOWEST,
    TOPIC_IDS_SINCE,
    answer_single,
    read_single,
    with_error,
)

VERSIONS = st.integers(LOWEST, HIGHEST)
NAMES = st.text(max_size=40)
INT16, INT32, INT64 = (
    st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (16, 32, 64)
)


def joined(parts: list[Any]) -> bytes:
    return b"".join(map(bytes, parts))


def a_request(
    version: int, topic: str = "news", topic_id: bytes = b"i" * 16, **more: Any
) -> ProduceRequest:
    part = PartitionProduceData(more.pop("partition", 0), more.pop("batch", b"batch"))
    by_id = version >= TOPIC_IDS_SINCE
    data = TopicProduceData(
        "" if by_id else topic, topic_id if by_id else bytes(16), partition_data=[part]
    )
    return ProduceRequest(**{"acks": -1, "timeout_ms": 1000, **more}, topic_data=[data])


def frame(
    request: ProduceRequest, version: int, number: int = 1, client_id: str | None = "client"
) -> memoryview:
    return memoryview(joined(encode_request(request, version, number, client_id)))[4:]


@given(
    version=VERSIONS,
    number=INT32,
    client_id=st.none() | NAMES,
    topic=st.text(max_size=30),
    topic_id=st.binary(min_size=16, max_size=16),
    partition=INT32,
    acks=st.sampled_from([1, -1]),
    timeout_ms=INT32,
    batch=st.binary(max_size=400),
    transaction=st.text(max_size=30),
)
def test_what_is_read_is_what_the_messages_read(
    version: int,
    number: int,
    client_id: str | None,
    topic: str,
    topic_id: bytes,
    partition: int,
    acks: int,
    timeout_ms: int,
    batch: bytes,
    transaction: str,
) -> None:
    request = a_request(
        version,
        topic,
        topic_id,
        partition=partition,
        batch=batch,
        acks=acks,
        timeout_ms=timeout_ms,
        transactional_id=transaction or None,
    )
    found = read_single(frame(request, version, number, client_id))
    assert found is not None
    expected_topic = topic_id if version >= TOPIC_IDS_SINCE else topic.encode()
    assert found._replace(batch=memoryview(b"")) == (
        *(acks, timeout_ms, version, number, expected_topic, partition, memoryview(b"")),
        transaction,
    )
    assert found.batch == batch


@given(frame_=st.binary(max_size=200))
def test_any_bytes_are_read_or_left_alone(frame_: bytes) -> None:
    read_single(memoryview(frame_))


@given(
    version=VERSIONS,
    position=st.integers(0, 80),
    byte=st.integers(0, 255),
    transaction=st.sampled_from([None, "billing"]),
)
def test_a_request_with_one_byte_changed_is_read_as_the_messages_read_it_or_left_alone(
    version: int, position: int, byte: int, transaction: str | None
) -> None:
    data = bytearray(frame(a_request(version, transactional_id=transaction), version))
    data[position % len(data)] = byte
    found = read_single(memoryview(data))
    if found is None:
        return
    try:
        header, at = request_header(data)
        request = ProduceRequest.decode(memoryview(data), header.api_version, at)
    except Malformed as malformed:  # names that are no text are left for others to notice
        if "utf-8" not in str(malformed):
            raise
        return
    (topic,) = request.topic_data
    (part,) = topic.partition_data
    assert (header.api_version, header.correlation_id) == (found.version, found.correlation_id)
    assert (request.acks, request.timeout_ms) == (found.acks, found.timeout_ms)
    assert (request.transactional_id or "") == found.transaction
    assert found.topic in (topic.name.encode(), topic.topic_id)
    assert (part.index, part.records) == (found.partition, found.batch)


@given(version=VERSIONS, transaction=st.sampled_from([None, "billing"]), data=st.data())
def test_a_request_that_is_cut_short_is_left_alone(
    version: int, transaction: str | None, data: st.DataObject
) -> None:
    whole = frame(a_request(version, transactional_id=transaction), version)
    assert read_single(whole[: data.draw(st.integers(0, len(whole) - 1))]) is None


@pytest.mark.parametrize("version", range(LOWEST, HIGHEST + 1))
def test_what_is_not_as_usual_is_left_to_the_messages(version: int) -> None:
    two_topics, two_partitions, no_topic = (a_request(version) for _ in range(3))
    two_topics.topic_data *= 2
    two_partitions.topic_data[0].partition_data *= 2
    no_topic.topic_data = []
    odd = [
        *(two_topics, two_partitions, no_topic),
        a_request(version, acks=0),
        a_request(version, acks=5),
        a_request(version, transactional_id="t" * 200, acks=0),
        a_request(version, transactional_id=""),
        a_request(version, batch=None),
    ]
    assert [read_single(frame(request, version)) for request in odd] == [None] * len(odd)
    usual = frame(a_request(version), version)
    assert read_single(usual) is not None
    assert read_single(memoryview(bytes(usual) + b"\0")) is None


@pytest.mark.parametrize("version", [0, 1, 2, HIGHEST + 1, -1])
def test_other_versions_are_left_alone(version: int) -> None:
    data = bytearray(frame(a_request(9), 9))
    data[2:4] = version.to_bytes(2, "big", signed=True)
    assert read_single(memoryview(data)) is None


@pytest.mark.parametrize("length", [-2, -(2**15), 2**15 - 1])
def test_a_client_id_of_an_absurd_length_is_left_alone(length: int) -> None:
    data = bytearray(frame(a_request(9), 9, client_id=""))
    data[8:10] = length.to_bytes(2, "big", signed=True)
    assert read_single(memoryview(data)) is None


@given(
    version=VERSIONS,
    number=INT32,
    topic=st.text(max_size=30),
    topic_id=st.binary(min_size=16, max_size=16),
    partition=INT32,
    offset=INT64,
    time_ms=INT64,
    start=INT64,
    code=INT16,
)
def test_what_is_answered_is_what_the_messages_answer(
    version: int,
    number: int,
    topic: str,
    topic_id: bytes,
    partition: int,
    offset: int,
    time_ms: int,
    start: int,
    code: int,
) -> None:
    request = a_request(version, topic, topic_id, partition=partition)
    asked = read_single(frame(request, version, number))
    assert asked is not None
    by_id = version >= TOPIC_IDS_SINCE
    for error in (0, code):
        part = PartitionProduceResponse(
            partition, error, offset, time_ms, start if version >= 5 else -1
        )
        answer = ProduceResponse(
            [TopicProduceResponse("" if by_id else topic, topic_id if by_id else bytes(16), [part])]
        )
        expected = joined(encode_response(answer, version, number))
        assert answer_single(asked, offset, time_ms, start, error) == expected
        good = answer_single(asked, offset, time_ms, start)
        assert with_error(good, version, error) == expected
