"""WriteTxnMarkers: partitions are told how a transaction has ended."""

from __future__ import annotations

import pytest
from tests.api.grouping import GROUP, Asked
from tests.api.transacting import (
    BROKER,
    Office,
    add,
    add_offsets,
    commit_offsets,
    end,
    marker,
    produce,
)

from penstock.api import awaited_markers
from penstock.api.call import Unanswerable
from penstock.api.handlers.k27_write_txn_markers import WRITTEN_AT_ONCE, Markers
from penstock.api.trust import Client
from penstock.coordination.transaction.state import Identity
from penstock.errors import ErrorCode
from penstock.metadata.internal_topics import OFFSETS
from penstock.replication.leader import Leader
from penstock.wire.messages.k27_write_txn_markers import (
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

ORDERS = ("orders", 0)
TOOL = Client("peer")


def leader(office: Office, index: int = 0) -> Leader:
    return office.desk.broker.leader("orders", index)


def stable(office: Office) -> int:
    return leader(office).log.last_stable_offset(leader(office).high_watermark)


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_makes_what_was_written_stable(office: Office, commit: bool) -> None:
    writer = office.opened()
    office.wrote(writer)
    assert stable(office) == 0
    assert office.tell_markers(marker(writer, ORDERS, commit=commit)) == {ORDERS: ErrorCode.NONE}
    assert stable(office) == 2
    assert bool(leader(office).log.aborted_between(0, 2)) is not commit


def test_a_marker_is_answered_once_it_is_committed(office: Office) -> None:
    writer = office.opened()
    asked = office.ask(WriteTxnMarkersRequest([marker(writer, ORDERS)]), 2)
    assert asked.is_waiting
    office.sync()
    assert asked.answer.markers[0].topics[0].partitions[0].error_code == ErrorCode.NONE


def test_partitions_that_are_not_led_here_are_told_apart(office: Office) -> None:
    writer = office.opened()
    told = office.tell_markers(marker(writer, ORDERS, ("orders", 9), ("nothing", 0)))
    assert told == {
        ORDERS: ErrorCode.NONE,
        ("orders", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("nothing", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_a_repeated_marker_of_a_newer_client_is_not_written_twice(office: Office) -> None:
    writer = office.begun()
    office.tell(produce(writer), 12)
    for _ in range(2):
        told = office.tell_markers(marker(writer.next, ORDERS, version=2))
        assert told == {ORDERS: ErrorCode.NONE}
    assert leader(office).log.end_offset == 2


def test_a_late_marker_of_a_newer_client_does_not_end_the_next_transaction(
    office: Office,
) -> None:
    writer = office.begun()
    office.tell(produce(writer), 12)
    office.tell(end(writer), 5)
    office.finish()
    office.tell(produce(writer.next), 12)
    told = office.tell_markers(marker(writer.next, ORDERS, commit=False, version=2))
    assert told == {ORDERS: ErrorCode.INVALID_PRODUCER_EPOCH}
    assert leader(office).log.producers.open_transactions()


def test_a_marker_of_an_older_epoch_is_refused(office: Office) -> None:
    office.begun()
    writer = office.opened()
    office.wrote(writer)
    old = Identity(writer.producer_id, writer.epoch - 1)
    assert office.tell_markers(marker(old, ORDERS)) == {ORDERS: ErrorCode.INVALID_PRODUCER_EPOCH}
    assert stable(office) == 0


def test_a_marker_of_a_coordinator_of_the_past_is_refused(office: Office) -> None:
    """Its successor has ended the transaction by then, and the next one may be open."""
    writer = office.opened()
    office.wrote(writer)
    office.tell_markers(marker(writer, ORDERS, epoch=5))
    office.tell(add(writer, 0), 3)
    office.wrote(writer, sequence=1)
    told = office.tell_markers(marker(writer, ORDERS, commit=False, epoch=4))
    assert told == {ORDERS: ErrorCode.TRANSACTION_COORDINATOR_FENCED}
    assert leader(office).log.producers.open_transactions()


def test_markers_over_an_older_connection_of_the_same_broker_are_dropped(office: Office) -> None:
    writer = office.opened()
    old, new = (Client("peer", broker_id=2, number=number) for number in (1, 2))
    office.tell_markers(marker(writer, ORDERS), new)
    with pytest.raises(Unanswerable, match="newer connection"):
        office.tell_markers(marker(writer, ORDERS), old)
    other = Client("peer", broker_id=3, number=1)
    assert office.tell_markers(marker(writer, ORDERS), other) == {ORDERS: ErrorCode.NONE}


def test_with_too_few_in_sync_nothing_is_ended(office: Office) -> None:
    writer = office.opened()
    office.wrote(writer)
    known = leader(office)
    known.replicas, known.in_sync, known.min_isr = (1, 2, 3), frozenset({1}), 2
    told = office.tell_markers(marker(writer, ORDERS))
    assert told == {ORDERS: ErrorCode.NOT_ENOUGH_REPLICAS}
    assert leader(office).log.producers.open_transactions()


@pytest.mark.parametrize("commit", [True, False])
def test_offsets_count_when_their_partition_is_told(office: Office, commit: bool) -> None:
    writer = office.begun()
    office.tell(add_offsets(writer), 3)
    office.tell(commit_offsets(writer, 7), 3)
    place = OFFSETS, office.groups.place(GROUP)[0]
    group = office.shard().kept.get(GROUP)
    assert group is not None
    assert (group.offsets, group.pending is not None) == ({}, True)
    assert office.tell_markers(marker(writer, place, commit=commit)) == {place: ErrorCode.NONE}
    group = office.shard().kept.get(GROUP)
    if commit:
        assert group is not None
        assert group.offsets["orders"][0].offset == 7
        assert group.pending is None
    else:
        assert group is None, "nothing is left of it"


def test_offsets_wait_for_their_groups_to_be_loaded(office: Office) -> None:
    writer = office.begun()
    office.tell(add_offsets(writer), 3)
    office.tell(commit_offsets(writer, 7), 3)
    place = OFFSETS, office.groups.place(GROUP)[0]
    again = office.restart()
    told = again.tell_markers(marker(writer, place))
    assert told == {place: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
    again.load()
    group = again.shard().kept.get(GROUP)
    assert group is not None
    assert group.pending is not None
    again.tell_markers(marker(writer, place))
    assert group.offsets["orders"][0].offset == 7


def patience_ms(asked: Asked) -> int:
    assert asked._later is not None
    return asked._later.wait_ms


def codes(answer: WriteTxnMarkersResponse) -> list[int]:
    return [
        part.error_code
        for each in answer.markers
        for topic in each.topics
        for part in topic.partitions
    ]


def test_a_coordinator_is_answered_soon_and_a_tool_once_it_is_committed(office: Office) -> None:
    """The coordinator's next markers wait behind these."""
    writer = office.opened()
    request = WriteTxnMarkersRequest([marker(writer, ORDERS)])
    by_broker = patience_ms(office.ask(request, 2, client=BROKER))
    assert by_broker < 200
    assert patience_ms(office.ask(request, 2, client=TOOL)) > 10 * by_broker


def test_a_marker_that_is_asked_for_again_is_not_written_again(office: Office) -> None:
    writer = office.opened()
    office.wrote(writer)
    request = WriteTxnMarkersRequest([marker(writer, ORDERS)])
    asked = office.ask(request, 2, client=BROKER)
    asked.time_is_up()
    assert codes(asked.answer) == [ErrorCode.REQUEST_TIMED_OUT]
    again = office.ask(request, 2, client=BROKER)
    assert not again.is_waiting, "who waits behind it waits no longer"
    assert codes(again.answer) == [ErrorCode.REQUEST_TIMED_OUT]
    assert leader(office).log.end_offset == 2
    office.sync()
    assert codes(office.ask(request, 2, client=BROKER).answer) == [ErrorCode.NONE]
    assert leader(office).log.end_offset == 2
    assert not office.desk.broker.awaited_markers


def test_the_next_transaction_of_the_same_producer_gets_a_marker_of_its_own(
    office: Office,
) -> None:
    """The same marker was sent over two connections, and the one that was given up waits longer."""
    writer = office.opened()
    office.wrote(writer)
    request = WriteTxnMarkersRequest([marker(writer, ORDERS)])
    given_up = office.ask(request, 2, client=BROKER)
    again = office.ask(request, 2, client=BROKER)
    given_up.time_is_up()
    office.sync()
    assert codes(again.answer) == [ErrorCode.NONE]
    office.wrote(writer, sequence=1)
    assert office.tell_markers(marker(writer, ORDERS)) == {ORDERS: ErrorCode.NONE}
    assert stable(office) == leader(office).log.end_offset == 5


def test_a_marker_that_was_awaited_under_a_leader_of_before_is_written_again(
    office: Office,
) -> None:
    writer = office.opened()
    request = WriteTxnMarkersRequest([marker(writer, ORDERS)])
    office.ask(request, 2, client=BROKER).time_is_up()
    leader(office).epoch += 1
    office.tell(request, 2, client=BROKER)
    assert leader(office).log.end_offset == 2


def test_no_more_markers_are_remembered_than_may_be(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(awaited_markers, "MARKERS_MAX", 2)
    writer = office.opened()
    markers = [marker(writer, ORDERS, epoch=epoch) for epoch in range(3)]
    office.ask(WriteTxnMarkersRequest(markers), 2, client=BROKER).time_is_up()
    assert len(office.desk.broker.awaited_markers) == 2


def test_many_markers_are_written_with_pauses(office: Office) -> None:
    writer = office.opened()
    call = office.desk.call(WriteTxnMarkersRequest([marker(writer, ORDERS)] * 500), 2)
    call.client = BROKER
    markers = Markers(office.desk.broker, call)
    written = []
    before = leader(office).log.end_offset
    assert isinstance(call.request, WriteTxnMarkersRequest)
    for _ in markers.write_all(call.request):
        written.append(leader(office).log.end_offset - before)
        before += written[-1]
    assert len(written) == 500 // WRITTEN_AT_ONCE
    assert max(written) <= WRITTEN_AT_ONCE


def test_markers_that_are_late_by_the_next_pause_are_dropped(office: Office) -> None:
    writer = office.opened()
    call = office.desk.call(WriteTxnMarkersRequest([marker(writer, ORDERS)] * 500), 2)
    call.client = Client("peer", broker_id=2, number=1)
    assert isinstance(call.request, WriteTxnMarkersRequest)
    steps = Markers(office.desk.broker, call).write_all(call.request)
    next(steps)
    office.tell_markers(marker(writer, ORDERS), Client("peer", broker_id=2, number=2))
    end = leader(office).log.end_offset
    with pytest.raises(Unanswerable, match="newer connection"):
        next(steps)
    assert leader(office).log.end_offset == end
