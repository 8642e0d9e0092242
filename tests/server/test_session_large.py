"""Requests that take long to decode: that is done off the loop, and changes nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.raw_client import a_batch, frame_of, produce_of
from tests.server.house import House

from penstock.api.dispatch import ELEMENTS_AT_ONCE_MAX, ELEMENTS_MAX, PARTITIONS_AT_ONCE_MAX
from penstock.server import decoding
from penstock.wire.codec import decode_response
from penstock.wire.messages.k00_produce import TopicProduceData
from penstock.wire.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from penstock.wire.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from penstock.wire.messages.k18_api_versions import ApiVersionsRequest

VERSION = 9
FETCH_VERSION = 11


def asking_for(count: int) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=f"topic-{number:06}") for number in range(count)]
    return MetadataRequest(topics, allow_auto_topic_creation=False)


async def test_a_large_request_is_answered_in_its_turn(house: House) -> None:
    """The buffer that it came in is used by others meanwhile."""
    connection, other = house.connect(), house.connect()
    small = frame_of(ApiVersionsRequest(), 3)
    large = frame_of(asking_for(ELEMENTS_AT_ONCE_MAX + 1), VERSION)
    connection.give(small + large + small)
    other.give(small + frame_of(asking_for(3_000), VERSION))
    answers = await house.receive(connection, 3)
    _, told = decode_response(MetadataResponse, answers[1], VERSION)
    assert [topic.name for topic in told.topics] == [
        f"topic-{number:06}" for number in range(ELEMENTS_AT_ONCE_MAX + 1)
    ]
    assert answers[0] == answers[2]


async def test_others_are_served_while_a_large_request_is_decoded(house: House) -> None:
    connection, other = house.connect(), house.connect()
    connection.give(frame_of(asking_for(ELEMENTS_AT_ONCE_MAX + 1), VERSION))
    assert not connection.answers()
    other.give(frame_of(ApiVersionsRequest(), 3))
    assert other.answers()
    await house.receive(connection, 1)


async def test_a_large_request_that_is_too_large_ends_its_connection(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    connection = house.connect()
    connection.give(frame_of(asking_for(ELEMENTS_MAX + 1), VERSION))
    assert not connection.is_closed
    await house.settle(lambda: connection.is_closed)
    assert f"{ELEMENTS_MAX} are the limit" in caplog.text
    assert await house.ask(house.connect(), ApiVersionsRequest(), 3)


async def test_who_leaves_while_its_request_is_decoded_leaves_nothing_behind(house: House) -> None:
    connection = house.connect()
    connection.give(frame_of(asking_for(ELEMENTS_AT_ONCE_MAX + 1), VERSION))
    house.session_of(connection).close()
    assert await house.ask(house.connect(), asking_for(ELEMENTS_AT_ONCE_MAX + 1), VERSION)
    assert house.door.connections == 1


async def test_a_produce_request_with_many_empty_topics_is_carried_out(house: House) -> None:
    """It is decoded off the loop, and its batch gets its offset where it lies."""
    house.desk.create("news")
    request = produce_of("news", a_batch(b"value"), acks=1)
    empty = [TopicProduceData(f"topic-{each}", partition_data=[]) for each in range(6_000)]
    request.topic_data += empty
    answer = await house.ask(house.connect(), request, VERSION)
    assert answer.responses[0].partition_responses[0].error_code == 0
    assert house.broker.leader("news", 0).log.end_offset == 1


def fetching(count: int, session_epoch: int = -1) -> FetchRequest:
    topics = [
        FetchTopic(f"topic-{number:06}", partitions=[FetchPartition(0)]) for number in range(count)
    ]
    return FetchRequest(max_wait_ms=0, min_bytes=1, session_epoch=session_epoch, topics=topics)


@pytest.mark.parametrize("session_epoch", [-1, 0])
async def test_a_long_answer_to_a_fetch_is_encoded_off_the_loop_and_comes_in_its_turn(
    house: House, session_epoch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    offload, works = house.disk.offload_large, []

    def noting(work: Any) -> Any:
        works.append(work)
        return offload(work)

    monkeypatch.setattr(house.disk, "offload_large", noting)
    connection, small = house.connect(), frame_of(ApiVersionsRequest(), 3)
    count = PARTITIONS_AT_ONCE_MAX + 1
    connection.give(small + frame_of(fetching(count, session_epoch), FETCH_VERSION) + small)
    answers = await house.receive(connection, 3)
    _, told = decode_response(FetchResponse, answers[1], FETCH_VERSION)
    assert [topic.topic for topic in told.responses] == [
        f"topic-{number:06}" for number in range(count)
    ]
    assert (told.session_id != 0) == (session_epoch == 0)
    assert answers[0] == answers[2]
    assert works


async def test_who_leaves_while_its_answer_is_encoded_leaves_nothing_behind(house: House) -> None:
    connection = house.connect()
    connection.give(frame_of(fetching(PARTITIONS_AT_ONCE_MAX + 1), FETCH_VERSION))
    await asyncio.sleep(0)
    house.session_of(connection).close()
    assert await house.ask(house.connect(), fetching(PARTITIONS_AT_ONCE_MAX + 1), FETCH_VERSION)
    assert house.door.connections == 1


async def test_a_crowd_of_large_requests_is_not_kept_in_memory(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "WAITING_MAX", 1)
    offload, works = house.disk.offload_large, []

    def noting(work: Any) -> Any:
        works.append(work)
        return offload(work)

    monkeypatch.setattr(house.disk, "offload_large", noting)
    large = frame_of(asking_for(ELEMENTS_AT_ONCE_MAX + 1), VERSION)
    connections = [house.connect() for _ in range(3)]
    for connection in connections:
        connection.give(large)
        await asyncio.sleep(0)
    answers = [await house.receive(connection, 1) for connection in connections]
    assert answers[0] == answers[1] == answers[2]
    assert len(works) == 1, "the others are decoded on the loop"
