"""EndTxn, and what comes late."""

from __future__ import annotations

import pytest
from tests.api.transacting import (
    Office,
    add,
    add_offsets,
    code_of,
    commit_offsets,
    end,
    init,
    produce,
)

from penstock.api.call import Unanswerable
from penstock.api.trust import Client
from penstock.coordination.transaction.phases import Phase
from penstock.coordination.transaction.state import Identity
from penstock.errors import ErrorCode

OLD, NEW = Client("old", number=1), Client("new", number=2)


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("commit", [True, False])
def test_every_version_ends_a_transaction(office: Office, version: int, commit: bool) -> None:
    writer = office.opened()
    asked = office.ask(end(writer, commit=commit), version)
    assert asked.is_waiting, "not before it is safe"
    office.sync()
    assert asked.code is ErrorCode.NONE
    assert office.phase is (Phase.PREPARE_COMMIT if commit else Phase.PREPARE_ABORT)
    if version >= 5:
        assert (asked.answer.producer_id, asked.answer.producer_epoch) == writer.next


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (0, ErrorCode.INVALID_PRODUCER_EPOCH),
        (1, ErrorCode.INVALID_PRODUCER_EPOCH),
        (2, ErrorCode.PRODUCER_FENCED),
        (5, ErrorCode.PRODUCER_FENCED),
    ],
)
def test_who_was_shut_out_is_told_in_the_words_of_its_version(
    office: Office, version: int, code: ErrorCode
) -> None:
    writer = office.begun()
    office.begun()
    assert office.tell(end(writer), version).error_code == code
    assert office.tell(add_offsets(writer), min(version, 4)).error_code == code


def test_a_late_end_over_an_older_connection_does_not_end_the_next_transaction(
    office: Office,
) -> None:
    """Reliability corner 6, for clients whose epoch stays."""
    writer = office.opened()
    office.tell(end(writer), 3, client=NEW)
    office.finish()
    office.tell(add(writer, 0), 3, client=NEW)
    with pytest.raises(Unanswerable, match="newer connection"):
        office.ask(end(writer), 3, client=OLD)
    assert office.phase is Phase.ONGOING


def test_partitions_and_offsets_that_come_late_are_not_added(office: Office) -> None:
    writer = office.begun()
    office.tell(add(writer, 0), 3, client=NEW)
    with pytest.raises(Unanswerable):
        office.ask(add(writer, 1), 3, client=OLD)
    with pytest.raises(Unanswerable):
        office.ask(add_offsets(writer), 3, client=OLD)
    assert office.state.partitions == {("orders", 0)}


def test_records_and_offsets_that_come_late_are_not_written(office: Office) -> None:
    writer = office.opened(0, 1)
    office.tell(add_offsets(writer), 3)
    office.tell(produce(writer), 11, client=NEW)
    with pytest.raises(Unanswerable):
        office.ask(produce(writer, 1), 11, client=OLD)
    office.tell(commit_offsets(writer), 3, client=NEW)
    with pytest.raises(Unanswerable):
        office.ask(commit_offsets(writer, 7), 3, client=OLD)


def test_what_was_refused_over_a_newer_connection_does_not_count_as_spoken(office: Office) -> None:
    writer = office.opened()
    assert office.tell(end(writer.next), 3, client=NEW).error_code == ErrorCode.PRODUCER_FENCED
    assert office.tell(end(writer), 3, client=OLD).error_code == ErrorCode.NONE


@pytest.mark.parametrize("is_told", [False, True])
def test_who_makes_way_for_another_is_told_so(office: Office, is_told: bool) -> None:
    """Its end comes between the two requests that the other one begins with. Were it answered as
    if it had been granted, its producer would go on with the epoch that shuts it out."""
    writer = office.opened()
    office.wrote(writer)
    assert office.tell(init()).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    if is_told:
        office.finish()
    answer = office.tell(end(writer, commit=False), 5)
    assert answer.error_code == ErrorCode.PRODUCER_FENCED
    office.finish()
    assert office.begun() == writer.next.next
    again = office.restart()
    again.load()
    assert again.tell(end(writer, commit=False), 5).error_code == ErrorCode.PRODUCER_FENCED


def test_an_empty_transaction_is_aborted_and_over(office: Office) -> None:
    writer = office.begun()
    answer = office.tell(end(writer, commit=False), 5)
    assert (answer.error_code, answer.producer_epoch) == (ErrorCode.NONE, writer.epoch + 1)
    assert office.phase is Phase.COMPLETE_ABORT


def test_a_transaction_without_partitions_ends_too(office: Office) -> None:
    writer = office.begun()
    office.tell(add(writer), 3)
    office.tell(end(writer), 3)
    office.finish()
    assert office.phase is Phase.COMPLETE_COMMIT


def test_time_aborts_what_is_left_open_and_its_records_are_not_read(office: Office) -> None:
    writer = office.opened()
    assert office.wrote(writer) == ErrorCode.NONE
    transactions = office.desk.broker.transactions
    office.clock.time_ms += 60_000
    while transactions.expire():
        pass
    office.finish()
    assert office.phase is Phase.COMPLETE_ABORT
    leader = office.desk.broker.leader("orders", 0)
    (aborted,) = leader.log.aborted_between(0, leader.log.end_offset)
    assert aborted.producer_id == writer.producer_id
    assert office.wrote(writer, sequence=1) == ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("is_prepared", [False, True])
def test_transactions_are_what_they_were_after_a_restart(office: Office, is_prepared: bool) -> None:
    writer = office.opened(0, 1)
    office.wrote(writer)
    if is_prepared:
        office.tell(end(writer), 3)
    before = office.state
    again = office.restart()
    answer = again.tell(end(writer), 3)
    assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    again.load()
    assert again.state == before
    if not is_prepared:
        assert again.tell(end(writer), 3).error_code == ErrorCode.NONE
    again.finish()
    assert again.phase is Phase.COMPLETE_COMMIT
    assert again.tell(init()).producer_epoch == writer.epoch + 1


def test_a_producer_that_speaks_kip_890_writes_one_transaction_after_the_other(
    office: Office,
) -> None:
    writer = office.begun()
    for _ in range(3):
        assert code_of(office.tell(produce(writer), 12)) == ErrorCode.NONE
        assert code_of(office.tell(produce(writer, 0, sequence=1), 12)) == ErrorCode.NONE
        answer = office.tell(end(writer), 5)
        late = code_of(office.tell(produce(writer, 1), 12))
        assert late == ErrorCode.INVALID_PRODUCER_EPOCH
        office.finish()
        writer = Identity(answer.producer_id, answer.producer_epoch)
    leader = office.desk.broker.leader("orders", 0)
    assert leader.log.last_stable_offset(leader.high_watermark) == leader.log.end_offset == 9
