"""Taking up a share that another leader has left."""

from __future__ import annotations

from tests.sharing.queue_desk import ACCEPT, RELEASE, QueueDesk

from penstock.config import GroupConfig
from penstock.sharing.limits import Limits, limits_of
from penstock.sharing.restoring import Extent, Stored, has_lost_records, restore
from penstock.wire.delivery import StateBatch

LIMITS = Limits()
LOG = Extent(10, 100)


def test_a_share_that_has_not_begun_begins_where_its_group_wants() -> None:
    share = restore(Stored(3, -1, []), LIMITS, LOG, beginning=70)
    assert (share.start_offset, share.state_epoch) == (70, 3)
    assert share.has_changes, "so that the next leader begins there too"


def test_a_share_goes_on_where_it_was() -> None:
    stored = Stored(0, 20, [StateBatch(22, 24, 2, 1), StateBatch(26, 27, 0, 3)])
    share = restore(stored, LIMITS, LOG, beginning=70)
    assert (share.start_offset, share.end_offset) == (20, 28)
    assert (share.in_flight, share.complete_count) == (5, 3)
    assert not share.has_changes


def test_what_is_finished_at_the_start_is_passed_over() -> None:
    stored = Stored(0, 20, [StateBatch(20, 24, 2, 1), StateBatch(25, 27, 4, 3)])
    share = restore(stored, LIMITS, LOG, beginning=70)
    assert (share.start_offset, share.span_count) == (28, 0)


def test_how_often_finished_records_were_delivered_is_forgotten() -> None:
    stored = Stored(0, 20, [StateBatch(22, 24, 2, 1), StateBatch(25, 27, 2, 3)])
    assert restore(stored, LIMITS, LOG, beginning=70).span_count == 2


def test_what_the_log_has_no_more_is_passed_over() -> None:
    stored = Stored(0, 2, [StateBatch(2, 4, 0, 1), StateBatch(8, 12, 0, 3)])
    share = restore(stored, LIMITS, LOG, beginning=0)
    assert (share.start_offset, share.end_offset) == (10, 13)


def test_locks_end_with_their_leader_and_deliveries_are_remembered_as_far_as_stored() -> None:
    desk = QueueDesk()
    desk.take("a", 4)
    desk.settle("a", 0, 1, RELEASE)
    desk.take("b", 2)
    desk.settle("a", 2, 2, ACCEPT)
    desk.fail_over()
    assert desk.take("c", 4) == [(0, 1, 2), (3, 4, 1)]


def test_what_is_over_its_limit_by_now_is_given_up_and_that_is_stored() -> None:
    stored = Stored(0, 20, [StateBatch(21, 22, 0, 5)])
    share = restore(stored, LIMITS, LOG, beginning=70)
    assert (share.in_flight, share.complete_count) == (1, 2)
    write = share.take_write()
    assert write is not None
    assert write.batches == [StateBatch(21, 22, 4, 0)]


def test_records_that_were_lost_are_noticed() -> None:
    assert not has_lost_records(Stored(0, 100, []), LOG)
    assert has_lost_records(Stored(0, 101, []), LOG)
    assert has_lost_records(Stored(0, 20, [StateBatch(99, 100, 2, 1)]), LOG)


def test_limits_are_those_of_the_group() -> None:
    config = GroupConfig(share_delivery_count_limit=7, share_record_lock_duration_ms=20_000)
    assert limits_of(config, buries=True) == Limits(2000, 7, 20_000, True, True, 0, 3_600_000)
    assert limits_of(GroupConfig()) == Limits()
