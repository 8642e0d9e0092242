"""What is made of a group's figures where they are not all of one moment, or not all there."""

from __future__ import annotations

from typing import Any

import pytest
from tests.client.scripted import Answer, ScriptedBroker, client_of, cluster

from penstock.cli.group_describe import _total_text, partition_rows
from penstock.cli.group_places import TopicPart
from penstock.client import group_moves
from penstock.client.cluster import WireClient
from penstock.client.group_offsets import CommittedOffset, with_known_lags
from penstock.client.groups import GroupDescription
from penstock.client.positions import END
from penstock.wire.messages import ApiKey
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

DOWN = GroupDescription("g", "classic", "Empty", 1, "", [])
EARLIEST = -2


def between(start: int, end: int) -> Answer:
    def answer(request: Any) -> ListOffsetsResponse:
        (topic,) = request.topics
        told = [
            ListOffsetsPartitionResponse(
                each.partition_index, 0, -1, start if each.timestamp == EARLIEST else end
            )
            for each in topic.partitions
        ]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(topic.name, told)])

    return answer


def client_between(start: int, end: int) -> WireClient:
    """Of a topic whose first partition is led, and whose second is not."""
    broker = ScriptedBroker().answers(ApiKey.METADATA, cluster({0: 1, 1: -1}))
    return client_of({1: broker.answers(ApiKey.LIST_OFFSETS, between(start, end))})


@pytest.mark.parametrize(
    ("offset", "told", "end", "lag"),
    [
        (5, 5, 10, 5),  # two have come in since the coordinator told
        (10, 0, 10, 0),  # the same, and it had read all
        (3, 4, 8, 4),  # it begins at 4
        (99, 0, 12, 0),  # the log ends before it
        (5, None, 12, 7),  # another broker leads it, so it is counted here
        (3, None, 12, 8),
        (99, None, 12, 0),
    ],
)
def test_the_end_is_the_one_that_the_lag_is_true_of(
    offset: int, told: int | None, end: int, lag: int
) -> None:
    committed = {("t", 0): CommittedOffset(offset, -1, "", told, None)}
    (row,) = partition_rows(client_between(4, 12), DOWN, committed)
    assert (row["committed"], row["end"], row["lag"]) == (offset, end, lag)
    assert row["past_end"] is (offset == 99)


def test_leaders_are_asked_for_the_lag_that_the_coordinator_does_not_know() -> None:
    def answer(request: Any) -> ListOffsetsResponse:
        (topic,) = request.topics
        told = [
            ListOffsetsPartitionResponse(each.partition_index, 0, -1, 12, lag=4, lag_ms=each.lag_of)
            for each in topic.partitions
        ]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(topic.name, told)])

    broker = ScriptedBroker().answers(ApiKey.METADATA, cluster({0: 1, 1: -1}))
    client = client_of({1: broker.answers(ApiKey.LIST_OFFSETS, answer)})
    unknown, known = CommittedOffset(8, -1, "", None, None), CommittedOffset(8, -1, "", 3, 70)
    committed = {("t", 0): unknown, ("t", 1): unknown, ("gone", 0): unknown, ("t", 2): known}
    assert with_known_lags(client, committed) == {
        **committed,
        ("t", 0): CommittedOffset(8, -1, "", 4, 8),
    }


def _row(lag: int | None, lag_ms: int | None, *, past_end: bool = False) -> dict[str, Any]:
    return {"lag": lag, "lag_ms": lag_ms, "past_end": past_end}


def test_totals_say_how_many_offsets_are_past_the_end() -> None:
    rows = [_row(0, 0, past_end=True), _row(0, 0)]
    assert _total_text(rows).endswith("wait 0 ms; 1 partition past the end")


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([(3, 1_000), (4, None)], "total lag 7 messages, the longest wait 1.0 s"),
        ([(3, None), (None, None)], "total lag 3 messages; 1 partition without a known lag"),
    ],
)
def test_totals_say_what_they_leave_out(rows: list[tuple[Any, Any]], text: str) -> None:
    told = _total_text([_row(lag, lag_ms) for lag, lag_ms in rows])
    waits = sum(lag_ms is None for _, lag_ms in rows)
    assert told == f"{text}; {waits} partition{'s' * (waits > 1)} without a known wait"


@pytest.mark.parametrize("topic", ["t", "gone"])
def test_a_partition_that_nobody_leads_has_no_end(topic: str) -> None:
    committed = {(topic, 1): CommittedOffset(5, -1, "", None, None)}
    (row,) = partition_rows(client_between(4, 12), DOWN, committed)
    assert (row["committed"], row["end"], row["lag"]) == (5, None, None)


def test_a_group_stays_where_nobody_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    committed = {("t", index): CommittedOffset(5, -1, "", None, None) for index in (0, 1)}
    monkeypatch.setattr(group_moves, "committed_offsets", lambda client, group: committed)
    moves = group_moves.plan(client_between(4, 12), "g", (TopicPart("t", ()),), END, None)
    assert [(each.partition, each.to, each.note) for each in moves] == [
        (0, 12, None),
        (1, None, "no broker leads it: it stays where it is"),
    ]
