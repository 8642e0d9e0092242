"""Metadata: which topics it makes on the way."""

from __future__ import annotations

from tests.api.desk import Desk

from penstock.errors import ErrorCode
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
