"""How far groups are behind, as OffsetFetch tells it to those who ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from tests.api.desk import NODE_ID, NOW_MS, Desk

from penstock.api.lag import NOTHING, SLICE_PLACES, UNKNOWN, Lag, Place, lags
from penstock.api.outcome import Resume
from penstock.log.damage import Damage
from penstock.log.steps import Wait
from penstock.metadata.changes import delete_topic
from penstock.metadata.internal_topics import OFFSETS, create_internal_topic
from penstock.wire.batch import read_header, seal
from penstock.wire.batch_builder import build_batch, end_marker
from penstock.wire.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.wire.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponsePartitions,
)
from penstock.wire.records import Record
from penstock.world.ports import Cold
from penstock.world.real_file import RealFile

LATER_MS = NOW_MS + 60_000


@pytest.fixture
def orders(desk: Desk) -> Desk:
    """Records 0 to 9 in a batch, then 10 to 14 in one that is a second younger."""
    desk.create("orders")
    desk.append("orders", count=10)
    desk.append("orders", count=5, first_ms=NOW_MS + 1000)
    return desk


def waits_of(
    desk: Desk, places: Iterable[Place], now_ms: int
) -> tuple[dict[Place, Lag], list[Wait]]:
    """What it comes to, and what had to be waited for."""
    waits: list[Wait] = []
    steps = lags(desk.broker, places, now_ms)
    while True:
        try:
            waits.append(next(steps))
        except StopIteration as end:
            return end.value, waits


def lag(desk: Desk, offset: int, now_ms: int = LATER_MS, topic: str = "orders") -> Lag:
    place = Place(topic, 0, offset)
    return waits_of(desk, [place], now_ms)[0][place]


# What it is


@pytest.mark.parametrize(
    ("offset", "messages", "waiting_ms"),
    [(0, 15, 60_000), (10, 5, 59_000), (14, 1, 59_000), (15, 0, 0)],
)
def test_lag_is_what_was_not_read_and_since_when_it_waits(
    orders: Desk, offset: int, messages: int, waiting_ms: int
) -> None:
    assert lag(orders, offset) == Lag(messages, waiting_ms)


def test_within_a_batch_the_time_is_that_of_its_first_record(orders: Desk) -> None:
    assert lag(orders, 7) == Lag(8, 60_000)


def test_an_offset_past_the_end_is_no_lag(orders: Desk) -> None:
    assert lag(orders, 99) == NOTHING


def test_an_empty_topic_has_no_lag(desk: Desk) -> None:
    desk.create("orders")
    assert lag(desk, 0) == NOTHING


def test_what_retention_has_removed_does_not_count(orders: Desk) -> None:
    orders.broker.advance_start(orders.broker.leader("orders", 0), 12)
    assert lag(orders, 3) == Lag(3, 59_000)


def test_behind_a_leader_that_does_not_know_its_end_yet_no_lag_is_known(orders: Desk) -> None:
    leader = orders.broker.leader("orders", 0)
    leader.high_watermark, leader.epoch_start = 10, 15
    assert lag(orders, 3) == lag(orders, 12) == UNKNOWN
    leader.high_watermark = 15
    assert lag(orders, 3).messages == 12


def test_what_is_not_committed_does_not_count(orders: Desk) -> None:
    leader = orders.broker.leader("orders", 0)
    built = build_batch([Record(0, NOW_MS, None, b"")])
    leader.log.append(built, read_header(built), NOW_MS, leader.epoch)
    assert lag(orders, 15) == NOTHING
    assert lag(orders, 14).messages == 1


def test_a_record_of_the_future_waits_no_time(orders: Desk) -> None:
    assert lag(orders, 12, now_ms=NOW_MS) == Lag(3, 0)


def test_records_without_a_time_have_none_to_tell(desk: Desk) -> None:
    desk.create("orders")
    desk.append("orders", first_ms=-1)
    assert lag(desk, 0) == Lag(1, None)


def test_where_the_broker_stamps_records_its_time_counts(desk: Desk) -> None:
    desk.create("orders", message_timestamp_type="LogAppendTime")
    desk.append("orders", first_ms=5)
    assert lag(desk, 0) == Lag(1, 60_000)


def test_markers_of_transactions_keep_nobody_waiting(desk: Desk) -> None:
    desk.create("orders")
    desk.append("orders")
    mark(desk)
    assert lag(desk, 1) == Lag(0, 0)
    desk.append("orders", first_ms=NOW_MS + 2000)
    assert lag(desk, 1) == Lag(2, 58_000)


def mark(desk: Desk) -> None:
    leader = desk.broker.leader("orders", 0)
    marker = end_marker(7, 0, commit=True, coordinator_epoch=0, timestamp_ms=NOW_MS)
    leader.log.append(marker, read_header(marker), NOW_MS, leader.epoch)
    leader.log.end_sync(leader.log.begin_sync())
    leader.advance()


def test_a_batch_that_compaction_has_emptied_keeps_nobody_waiting(desk: Desk) -> None:
    desk.create("orders")
    desk.append("orders")
    emptied = seal(
        read_header(build_batch([Record(0, 5, None, b"")]))._replace(record_count=0), b""
    )
    leader = desk.broker.leader("orders", 0)
    leader.log.append(emptied, read_header(emptied), NOW_MS, leader.epoch)
    desk.append("orders", first_ms=NOW_MS + 2000)
    assert lag(desk, 1) == Lag(2, 58_000)


def test_a_damaged_stretch_hides_the_time_only(orders: Desk) -> None:
    orders.broker.leader("orders", 0).log.damage = [Damage(0, 10, 0, 0, 100)]
    assert lag(orders, 3) == Lag(12, None)
    assert lag(orders, 10) == Lag(5, 59_000)


def test_a_topic_that_is_not_there_or_led_elsewhere_is_unknown(orders: Desk) -> None:
    orders.register(NODE_ID + 1)
    orders.create("spread", partitions=2)
    places = [Place("none", 0, 0), Place("orders", 7, 0), *(Place("spread", n, 0) for n in (0, 1))]
    found, _ = waits_of(orders, places, LATER_MS)
    assert found[places[0]] == found[places[1]] == UNKNOWN
    assert {found[places[2]], found[places[3]]} == {UNKNOWN, NOTHING}


def test_a_log_that_cannot_be_read_hides_the_time_only(
    orders: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(file: RealFile, position: int, length: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(RealFile, "read_cached", broken)
    assert lag(orders, 0) == Lag(15, None)
    assert "no time is known of 0" in caplog.text


def test_it_is_known_after_a_restart(orders: Desk) -> None:
    assert lag(orders.restart(), 10) == Lag(5, 59_000)


# How it is found


def test_nothing_cold_is_read_on_the_loop(orders: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    warm: set[tuple[int, int]] = set()
    read_cached = RealFile.read_cached

    def read(file: RealFile, position: int, length: int) -> bytes:
        if (position, length) not in warm:
            warm.add((position, length))
            raise Cold(file, position, length)
        return read_cached(file, position, length)

    monkeypatch.setattr(RealFile, "read_cached", read)
    monkeypatch.delattr(RealFile, "read")
    place = Place("orders", 0, 10)
    orders.broker.leader("orders", 0).log.forget_marks()
    found, waits = waits_of(orders, [place], LATER_MS)
    assert found[place] == Lag(5, 59_000)
    assert waits
    assert all(isinstance(each, Cold) for each in waits)


def test_others_have_their_turn_between_many_partitions(orders: Desk) -> None:
    places = [Place("none", index, 0) for index in range(3 * SLICE_PLACES)]
    assert waits_of(orders, places, LATER_MS)[1] == [None] * 3


def test_what_is_asked_twice_is_looked_up_once(
    orders: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    leader = orders.broker.read_leader

    def noted(topic: str, index: int) -> Any:
        asked.append(index)
        return leader(topic, index)

    monkeypatch.setattr(orders.broker, "read_leader", noted)
    waits_of(orders, [Place("orders", 0, 10)] * 5, LATER_MS)
    assert asked == [0]


def test_a_topic_deleted_meanwhile_keeps_nobody_waiting(orders: Desk) -> None:
    found, _ = waits_of(orders, _deleting(orders), LATER_MS)
    assert list(found.values()) == [Lag(15, 60_000), UNKNOWN]


def _deleting(desk: Desk) -> Iterator[Place]:
    yield Place("orders", 0, 0)
    topic = desk.image.topics["orders"]
    desk.change(lambda image: delete_topic(image, "orders", nonce=topic.id))
    desk.broker.remove_topic(topic)
    yield Place("orders", 0, 1)


# How it is told


@pytest.fixture
def group(orders: Desk) -> Desk:
    """A group without members that is at 10 of 15."""
    broker = orders.broker
    orders.change(
        lambda image: create_internal_topic(
            image, OFFSETS, broker.config, topic_id=orders.chance.uuid(), now_ms=NOW_MS
        )
    )
    broker.groups.follow()
    part = OffsetCommitRequestPartition(0, 10, committed_metadata="m")
    topic = OffsetCommitRequestTopic("orders", partitions=[part])
    call = orders.call(OffsetCommitRequest("jobs", topics=[topic]), 9)
    call.api.handler(broker, call.request, call)
    settle(orders)
    return orders


def settle(desk: Desk) -> None:
    for leader in desk.broker.take_dirty():
        leader.log.end_sync(leader.log.begin_sync())
        leader.advance()


def fetched(
    desk: Desk, version: int, with_lag: bool, *topics: OffsetFetchRequestTopics
) -> OffsetFetchResponsePartitions:
    asked = OffsetFetchRequestGroup("jobs", topics=list(topics) or None)
    request = OffsetFetchRequest(groups=[asked], with_lag=with_lag)
    (part,) = desk.ask(request, version).groups[0].topics[0].partitions
    assert isinstance(part, OffsetFetchResponsePartitions)
    return part


@pytest.mark.parametrize("version", [8, 9, 10])
def test_who_asks_for_lag_is_told(group: Desk, version: int) -> None:
    part = fetched(group, version, True)
    assert (part.committed_offset, part.metadata, part.lag, part.lag_ms) == (10, "m", 5, 0)


@pytest.mark.parametrize("version", [8, 9, 10])
def test_it_is_told_of_the_partitions_that_are_asked_for(group: Desk, version: int) -> None:
    topic_id = group.image.topics["orders"].id
    part = fetched(group, version, True, OffsetFetchRequestTopics("orders", topic_id, [0]))
    assert (part.committed_offset, part.lag) == (10, 5)


@pytest.mark.parametrize("version", [8, 9, 10])
def test_where_nothing_was_committed_no_lag_is_told(group: Desk, version: int) -> None:
    topic_id = group.create("payments")
    group.append("payments")
    part = fetched(group, version, True, OffsetFetchRequestTopics("payments", topic_id, [0]))
    assert (part.committed_offset, part.lag, part.lag_ms) == (-1, -1, -1)


@pytest.mark.parametrize("version", [8, 9, 10])
def test_nobody_else_gets_a_field_that_is_not_kafkas(group: Desk, version: int) -> None:
    def answered(with_lag: bool) -> bytes:
        asked = OffsetFetchRequestGroup("jobs", topics=None)
        request = OffsetFetchRequest(groups=[asked], with_lag=with_lag)
        answer = group.ask(request, version)
        return bytes(answer.encode(version))

    plain = answered(with_lag=False)
    assert fetched(group, version, False).lag == -1
    assert len(plain) < len(answered(with_lag=True))


def test_only_who_asks_for_lag_waits(group: Desk) -> None:
    def begun(with_lag: bool) -> object:
        asked = OffsetFetchRequestGroup("jobs", topics=None)
        call = group.call(OffsetFetchRequest(groups=[asked], with_lag=with_lag))
        return call.api.handler(group.broker, call.request, call)

    assert isinstance(begun(with_lag=True), Resume)
    assert not isinstance(begun(with_lag=False), Resume)
