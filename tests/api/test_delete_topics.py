from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.api.desk import Desk

from penstock.errors import ErrorCode
from penstock.wire.codec import NULL_UUID
from penstock.wire.messages.k20_delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicState,
)


def delete(desk: Desk, *topics: DeleteTopicState) -> list[DeletableTopicResult]:
    results: list[DeletableTopicResult] = desk.ask(DeleteTopicsRequest(list(topics))).responses
    return results


@pytest.mark.parametrize("version", range(1, 6))
def test_topics_are_deleted_by_name(desk: Desk, version: int) -> None:
    desk.create("orders", partitions=3)
    desk.create("kept")
    answer = desk.ask(DeleteTopicsRequest(topic_names=["orders", "unknown"]), version)
    assert [(each.name, each.error_code) for each in answer.responses] == [
        ("orders", ErrorCode.NONE),
        ("unknown", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert set(desk.image.topics) == {"kept"}


def test_a_topic_is_deleted_by_name_or_by_id(desk: Desk) -> None:
    orders, bills = desk.create("orders"), desk.create("bills")
    by_name, by_id = delete(desk, DeleteTopicState("orders"), DeleteTopicState(None, bills))
    assert (by_name.name, by_name.topic_id, by_name.error_code) == ("orders", orders, 0)
    assert (by_id.name, by_id.topic_id, by_id.error_code) == ("bills", bills, 0)
    assert not desk.image.topics
    assert len(desk.commits) == 3, "two to create, one to delete both"


def test_an_id_that_no_topic_has_is_refused(desk: Desk) -> None:
    (result,) = delete(desk, DeleteTopicState(None, b"x" * 16))
    assert (result.name, result.error_code) == (None, ErrorCode.UNKNOWN_TOPIC_ID)
    assert result.topic_id == b"x" * 16


def test_name_and_id_together_or_neither_are_refused(desk: Desk) -> None:
    topic_id = desk.create("orders")
    both, neither = delete(desk, DeleteTopicState("orders", topic_id), DeleteTopicState(None))
    assert both.error_code == neither.error_code == ErrorCode.INVALID_REQUEST
    assert "orders" in desk.image.topics


def test_a_topic_that_comes_twice_is_not_deleted(desk: Desk) -> None:
    desk.create("orders")
    (result,) = delete(desk, DeleteTopicState("orders"), DeleteTopicState("orders"))
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert "orders" in desk.image.topics


def test_a_topic_by_name_and_by_id_in_one_request_is_deleted_once(desk: Desk) -> None:
    topic_id = desk.create("orders")
    results = delete(desk, DeleteTopicState(None, topic_id), DeleteTopicState("orders"))
    assert [each.error_code for each in results] == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    assert not desk.image.topics


@pytest.mark.parametrize(
    ("version", "code"),
    [(2, ErrorCode.INVALID_REQUEST), (5, ErrorCode.TOPIC_DELETION_DISABLED)],
)
def test_nothing_is_deleted_where_that_is_switched_off(
    make_desk: Callable[..., Desk], version: int, code: ErrorCode
) -> None:
    desk = make_desk({"delete.topic.enable": "false"})
    desk.create("orders")
    answer = desk.ask(DeleteTopicsRequest(topic_names=["orders"]), version)
    assert [(each.name, each.error_code) for each in answer.responses] == [("orders", code)]
    assert "orders" in desk.image.topics


def test_a_failure_as_a_whole_is_told_for_every_topic(desk: Desk) -> None:
    request = DeleteTopicsRequest([DeleteTopicState("a"), DeleteTopicState(None, b"y" * 16)])
    call = desk.call(request)
    answer = call.api.failure(call.request, ErrorCode.REQUEST_TIMED_OUT, "no store")
    assert [(each.name, each.topic_id) for each in desk.decoded(answer, 6).responses] == [
        ("a", NULL_UUID),
        (None, b"y" * 16),
    ]
