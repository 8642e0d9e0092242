"""A partition that several members share: who is given what, and what becomes of it."""

from __future__ import annotations

from functools import partial

import pytest
from tests.sharing.queue_desk import (
    ACCEPT,
    GAP,
    LOCK_MS,
    REJECT,
    RELEASE,
    RENEW,
    QueueDesk,
    refusal,
)

from penstock.errors import ErrorCode
from penstock.sharing import window
from penstock.sharing.acknowledging import DELAY_MS_MAX, UNSEEN, Acknowledgement
from penstock.sharing.acquiring import Wanted
from penstock.sharing.limits import Limits
from penstock.sharing.window import DeadLetters
from penstock.wire.delivery import StateBatch


@pytest.fixture
def desk() -> QueueDesk:
    return QueueDesk()


# Giving out


def test_members_are_given_records_one_after_the_other(desk: QueueDesk) -> None:
    assert desk.take("a") == [(0, 9, 1)]
    assert desk.take("b") == [(10, 19, 1)]
    assert desk.share.in_flight == 20


def test_nothing_is_given_that_is_not_committed_yet(desk: QueueDesk) -> None:
    desk.log_end = 4
    assert desk.take("a") == [(0, 3, 1)]
    assert desk.share.next_offset(4) is None
    assert desk.take("b") == []


def test_what_stays_locked_does_not_hold_up_the_rest(desk: QueueDesk) -> None:
    desk.take("slow", 1)
    for _ in range(9):
        ((first, last, _),) = desk.take("a", 11)
        desk.settle("a", first, last, ACCEPT)
    assert desk.share.start_offset == 0
    assert desk.share.complete_count == 99
    assert desk.share.span_count == 2
    desk.settle("slow", 0, 0, ACCEPT)
    assert desk.share.start_offset == 100


def test_only_so_many_records_are_in_flight() -> None:
    desk = QueueDesk(locks=15)
    assert desk.take("a") == [(0, 9, 1)]
    assert desk.take("b") == [(10, 14, 1)]
    assert desk.share.next_offset(desk.log_end) is None
    desk.settle("b", 12, 13, ACCEPT)
    assert desk.take("b") == [(15, 16, 1)]


def test_what_was_given_back_is_given_out_before_anything_new() -> None:
    desk = QueueDesk(locks=15)
    desk.take("a", 15)
    desk.settle("a", 3, 5, RELEASE)
    assert desk.share.next_offset(desk.log_end) == 3
    assert desk.take("b", 20) == [(3, 5, 2)], "and no more, as all locks are in use"


def test_whole_batches_are_given_where_they_are_known(desk: QueueDesk) -> None:
    assert desk.take("a", 10, ends=[7, 15, 31]) == [(0, 15, 1)]
    assert desk.take("b", 16, ends=[31, 50]) == [(16, 31, 1)]


def test_a_batch_is_cut_short_where_locks_are_used_up() -> None:
    desk = QueueDesk(locks=12)
    assert desk.take("a", 10, ends=[7, 15, 31]) == [(0, 11, 1)]


def test_gaps_are_passed_over(desk: QueueDesk) -> None:
    assert desk.take("a", 10, missing=[(0, 1), (4, 6), (90, 99)]) == [(2, 3, 1), (7, 14, 1)]
    assert desk.share.start_offset == 2
    desk.settle("a", 2, 3, ACCEPT)
    assert desk.share.start_offset == 7


def test_a_partition_without_records_is_passed_over_at_once(desk: QueueDesk) -> None:
    assert desk.take("a", missing=[(0, 99)]) == []
    assert desk.share.start_offset == 100
    write = desk.store()
    assert write is not None
    assert (write.start_offset, write.complete_count, write.batches) == (100, 0, [])


def test_states_that_are_too_mixed_wait_for_some_to_finish(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(window, "SPANS_MAX", 4)
    desk = QueueDesk()
    desk.take("a")
    desk.settle("a", 2, 2, ACCEPT)
    desk.settle("a", 4, 4, ACCEPT)
    assert desk.take("b") == []
    desk.settle("a", 0, 1, ACCEPT)
    assert desk.take("b") == [(10, 19, 1)]


# What members say


def test_what_is_accepted_is_finished_once_it_is_stored(desk: QueueDesk) -> None:
    desk.take("a")
    pending = desk.say("a", 0, 9, ACCEPT)
    assert not pending.is_done
    assert desk.share.start_offset == 0
    assert desk.share.next_offset(10) is None
    assert refusal(lambda: desk.say("a", 0, 9, ACCEPT)) is ErrorCode.INVALID_RECORD_STATE
    desk.store()
    assert pending.is_kept
    assert desk.share.start_offset == 10


def test_records_of_a_range_may_fare_differently(desk: QueueDesk) -> None:
    desk.take("a", 5)
    desk.settle("a", 0, 4, [2, 1, 3, 0, 2])
    assert desk.take("b", 2) == [(0, 0, 2), (4, 4, 2)]


def test_what_is_refused_changes_nothing(desk: QueueDesk) -> None:
    desk.take("a", 5)
    desk.take("b", 5)
    said = [Acknowledgement(0, 4, [1]), Acknowledgement(5, 6, [1])]
    code = refusal(lambda: desk.share.acknowledge("a", said, desk.now_ms))
    assert code is ErrorCode.INVALID_RECORD_STATE
    assert desk.share.span_count == 2
    desk.settle("a", 0, 4, ACCEPT)
    assert desk.share.start_offset == 5


def test_what_was_given_to_nobody_yet_cannot_be_acknowledged(desk: QueueDesk) -> None:
    desk.take("a", 5)
    assert refusal(lambda: desk.say("a", 4, 5, ACCEPT)) is ErrorCode.INVALID_REQUEST


def test_what_lies_before_the_start_is_finished_anyway(desk: QueueDesk) -> None:
    desk.take("a", 5)
    desk.share.log_starts_at(3)
    assert desk.say("a", 0, 2, ACCEPT).is_kept
    pending = desk.say("a", 0, 4, ACCEPT)
    assert [(each.first, each.last) for each in pending.changes] == [(3, 4)]


def test_if_it_could_not_be_stored_records_are_as_they_were(desk: QueueDesk) -> None:
    desk.take("a", 5)
    pending = desk.say("a", 0, 4, ACCEPT)
    write = desk.share.take_write()
    assert write is not None
    desk.share.undo(write)
    assert pending.is_done
    assert not pending.is_kept
    assert refusal(lambda: desk.say("b", 0, 4, ACCEPT)) is ErrorCode.INVALID_RECORD_STATE
    desk.settle("a", 0, 4, ACCEPT)
    assert desk.share.start_offset == 5


def test_one_write_is_under_way_at_a_time_and_the_next_has_all_that_came_meanwhile(
    desk: QueueDesk,
) -> None:
    for member in "abc":
        desk.take(member)
    desk.say("a", 0, 9, ACCEPT)
    first = desk.share.take_write()
    assert first is not None
    desk.say("b", 10, 19, ACCEPT)
    desk.say("c", 20, 29, ACCEPT)
    assert desk.share.has_changes
    assert desk.share.take_write() is None
    desk.share.keep(first)
    second = desk.share.take_write()
    assert second is not None
    assert (second.start_offset, len(second.pending)) == (30, 2)


# Locks


def test_a_lock_that_has_ended_is_nobodys(desk: QueueDesk) -> None:
    desk.take("a", 5)
    assert desk.share.next_due_ms == LOCK_MS
    desk.now_ms = LOCK_MS
    assert refusal(lambda: desk.say("a", 0, 4, ACCEPT)) is ErrorCode.INVALID_RECORD_STATE
    assert desk.take("b", 5) == [(0, 4, 2)]


def test_a_lock_may_be_renewed_as_often_as_it_takes(desk: QueueDesk) -> None:
    desk.take("a", 5)
    for _ in range(10):
        assert desk.wait(LOCK_MS - 1) == 0
        assert desk.say("a", 1, 2, RENEW).is_kept
        desk.say("a", 0, 0, RENEW)
        desk.say("a", 3, 4, RENEW)
    assert desk.wait(LOCK_MS - 1) == 0
    assert desk.wait(1) == 5


def test_a_group_may_be_without_renewal() -> None:
    desk = QueueDesk(may_renew=False)
    desk.take("a", 5)
    assert refusal(lambda: desk.say("a", 0, 4, RENEW)) is ErrorCode.INVALID_RECORD_STATE


def test_a_lock_that_ends_while_its_record_is_being_stored_ends_only_if_that_fails(
    desk: QueueDesk,
) -> None:
    desk.take("a", 5)
    desk.take("b", 5)
    desk.say("a", 0, 4, ACCEPT)
    write = desk.share.take_write()
    assert write is not None
    assert desk.wait() == 5, "those of the other"
    desk.share.undo(write)
    assert desk.share.next_due_ms == LOCK_MS
    assert desk.wait(0) == 5


def test_locks_of_a_group_whose_settings_change_end_when_it_was_said(desk: QueueDesk) -> None:
    desk.take("a", 5)
    desk.share.limits = Limits(lock_ms=1000)
    desk.take("b", 5)
    assert desk.wait(1000) == 5
    assert desk.wait(LOCK_MS - 1000) == 5


def test_locks_that_are_over_are_forgotten_and_those_that_last_are_not(desk: QueueDesk) -> None:
    desk.log_end = 10_000
    desk.take("slow", 1)
    for number in range(1000):
        desk.now_ms += 1
        ((first, last, _),) = desk.take("a", 3)
        desk.settle("a", first, last, ACCEPT)
        assert len(desk.share.window.locks) < 100, number
    assert desk.share.next_due_ms == LOCK_MS
    assert desk.wait() == 1


# Too often


def test_a_record_is_delivered_so_often_and_no_more() -> None:
    desk = QueueDesk(deliveries=3)
    for count in (1, 2, 3):
        assert desk.take("a", 1) == [(0, 0, count)]
        desk.wait()
    assert desk.take("a", 1) == [(1, 1, 1)]
    assert desk.share.start_offset == 1
    assert desk.share.take_dead_letters() == []


def test_what_has_been_locked_too_often_is_passed_over_at_once() -> None:
    desk = QueueDesk(deliveries=2)
    for _ in range(2):
        desk.take("a", 3)
        desk.wait()
    assert desk.share.start_offset == 3


def test_who_closes_its_session_has_not_looked_at_what_it_gives_back() -> None:
    desk = QueueDesk(deliveries=2)
    for _ in range(5):
        assert desk.take("a", 1) == [(0, 0, 1)]
        assert desk.share.release("a", desk.now_ms, were_delivered=False) == 1


def test_who_is_lost_may_have_been_killed_by_what_it_had() -> None:
    desk = QueueDesk(deliveries=2)
    for count in (1, 2):
        assert desk.take("a", 1) == [(0, 0, count)]
        assert desk.share.release("a", desk.now_ms, were_delivered=True) == 1
    assert desk.take("a", 1) == [(1, 1, 1)]


def test_what_is_given_up_goes_to_the_dead_letters_first() -> None:
    desk = QueueDesk(deliveries=2, buries=True)
    desk.take("a", 3)
    desk.settle("a", 1, 1, REJECT)
    desk.settle("a", 0, 0, ACCEPT)
    desk.wait()
    assert desk.take("a", 1) == [(2, 2, 2)]
    desk.wait()
    assert desk.share.take_dead_letters() == [
        DeadLetters(1, 1, 1, is_rejected=True),
        DeadLetters(2, 2, 2, is_rejected=False),
    ]
    assert desk.share.take_dead_letters() == []
    assert desk.share.start_offset == 1, "not finished before they are there"
    desk.share.buried(1, 2)
    assert desk.share.start_offset == 3


def test_what_was_not_buried_is_handed_out_by_the_next_leader_with_its_cause() -> None:
    desk = QueueDesk(deliveries=2, buries=True)
    for _ in range(2):
        desk.take("a", 1)
        desk.settle("a", 0, 0, RELEASE)
    desk.take("a", 2)
    desk.settle("a", 2, 2, REJECT)
    for _ in range(2):
        desk.fail_over(deliveries=2, buries=True)
        assert desk.share.take_dead_letters() == [
            DeadLetters(0, 0, 2, is_rejected=False),
            DeadLetters(2, 2, 1, is_rejected=True),
        ]
        desk.store()
    desk.share.buried(0, 2)
    desk.store()
    desk.fail_over(deliveries=2, buries=True)
    assert not desk.share.has_dead_letters
    assert desk.take("a", 2) == [(1, 1, 1), (3, 3, 1)]


def test_what_was_rejected_stays_so_though_the_limit_is_higher_for_the_next_leader() -> None:
    desk = QueueDesk(deliveries=2, buries=True)
    desk.take("a", 2)
    desk.settle("a", 0, 0, REJECT)
    desk.fail_over(deliveries=5, buries=True)
    assert desk.share.take_dead_letters() == [DeadLetters(0, 0, 1, is_rejected=True)]


def test_records_that_were_rejected_and_others_are_not_one_stretch() -> None:
    desk = QueueDesk(deliveries=1, buries=True)
    desk.take("a", 2)
    desk.say("a", 0, 0, REJECT)
    desk.say("a", 1, 1, RELEASE)
    desk.store()
    assert desk.share.take_dead_letters() == [
        DeadLetters(0, 0, 1, is_rejected=True),
        DeadLetters(1, 1, 1, is_rejected=False),
    ]
    assert desk.share.span_count == 2


def test_a_limit_that_has_become_lower_holds_for_what_is_there(desk: QueueDesk) -> None:
    for _ in range(3):
        desk.take("a", 2)
        desk.wait()
    desk.share.limits = Limits(deliveries=3)
    assert desk.take("a", 1) == [(2, 2, 1)]
    assert desk.share.start_offset == 2


def test_a_gap_is_no_dead_letter() -> None:
    desk = QueueDesk(buries=True)
    desk.take("a", 1)
    desk.settle("a", 0, 0, GAP)
    assert desk.share.take_dead_letters() == []
    assert desk.share.start_offset == 1


# What is stored


def test_in_order_nothing_but_the_start_is_told(desk: QueueDesk) -> None:
    desk.take("a")
    desk.say("a", 0, 9, ACCEPT)
    write = desk.store()
    assert write is not None
    assert (write.start_offset, write.complete_count, write.batches) == (10, 0, [])
    assert desk.share.stored_start == 10


def test_otherwise_stretches_are_told_that_have_changed(desk: QueueDesk) -> None:
    desk.take("a")
    desk.say("a", 4, 9, [1, 1, 1, 2, 2, 3])
    write = desk.store()
    assert write is not None
    assert (write.start_offset, write.complete_count) == (0, 4)
    assert write.batches == [
        StateBatch(4, 6, 2, 0),
        StateBatch(7, 8, 0, 1),
        StateBatch(9, 9, 4, 0),
    ]
    assert desk.store() is None


def test_after_a_write_of_which_nobody_knows_the_next_one_tells_the_truth(desk: QueueDesk) -> None:
    desk.take("a", 5)
    desk.say("a", 2, 3, ACCEPT)
    write = desk.share.take_write()
    assert write is not None
    desk.storage.take(write)
    desk.share.undo(write)
    assert desk.storage.is_finished(2), "and it is not"
    write = desk.store()
    assert write is not None
    assert write.batches == [StateBatch(2, 3, 0, 1)]
    assert not desk.storage.is_finished(2)


def test_what_is_under_way_twice_is_told_as_it_was_said_last(desk: QueueDesk) -> None:
    desk.take("a", 5)
    desk.wait()
    desk.take("b", 5)
    desk.say("b", 1, 4, ACCEPT)
    desk.store()
    assert [desk.storage.is_finished(offset) for offset in range(5)] == [False, *[True] * 4]


def test_nothing_is_told_of_what_lies_before_the_start(desk: QueueDesk) -> None:
    desk.take("a", 6)
    desk.settle("a", 2, 2, ACCEPT)
    desk.say("a", 0, 1, ACCEPT)
    desk.share.release("a", desk.now_ms, were_delivered=True)
    write = desk.store()
    assert write is not None
    assert (write.start_offset, write.batches) == (3, [StateBatch(3, 5, 0, 1)])


def test_where_a_share_begins_is_stored_before_anything_is_said(desk: QueueDesk) -> None:
    """Or one that begins at the end would begin elsewhere under the next leader."""
    assert desk.share.has_changes
    write = desk.store()
    assert write is not None
    assert write.start_offset == 0
    assert not desk.share.has_changes


def test_gaps_are_stored_with_what_members_say_and_not_by_themselves(desk: QueueDesk) -> None:
    """What is stored as the number of finished records counts them."""
    desk.store()
    desk.take("a", 3, missing=[(2, 3), (5, 6)])
    assert not desk.share.has_changes
    desk.say("a", 1, 1, ACCEPT)
    write = desk.store()
    assert write is not None
    assert [(each.first, each.last) for each in write.batches] == [(2, 3), (5, 6), (1, 1)]
    assert write.complete_count == sum(each.last - each.first + 1 for each in write.batches)
    desk.say("a", 4, 4, ACCEPT)
    write = desk.store()
    assert write is not None
    assert [(each.first, each.last) for each in write.batches] == [(4, 4)]


def test_many_changes_are_told_as_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "TOUCHED_MAX", 2)
    desk = QueueDesk()
    desk.store()
    for member in "abcd":
        desk.take(member, 1)
    desk.take("e", 1)
    for member in "abcd":
        desk.share.release(member, desk.now_ms, were_delivered=True)
    write = desk.store()
    assert write is not None
    assert write.touched is None
    assert write.batches == [StateBatch(0, 4, 0, 1)]


def test_what_the_log_has_lost_is_lost(desk: QueueDesk) -> None:
    desk.take("a")
    desk.say("a", 0, 9, ACCEPT)
    write = desk.share.take_write()
    assert write is not None
    desk.share.log_starts_at(50)
    desk.share.keep(write)
    assert desk.share.start_offset == 50
    assert desk.share.next_offset(desk.log_end) == 50
    assert desk.share.in_flight == 0


def test_what_was_read_and_is_not_wanted_stays_available(desk: QueueDesk) -> None:
    acquired = desk.share.acquire(Wanted("a", 5, 100, 2), 0.0)
    assert [each[:2] for each in acquired] == [(5, 6)]
    assert desk.take("b", 6) == [(0, 4, 1), (7, 7, 1)]


# Pauses between two deliveries


def test_what_is_given_back_is_given_to_nobody_for_a_while() -> None:
    desk = QueueDesk(backoff_ms=1000, backoff_ms_max=3000)
    desk.take("a", 1)
    desk.settle("a", 0, 0, RELEASE)
    assert desk.take("b", 2) == [(1, 2, 1)], "the rest goes on"
    assert desk.share.next_due_ms == 1000
    assert desk.wait(999) == 0
    assert desk.take("b", 1) == [(3, 3, 1)]
    assert desk.wait(1) == 1
    assert desk.take("b", 1) == [(0, 0, 2)]


def test_pauses_are_twice_as_long_after_each_delivery_up_to_a_limit() -> None:
    desk = QueueDesk(backoff_ms=1000, backoff_ms_max=3000)
    desk.log_end = 1
    for pause_ms in (1000, 2000, 3000, 3000):
        desk.take("a", 1)
        desk.settle("a", 0, 0, RELEASE)
        assert desk.wait(pause_ms - 1) == 0
        assert desk.wait(1) == 1


def test_pauses_are_alike_where_the_limit_is_not_higher() -> None:
    limits = Limits(backoff_ms=1000, backoff_ms_max=0)
    assert [limits.pause_ms(count) for count in (1, 2, 9)] == [1000, 1000, 1000]


def test_a_lock_that_ends_is_followed_by_a_pause() -> None:
    desk = QueueDesk(backoff_ms=1000)
    desk.log_end = 1
    desk.take("slow", 1)
    assert desk.wait(LOCK_MS) == 1
    assert desk.share.next_offset(1) is None
    assert desk.wait(1000) == 1
    assert desk.take("b", 1) == [(0, 0, 2)]


def test_who_gives_something_back_may_say_for_how_long_nobody_is_to_have_it() -> None:
    desk = QueueDesk(backoff_ms=1000)
    desk.log_end = 1
    desk.take("a", 1)
    desk.share.acknowledge("a", [Acknowledgement(0, 0, RELEASE, delay_ms=60_000)], desk.now_ms)
    desk.store()
    assert desk.wait(59_999) == 0
    assert desk.wait(1) == 1


def test_what_nobody_has_looked_at_can_be_given_back_as_if_it_had_not_been_delivered() -> None:
    desk = QueueDesk(backoff_ms=1000, deliveries=2)
    desk.log_end = 1
    for _ in range(5):
        assert desk.take("a", 1) == [(0, 0, 1)]
        desk.share.acknowledge("a", [Acknowledgement(0, 0, RELEASE, UNSEEN)], desk.now_ms)
        desk.store()


def test_a_delay_has_its_limits() -> None:
    desk = QueueDesk()
    desk.take("a", 1)
    for delay_ms in (UNSEEN - 1, DELAY_MS_MAX + 1):
        said = [Acknowledgement(0, 0, RELEASE, delay_ms)]
        wrong = refusal(partial(desk.share.acknowledge, "a", said, desk.now_ms))
        assert wrong is ErrorCode.INVALID_REQUEST


def test_a_pause_begins_when_it_is_asked_for_however_long_storing_takes() -> None:
    desk = QueueDesk(backoff_ms=1000)
    desk.log_end = 1
    desk.take("a", 1)
    desk.say("a", 0, 0, RELEASE)
    desk.wait(5000)
    desk.store()
    assert desk.wait(0) == 1
    assert desk.take("b", 1) == [(0, 0, 2)]


def test_what_was_never_looked_at_is_to_be_had_at_once() -> None:
    desk = QueueDesk(backoff_ms=1000)
    desk.take("a", 1)
    desk.share.release("a", desk.now_ms, were_delivered=False)
    assert desk.take("b", 1) == [(0, 0, 1)]


def test_who_is_lost_leaves_its_records_to_a_pause() -> None:
    desk = QueueDesk(backoff_ms=1000)
    desk.take("a", 1)
    desk.share.release("a", desk.now_ms, were_delivered=True)
    assert desk.take("b", 1) == [(1, 1, 1)]
    assert desk.wait(1000) == 1
    assert desk.take("b", 1) == [(0, 0, 2)]


def test_what_waits_counts_as_in_flight_and_is_had_at_once_from_the_next_leader() -> None:
    desk = QueueDesk(locks=2, backoff_ms=1000)
    desk.take("a", 2)
    desk.settle("a", 0, 1, RELEASE)
    assert desk.share.in_flight == 2
    assert desk.share.next_offset(desk.log_end) is None
    desk.fail_over(locks=2, backoff_ms=1000)
    assert desk.take("b", 2) == [(0, 1, 2)]
