"""Incremental fetch sessions (KIP-227)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.api.desk import NOW_MS, Desk

from penstock.api import fetch_sessions
from penstock.api.fetch_sessions import EPOCH_MAX, SAFE_FROM_EVICTION_MS
from penstock.api.outcome import Later
from penstock.errors import ErrorCode
from penstock.wire.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)

BY_NAME, BY_ID = 12, 13


def a_fetch(
    session_id: int,
    epoch: int,
    topics: dict[str, dict[int, int]] | None = None,
    forgotten: dict[str, list[int]] | None = None,
    **more: Any,
) -> FetchRequest:
    """Topics by name, with the offsets that are wanted by partition."""
    return FetchRequest(
        max_wait_ms=more.pop("max_wait_ms", 0),
        max_bytes=more.pop("max_bytes", 1 << 20),
        session_id=session_id,
        session_epoch=epoch,
        topics=[
            FetchTopic(
                name,
                partitions=[
                    FetchPartition(index, fetch_offset=offset, partition_max_bytes=1 << 20)
                    for index, offset in offsets.items()
                ],
            )
            for name, offsets in (topics or {}).items()
        ],
        forgotten_topics_data=[
            ForgottenTopic(name, partitions=indexes) for name, indexes in (forgotten or {}).items()
        ],
        **more,
    )


def partitions_in(answer: FetchResponse) -> list[tuple[str, int]]:
    return [
        (topic.topic, part.partition_index)
        for topic in answer.responses
        for part in topic.partitions
    ]


@pytest.fixture
def desk(make_desk: Callable[..., Desk]) -> Desk:
    desk: Desk = make_desk()
    for name in ("a", "b"):
        desk.create(name, 2)
        desk.append(name)
    return desk


EVERYTHING = {"a": {0: 0, 1: 0}, "b": {0: 0, 1: 0}}


def begun(desk: Desk) -> int:
    answer = desk.ask(a_fetch(0, 0, EVERYTHING), BY_NAME)
    assert answer.session_id > 0
    return int(answer.session_id)


def test_a_full_fetch_names_every_partition_and_begins_a_session(desk: Desk) -> None:
    answer = desk.ask(a_fetch(0, 0, EVERYTHING), BY_NAME)
    assert partitions_in(answer) == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert answer.session_id > 0


def test_a_final_fetch_is_answered_without_a_session_and_ends_the_one_named(desk: Desk) -> None:
    session_id = begun(desk)
    answer = desk.ask(a_fetch(session_id, -1, {"a": {0: 0}}), BY_NAME)
    assert (partitions_in(answer), answer.session_id) == ([("a", 0)], 0)
    gone = desk.ask(a_fetch(session_id, 1), BY_NAME)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_partitions_without_news_are_left_out(desk: Desk) -> None:
    session_id = begun(desk)
    read_on = a_fetch(session_id, 1, {"a": {0: 1}, "b": {0: 1}})
    assert partitions_in(desk.ask(read_on, BY_NAME)) == []
    desk.append("b", 1)
    answer = desk.ask(a_fetch(session_id, 2), BY_NAME)
    assert (partitions_in(answer), answer.session_id) == ([("b", 1)], session_id)


def test_a_moved_log_start_is_news(desk: Desk) -> None:
    session_id = begun(desk)
    desk.ask(a_fetch(session_id, 1, {"a": {0: 1}, "b": {0: 1}}), BY_NAME)
    desk.broker.advance_start(desk.broker.leader("a", 0), 1)
    assert partitions_in(desk.ask(a_fetch(session_id, 2), BY_NAME)) == [("a", 0)]
    assert partitions_in(desk.ask(a_fetch(session_id, 3), BY_NAME)) == []


def test_an_error_is_said_again_until_the_partition_is_forgotten(desk: Desk) -> None:
    session_id = begun(desk)
    out_of_range = {"a": {0: 99}, "b": {0: 1}}
    assert partitions_in(desk.ask(a_fetch(session_id, 1, out_of_range), BY_NAME)) == [("a", 0)]
    assert partitions_in(desk.ask(a_fetch(session_id, 2), BY_NAME)) == [("a", 0)]
    answer = desk.ask(a_fetch(session_id, 3, forgotten={"a": [0]}), BY_NAME)
    assert partitions_in(answer) == []


def test_a_partition_that_is_named_and_forgotten_at_once_is_gone(desk: Desk) -> None:
    session_id = begun(desk)
    answer = desk.ask(a_fetch(session_id, 1, {"a": {0: 0}, "b": {0: 1}}, {"a": [0]}), BY_NAME)
    assert partitions_in(answer) == []
    desk.append("a")
    assert partitions_in(desk.ask(a_fetch(session_id, 2), BY_NAME)) == []


def test_a_partition_that_is_added_is_answered_for_at_once(desk: Desk) -> None:
    answer = desk.ask(a_fetch(0, 0, {"a": {1: 0}}), BY_NAME)
    more = desk.ask(a_fetch(answer.session_id, 1, {"b": {1: 0}}), BY_NAME)
    assert partitions_in(more) == [("b", 1)]


def test_partitions_that_gave_data_come_last_the_next_time(desk: Desk) -> None:
    session_id = begun(desk)
    for name in ("a", "b"):
        desk.append(name, 1)
    first = desk.ask(a_fetch(session_id, 1, {"a": {0: 0}, "b": {0: 0}}, max_bytes=1), BY_NAME)
    with_data = [
        (topic.topic, part.partition_index)
        for topic in first.responses
        for part in topic.partitions
        if part.records
    ]
    assert with_data != []
    order = list(desk.broker.fetch_sessions._sessions[session_id].partitions)
    assert [key[0::2] for key in order[-len(with_data) :]] == with_data
    second = desk.ask(a_fetch(session_id, 2, max_bytes=1), BY_NAME)
    (chosen,) = [
        (topic.topic, part.partition_index)
        for topic in second.responses
        for part in topic.partitions
        if part.records
    ]
    assert chosen not in with_data


@pytest.mark.parametrize(
    ("session_off", "epoch", "code"),
    [
        (0, 2, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (0, EPOCH_MAX, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (1, 1, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
    ],
)
def test_a_wrong_epoch_or_id_is_refused_and_changes_nothing(
    desk: Desk, session_off: int, epoch: int, code: ErrorCode
) -> None:
    session_id = begun(desk)
    request = a_fetch(session_id + session_off, epoch, forgotten={"a": [0, 1]})
    assert desk.ask(request, BY_NAME).error_code == code
    assert partitions_in(desk.ask(a_fetch(session_id, 1), BY_NAME)) == [("a", 0), ("b", 0)]


def test_an_epoch_does_not_work_twice(desk: Desk) -> None:
    session_id = begun(desk)
    assert desk.ask(a_fetch(session_id, 1), BY_NAME).error_code == 0
    again = desk.ask(a_fetch(session_id, 1), BY_NAME)
    assert again.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_epochs_go_round_from_the_largest_to_one(desk: Desk) -> None:
    session_id = begun(desk)
    desk.broker.fetch_sessions._sessions[session_id].epoch = EPOCH_MAX
    assert desk.ask(a_fetch(session_id, EPOCH_MAX), BY_NAME).error_code == 0
    assert desk.ask(a_fetch(session_id, 1), BY_NAME).error_code == 0


def test_a_session_by_names_is_not_taken_up_by_ids(desk: Desk) -> None:
    session_id = begun(desk)
    answer = desk.ask(a_fetch(session_id, 1), BY_ID)
    assert answer.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_session_by_topic_ids(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk()
    topic_id = desk.create("a")
    desk.append("a")
    request = a_fetch(0, 0, {"": {0: 0}})
    request.topics[0].topic_id = topic_id
    answer = desk.ask(request, BY_ID)
    assert answer.responses[0].topic_id == topic_id
    desk.append("a")
    more = desk.ask(a_fetch(answer.session_id, 1), BY_ID)
    assert more.responses[0].topic_id == topic_id
    forget = FetchRequest(
        max_wait_ms=0,
        session_id=answer.session_id,
        session_epoch=2,
        forgotten_topics_data=[ForgottenTopic("", topic_id, [0])],
    )
    assert desk.ask(forget, BY_ID).responses == []
    desk.append("a")
    assert desk.ask(a_fetch(answer.session_id, 3), BY_ID).responses == []


def test_without_a_slot_a_client_is_served_without_a_session(
    make_desk: Callable[..., Desk],
) -> None:
    desk = make_desk({"max.incremental.fetch.session.cache.slots": "1"})
    desk.create("a")
    assert desk.ask(a_fetch(0, 0, {"a": {0: 0}}), BY_NAME).session_id > 0
    answer = desk.ask(a_fetch(0, 0, {"a": {0: 0}}), BY_NAME)
    assert (answer.session_id, partitions_in(answer)) == (0, [("a", 0)])


def test_a_session_that_was_not_used_for_long_gives_way(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk({"max.incremental.fetch.session.cache.slots": "1"})
    desk.create("a")
    old = desk.ask(a_fetch(0, 0, {"a": {0: 0}}), BY_NAME).session_id
    sessions = desk.broker.fetch_sessions
    request = a_fetch(0, 0, {"a": {0: 0}})
    later = sessions.begin(request, uses_ids=False, now_ms=NOW_MS + SAFE_FROM_EVICTION_MS)
    assert later.session_id not in (0, old)
    gone = desk.ask(a_fetch(old, 1), BY_NAME)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_sessions_together_hold_a_limited_number_of_partitions(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch_sessions, "PARTITIONS_MAX", 5)
    session_id = begun(desk)
    assert desk.ask(a_fetch(0, 0, {"a": {0: 0, 1: 0}}), BY_NAME).session_id == 0
    answer = desk.ask(a_fetch(session_id, 1, {"c": {0: 0, 1: 0}}), BY_NAME)
    assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(desk.broker.fetch_sessions) == 0
    assert desk.ask(a_fetch(0, 0, EVERYTHING), BY_NAME).session_id > 0


def test_what_is_forgotten_makes_room_for_others(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch_sessions, "PARTITIONS_MAX", 5)
    session_id = begun(desk)
    for epoch in range(1, 10):
        swap = a_fetch(session_id, epoch, {f"x{epoch}": {0: 0}}, {f"x{epoch - 1}": [0]})
        assert desk.ask(swap, BY_NAME).error_code == 0


def test_a_waiting_fetch_survives_that_a_later_one_forgets_its_partition(desk: Desk) -> None:
    session_id = begun(desk)
    read_on = a_fetch(session_id, 1, {"a": {0: 1}, "b": {0: 1}}, max_wait_ms=1000, min_bytes=1)
    later = desk.call(read_on, BY_NAME).run(desk.broker)
    assert isinstance(later, Later)
    desk.ask(a_fetch(session_id, 2, forgotten={"a": [0]}), BY_NAME)
    desk.append("a")
    answer = later.answer(False)
    assert isinstance(answer, FetchResponse)
    assert partitions_in(answer) == [("a", 0)]
    assert ("a", bytes(16), 0) not in desk.broker.fetch_sessions._sessions[session_id].told
