"""Metadata: which topics it makes on the way, and what it says of those that are not there."""

from __future__ import annotations

import pytest
from tests.api.desk import Desk

from penstock.api.handlers import k03_metadata
from penstock.errors import ErrorCode
from penstock.metadata.internal_topics import OFFSETS
from penstock.wire.messages.k03_metadata import MetadataRequest, MetadataRequestTopic


def test_names_of_one_request_that_collide_are_not_both_created(desk: Desk) -> None:
    asked = [MetadataRequestTopic(name=name) for name in ("a_b", "other", "a.b")]
    answer = desk.ask(MetadataRequest(asked, allow_auto_topic_creation=True), 12)
    assert {topic.name: topic.error_code for topic in answer.topics} == {
        "a.b": ErrorCode.NONE,
        "a_b": ErrorCode.INVALID_TOPIC,
        "other": ErrorCode.NONE,
    }
    assert set(desk.image.topics) == {"a.b", "other"}


@pytest.mark.parametrize("version", [10, 11])
def test_asking_by_id_before_that_was_possible_is_refused_for_all(desk: Desk, version: int) -> None:
    topic_id = desk.create("orders")
    asked = [MetadataRequestTopic(topic_id, None), MetadataRequestTopic(name="orders")]
    answer = desk.ask(MetadataRequest(asked), version)
    assert [(topic.name, topic.topic_id, topic.error_code) for topic in answer.topics] == [
        ("", topic_id, ErrorCode.INVALID_REQUEST),
        ("orders", bytes(16), ErrorCode.INVALID_REQUEST),
    ]
    assert len(answer.brokers) == 1
    nothing = [MetadataRequestTopic(bytes(16), None)]
    (topic,) = desk.ask(MetadataRequest(nothing), version).topics
    assert topic.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", [12, 13])
def test_a_topic_is_found_by_its_id(desk: Desk, version: int) -> None:
    topic_id = desk.create("orders", partitions=2)
    (topic,) = desk.ask(MetadataRequest([MetadataRequestTopic(topic_id, None)]), version).topics
    assert (topic.name, topic.error_code, len(topic.partitions)) == ("orders", 0, 2)


def test_one_request_creates_so_many_topics_and_the_next_one_the_rest(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(k03_metadata, "CREATED_MAX", 2)
    asked = MetadataRequest([MetadataRequestTopic(name=name) for name in "abc"])
    codes = [topic.error_code for topic in desk.ask(asked).topics]
    assert codes == [0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert [topic.error_code for topic in desk.ask(asked).topics] == [0, 0, 0]


def test_topics_of_the_brokers_own_are_marked(desk: Desk) -> None:
    desk.create("orders")
    desk.create(OFFSETS)
    topics = desk.ask(MetadataRequest(topics=None)).topics
    assert {topic.name: topic.is_internal for topic in topics} == {"orders": False, OFFSETS: True}
