"""Transactional batches: only into partitions of a transaction that is open."""

from __future__ import annotations

import pytest
from tests.api.transacting import NAME, Office, add, batch_of, code_of, end, marker, produce
from tests.raw_client import frame_of

from penstock.api.call import Unanswerable
from penstock.api.handlers import k00_produce
from penstock.api.handlers.k00_produce_single import Pledge, produce_single
from penstock.api.trust import Client
from penstock.api.verifying import produce_code
from penstock.coordination.transaction.state import Identity
from penstock.errors import ErrorCode
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)


@pytest.fixture
def asking(office: Office, monkeypatch: pytest.MonkeyPatch) -> Office:
    """The coordinator is asked for every partition, as if it were another broker."""
    monkeypatch.setattr(k00_produce, "are_added", lambda *_: False)
    return office


def test_a_partition_that_was_added_is_written_to(office: Office) -> None:
    writer = office.opened()
    assert office.wrote(writer) == ErrorCode.NONE
    assert office.wrote(writer, sequence=1) == ErrorCode.NONE


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (3, ErrorCode.INVALID_TXN_STATE),
        (10, ErrorCode.INVALID_TXN_STATE),
        (11, ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_a_partition_that_was_not_added_is_not_written_to(
    office: Office, version: int, code: ErrorCode
) -> None:
    writer = office.opened(0)
    assert code_of(office.tell(produce(writer, 1), version)) == code
    assert office.desk.broker.leader("orders", 1).log.end_offset == 0


def test_a_newer_client_has_it_added_by_the_leader(office: Office) -> None:
    writer = office.begun()
    assert code_of(office.tell(produce(writer, 0, 1), 12)) == ErrorCode.NONE
    assert office.state.partitions == {("orders", 0), ("orders", 1)}


def test_of_two_partitions_only_the_one_that_belongs_is_written_to(office: Office) -> None:
    writer = office.opened(1)
    answer = office.tell(produce(writer, 0, 1), 10)
    codes = [part.error_code for part in answer.responses[0].partition_responses]
    assert codes == [ErrorCode.INVALID_TXN_STATE, ErrorCode.NONE]


@pytest.mark.parametrize("version", [10, 11])
def test_a_transaction_that_ends_while_it_is_asked_for_is_not_opened_again(
    asking: Office, version: int
) -> None:
    """Reliability corner 6: nobody would end what a late record opens."""
    office = asking
    writer = office.opened()

    def end_it() -> None:
        office.tell_markers(marker(writer, ("orders", 0)))

    office.on_verify = end_it
    code = ErrorCode.INVALID_TXN_STATE if version < 11 else ErrorCode.TRANSACTION_ABORTABLE
    assert code_of(office.tell(produce(writer), version)) == code
    assert not office.desk.broker.leader("orders", 0).log.producers.open_transactions()


@pytest.mark.parametrize("has_written_before", [True, False])
def test_nor_is_one_of_a_newer_client_whose_marker_has_the_next_epoch(
    office: Office, has_written_before: bool
) -> None:
    """Reliability corner 6."""
    writer = office.begun()
    if has_written_before:
        writer = committed_by_newer(office, writer)
        office.finish()

    def end_it() -> None:
        office.tell(end(writer, commit=False), 5)
        office.finish()

    office.on_verify = end_it
    code = code_of(office.tell(produce(writer), 12))
    assert code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert not office.desk.broker.leader("orders", 0).log.producers.open_transactions()


def committed_by_newer(office: Office, writer: Identity) -> Identity:
    """Who writes next. The partitions have not heard of it."""
    assert code_of(office.tell(produce(writer), 12)) == ErrorCode.NONE
    answer = office.tell(end(writer), 5)
    assert answer.error_code == ErrorCode.NONE
    return Identity(answer.producer_id, answer.producer_epoch)


def test_a_marker_of_the_last_transaction_does_not_end_the_next_one(office: Office) -> None:
    """A commit is answered before the partitions are told, so the next record may come first."""
    writer = committed_by_newer(office, office.begun())
    office.on_still_ending = office.finish
    for _ in range(3):
        writer = committed_by_newer(office, writer)
    assert office.desk.broker.leader("orders", 0).log.end_offset == 7, "three have their markers"


@pytest.mark.parametrize(
    ("version", "code"),
    [(11, ErrorCode.NOT_ENOUGH_REPLICAS), (12, ErrorCode.CONCURRENT_TRANSACTIONS)],
)
def test_while_the_last_one_ends_the_next_one_is_tried_again(
    office: Office, version: int, code: ErrorCode
) -> None:
    writer = office.opened()
    office.tell(end(writer), 3)
    assert code_of(office.tell(produce(writer, 1), version)) == code


def test_a_producer_that_was_shut_out_writes_nothing(office: Office) -> None:
    writer = office.begun()
    office.begun()
    for version in (10, 12):
        code = code_of(office.tell(produce(writer), version))
        assert code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_an_id_of_somebody_else_writes_nothing(office: Office) -> None:
    office.opened()
    code = code_of(office.tell(produce(Identity(7777, 0)), 10))
    assert code == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_a_transactional_batch_needs_a_transactional_id(office: Office) -> None:
    writer = office.opened()
    code = code_of(office.tell(produce(writer, name=None), 10))
    assert code == ErrorCode.INVALID_TXN_STATE


def test_a_request_has_transactional_batches_of_one_producer(office: Office) -> None:
    writer = office.opened(0, 1)
    parts = [
        PartitionProduceData(0, batch_of(writer)),
        PartitionProduceData(1, batch_of(Identity(7777, 0))),
    ]
    request = ProduceRequest(NAME, -1, 30_000, [TopicProduceData("orders", partition_data=parts)])
    answer = office.tell(request, 10)
    codes = [part.error_code for part in answer.responses[0].partition_responses]
    assert codes == [ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_ID_MAPPING]


def test_outside_of_its_open_transaction_a_producer_writes_nothing(office: Office) -> None:
    writer = office.opened()
    office.wrote(writer)
    plain = PartitionProduceData(0, batch_of(writer, sequence=1, transactional=False))
    request = ProduceRequest(None, -1, 30_000, [TopicProduceData("orders", partition_data=[plain])])
    assert code_of(office.tell(request, 10)) == ErrorCode.INVALID_TXN_STATE


def test_a_repeated_batch_is_answered_as_before(office: Office) -> None:
    writer = office.opened()
    first, again = (office.tell(produce(writer), 10) for _ in range(2))
    assert first == again
    assert office.desk.broker.leader("orders", 0).log.end_offset == 1


def test_a_partition_is_asked_for_once_in_each_transaction(asking: Office) -> None:
    asked: list[None] = []
    office = asking
    office.on_verify = lambda: asked.append(None)
    writer = office.opened()
    for sequence in range(3):
        office.wrote(writer, sequence=sequence)
    office.tell(end(writer), 3)
    office.finish()
    office.tell(add(writer, 0), 3)
    office.wrote(writer, sequence=3)
    assert len(asked) == 2


@pytest.mark.parametrize(
    "away",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    ],
)
def test_a_coordinator_that_is_away_is_something_that_producers_try_again(away: ErrorCode) -> None:
    assert produce_code(away, 10) is produce_code(away, 12) is ErrorCode.NOT_ENOUGH_REPLICAS


# -- where this broker is the coordinator


def test_a_coordinator_does_not_ask_itself_for_what_it_has_added(office: Office) -> None:
    asked: list[None] = []
    office.on_verify = lambda: asked.append(None)
    writer = office.opened(0)
    assert office.wrote(writer) == ErrorCode.NONE
    assert not asked
    assert code_of(office.tell(produce(writer, 1), 10)) == ErrorCode.INVALID_TXN_STATE
    assert asked, "it has the words for what is wrong"


def test_nor_does_it_rely_on_what_is_not_safe_yet(office: Office) -> None:
    asked: list[None] = []
    office.on_verify = lambda: asked.append(None)
    writer = office.begun()
    office.ask(add(writer, 0), 3)
    office.ask(produce(writer), 10)
    assert asked, "a power loss would leave a record that nobody ends"


def shortly(
    office: Office, writer: Identity, *partitions: int, sequence: int = 0, number: int = 0
) -> bytes | Pledge | None:
    office.desk.broker.leader("orders", partitions[0])
    request = produce(writer, *partitions, sequence=sequence)
    frame = memoryview(bytearray(frame_of(request, 10)))[4:]
    client = Client("peer", number=number)
    done = produce_single(office.desk.broker, frame, office.clock.now_ms(), client)
    office.write_out()
    office.sync()
    return done


def test_what_belongs_to_an_open_transaction_goes_the_short_way(office: Office) -> None:
    writer = office.opened(0)
    for sequence in range(3):
        assert isinstance(shortly(office, writer, 0, sequence=sequence), Pledge)
    log = office.desk.broker.leader("orders", 0).log
    assert (log.end_offset, len(log.producers.open_transactions())) == (3, 1)


def test_what_does_not_belong_goes_the_long_way(office: Office) -> None:
    writer = office.begun()
    assert shortly(office, writer, 0) is None, "nothing was added"
    office.tell(add(writer, 0), 3)
    assert shortly(office, writer, 1) is None, "another one was"
    assert shortly(office, writer.next, 0) is None, "for another epoch"
    assert shortly(office, writer, 0) is not None
    office.tell(end(writer), 3)
    office.finish()
    assert shortly(office, writer, 0, sequence=1) is None, "it is over"


def test_the_short_way_is_closed_to_an_older_connection(office: Office) -> None:
    writer = office.opened(0)
    assert shortly(office, writer, 0, number=7) is not None
    with pytest.raises(Unanswerable, match="newer connection"):
        shortly(office, writer, 0, sequence=1, number=6)
    assert office.desk.broker.leader("orders", 0).log.end_offset == 1
