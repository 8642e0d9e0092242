"""Offsets at which there is nothing for a reader, as ListOffsets tells it to those who ask."""

from __future__ import annotations

import pytest
from tests.api.desk import NOW_MS, Desk
from tests.delays.writing import put, put_copies

from penstock.api import vacancies
from penstock.delays.pending import Entry
from penstock.log.damage import Damage
from penstock.replication.leader import Leader
from penstock.wire.batch import read_header
from penstock.wire.batch_builder import end_marker
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

TOPIC = "orders"
HELD = ((b"penstock-delay-ms", b"60000"),)


@pytest.fixture
def orders(desk: Desk) -> Desk:
    desk.create(TOPIC, delayed_delivery="true")
    return desk


def vacant(desk: Desk, first: int = 0, *, committed: bool = False) -> int:
    wanted = ListOffsetsPartition(0, timestamp=-1, vacant_from=first)
    topics = [ListOffsetsTopic(TOPIC, [wanted])]
    answer = desk.ask(ListOffsetsRequest(-1, int(committed), topics))
    (part,) = answer.topics[0].partitions
    assert not part.error_code
    return int(part.vacant)


def leader_of(desk: Desk) -> Leader:
    return desk.broker.leader(TOPIC, 0)


def commit(leader: Leader) -> None:
    leader.log.end_sync(leader.log.begin_sync())
    leader.advance()


def write(desk: Desk, producer_id: int, count: int = 1) -> None:
    desk.append(
        TOPIC,
        count=count,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )


def end(desk: Desk, producer_id: int, *, keep: bool) -> None:
    leader = leader_of(desk)
    marker = end_marker(producer_id, 0, commit=keep, coordinator_epoch=0, timestamp_ms=NOW_MS)
    leader.log.append(marker, read_header(marker), NOW_MS, leader.epoch)
    commit(leader)


def test_where_all_offsets_have_records_none_is_vacant(orders: Desk) -> None:
    orders.append(TOPIC, count=10)
    orders.append(TOPIC, count=5)
    assert [vacant(orders, first) for first in (0, 3, 10, 14, 15, 99)] == [0] * 6


def test_markers_of_transactions_are_vacant(orders: Desk) -> None:
    for producer_id in (7, 8):
        write(orders, producer_id, 3)
        end(orders, producer_id, keep=True)
    assert [vacant(orders, first) for first in (0, 3, 4, 7, 8)] == [2, 2, 1, 1, 0]


def test_what_was_aborted_is_vacant_for_who_reads_committed(orders: Desk) -> None:
    write(orders, 7, 3)
    end(orders, 7, keep=False)
    assert vacant(orders) == 1
    assert vacant(orders, committed=True) == 4
    assert vacant(orders, 2, committed=True) == 2


def test_what_is_not_decided_is_vacant_for_who_reads_committed(orders: Desk) -> None:
    orders.append(TOPIC, count=2)
    write(orders, 7, 3)
    orders.append(TOPIC, count=4)
    assert vacant(orders) == 0
    assert vacant(orders, committed=True) == vacant(orders, 2, committed=True) == 7
    assert vacant(orders, 8, committed=True) == 1


def test_what_is_held_back_is_vacant_and_so_is_what_holds_it_on(orders: Desk) -> None:
    leader = leader_of(orders)
    put(leader.log, [(), HELD, HELD, ()])
    put_copies(leader.log, [Entry(1, NOW_MS, 1)], still_held=True)
    put_copies(leader.log, [Entry(2, NOW_MS, 2)], still_held=False)
    commit(leader)
    assert [vacant(orders, first) for first in range(7)] == [3, 3, 2, 1, 1, 0, 0]


def test_what_is_held_back_in_a_large_batch_is_counted_off_the_loop(orders: Desk) -> None:
    leader = leader_of(orders)
    put(leader.log, [HELD, ()] * 5000)
    commit(leader)
    assert vacant(orders) == 5000


def test_what_retention_has_removed_is_not_looked_at(orders: Desk) -> None:
    write(orders, 7, 3)
    end(orders, 7, keep=True)
    orders.append(TOPIC, count=2)
    orders.broker.advance_start(leader_of(orders), 4)
    assert vacant(orders) == 0


def test_many_batches_are_looked_at_and_behind_them_every_offset_counts_as_a_record(
    orders: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(600):
        orders.append(TOPIC)
    for producer_id in (7, 8):
        write(orders, producer_id)
        end(orders, producer_id, keep=True)
    assert vacant(orders) == 2
    monkeypatch.setattr(vacancies, "BATCHES_MAX", 500)
    assert vacant(orders) == 0


def test_where_a_log_is_damaged_nothing_is_told(orders: Desk) -> None:
    orders.append(TOPIC, count=10)
    leader_of(orders).log.damage = [Damage(0, 10, 0, 0, 100)]
    assert vacant(orders) == -1


def test_nobody_else_is_told(orders: Desk) -> None:
    write(orders, 7)
    end(orders, 7, keep=True)
    topics = [ListOffsetsTopic(TOPIC, [ListOffsetsPartition(0, timestamp=-1)])]
    (part,) = orders.ask(ListOffsetsRequest(-1, 0, topics)).topics[0].partitions
    assert part.vacant == -1
