"""Answers that are long: nobody else waits for them, and their order stays."""

from __future__ import annotations

import pytest
from tests.broker_process import BrokerProcess
from tests.raw_client import RawClient, frame_of

from penstock.api.slices import SLICE_ELEMENTS
from penstock.errors import ErrorCode
from penstock.wire.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from penstock.wire.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from penstock.wire.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest

PARTITIONS = 10 * SLICE_ELEMENTS


def test_a_long_answer_keeps_its_place_and_is_given_once(broker: BrokerProcess, topic: str) -> None:
    with RawClient(broker.port) as client:
        client.create_topic(topic, PARTITIONS)
        asked = MetadataRequest([MetadataRequestTopic(name=topic)] * 3000)
        ping = ApiVersionsRequest("raw", "1")
        client.send(frame_of(asked, 8, 1) + frame_of(ping, 3, 2) + frame_of(asked, 8, 3))
        first = client.answer_to(MetadataResponse, 8, 1)
        client.answer_to(ApiVersionsResponse, 3, 2)
        again = client.answer_to(MetadataResponse, 8, 3)
    assert [len(each.partitions) for each in first.topics] == [PARTITIONS]
    assert first == again


@pytest.mark.parametrize("version", [10, 11])
def test_asking_by_id_too_early_does_not_close_the_connection(
    broker: BrokerProcess, version: int
) -> None:
    with RawClient(broker.port) as client:
        answer = client.ask(
            MetadataRequest([MetadataRequestTopic(bytes(15) + b"x", None)]), version
        )
        assert [each.error_code for each in answer.topics] == [ErrorCode.INVALID_REQUEST]
        client.ping()


def test_more_topics_than_one_commit_takes_are_created(broker: BrokerProcess, topic: str) -> None:
    names = [f"{topic}-{number}" for number in range(1200)]
    wanted = [CreatableTopic(name, 1, 1) for name in names]
    with RawClient(broker.port) as client:
        answer = client.ask(CreateTopicsRequest(topics=wanted, timeout_ms=30_000), 5)
        assert [each.name for each in answer.topics] == names
        assert {each.error_code for each in answer.topics} == {ErrorCode.NONE}
        asked = [MetadataRequestTopic(name=name) for name in names]
        known = client.ask(MetadataRequest(asked, allow_auto_topic_creation=False), 8)
    assert {each.error_code for each in known.topics} == {ErrorCode.NONE}
