"""Everything that can befall a share, in any order, against a table of single records."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from tests.sharing.naive import Naive, Storage

from penstock.errors import ErrorCode, Refused
from penstock.sharing.acknowledging import UNSEEN, Acknowledgement
from penstock.sharing.acquiring import Acquired, Wanted
from penstock.sharing.limits import Limits
from penstock.sharing.partition import SharePartition
from penstock.sharing.phases import FINISHED, STORED, TIMED, Phase
from penstock.sharing.restoring import Extent, Stored, restore
from penstock.sharing.window import DeadLetters
from penstock.sharing.writes import Pending, Write

LOCK_MS = 100
MEMBERS = st.sampled_from(["a", "b", "c"])
TYPES = st.integers(0, 4)
DELAYS = st.sampled_from([0, 0, 45, UNSEEN])


def offsets(acquired: list[Acquired]) -> dict[int, int]:
    return {
        offset: each.deliveries for each in acquired for offset in range(each.first, each.last + 1)
    }


def offsets_of(write: Write) -> set[int]:
    changes = [change for pending in write.pending for change in pending.changes]
    return {offset for each in changes for offset in range(each.first, each.last + 1)}


class ShareMachine(RuleBasedStateMachine):
    @initialize(
        locks=st.integers(1, 12),
        deliveries=st.integers(2, 4),
        buries=st.booleans(),
        backoff_ms=st.sampled_from([0, 0, 30, 60]),
    )
    def begin(self, locks: int, deliveries: int, buries: bool, backoff_ms: int) -> None:
        limits = Limits(locks, deliveries, LOCK_MS, True, buries, backoff_ms, 100)
        self.share, self.naive = SharePartition(0, limits), Naive(0, limits)
        self.storage = Storage()
        self.now_ms, self.log_start, self.log_end = 0.0, 0, 10
        self.write: Write | None = None
        self.letters: list[DeadLetters] = []
        """That somebody has taken, and not written yet."""
        self.waiting: list[tuple[Pending, set[int]]] = []
        """Requests, with the offsets that they want to be finished with."""
        self.unsure = -1
        """The coordinator may have been told of this start, and nobody heard of it."""
        self.finished: set[int] = set()
        """What somebody was told to be finished: it must never be seen again."""

    # -- giving out

    def _acquire(self, member: str, first: int, most: int, end: int) -> dict[int, int]:
        wanted = Wanted(member, first, end, most)
        acquired = offsets(self.share.acquire(wanted, self.now_ms))
        self.naive.expire(self.now_ms)
        assert acquired == self.naive.acquire(member, first, end, most, self.now_ms + LOCK_MS)
        assert not acquired.keys() & self.finished
        assert all(count <= self.share.limits.deliveries for count in acquired.values())
        return acquired

    @rule(member=MEMBERS, most=st.integers(0, 15))
    def acquire_next(self, member: str, most: int) -> None:
        self.share.expire(self.now_ms)
        first = self.share.next_offset(self.log_end)
        acquired = self._acquire(member, first or 0, most, self.log_end)
        if first is None:
            assert not acquired

    @rule(member=MEMBERS, most=st.integers(1, 15), ahead=st.integers(0, 6), back=st.integers(0, 6))
    def acquire_anywhere(self, member: str, most: int, ahead: int, back: int) -> None:
        self._acquire(member, self.share.start_offset + ahead, most, self.log_end - back)

    @rule(gaps=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=3))
    def find_gaps(self, gaps: list[tuple[int, int]]) -> None:
        at, missing = self.share.start_offset, []
        for skipped, length in gaps:
            missing.append((at + skipped, min(at + skipped + length, self.log_end - 1)))
            at += skipped + length + 1
        missing = [gap for gap in missing if gap[0] <= gap[1]]
        self.share.acquire(Wanted("a", 0, 0, 0), self.now_ms, missing)
        self.naive.expire(self.now_ms)
        self.naive.miss(missing)

    # -- what is said

    @rule(
        member=MEMBERS,
        first=st.integers(0, 60),
        length=st.integers(0, 4),
        number=TYPES,
        delay_ms=DELAYS,
    )
    def acknowledge_anything(
        self, member: str, first: int, length: int, number: int, delay_ms: int
    ) -> None:
        self._acknowledge(member, [Acknowledgement(first, first + length, [number], delay_ms)])

    @precondition(lambda self: self.naive.held())
    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        """What somebody has, in one go or in two, with a type for each or one for all."""
        member, first, last = data.draw(st.sampled_from(self.naive.held()))
        first = data.draw(st.integers(first, last))
        last = data.draw(st.integers(first, last))
        count = last - first + 1
        types = data.draw(st.lists(TYPES, min_size=count, max_size=count))
        types = types[:1] if data.draw(st.booleans()) else types
        self._acknowledge(member, [Acknowledgement(first, last, types, data.draw(DELAYS))])

    def _acknowledge(self, member: str, said: list[Acknowledgement]) -> None:
        self.naive.expire(self.now_ms)
        last = said[-1].last
        if not self.naive.may_acknowledge(member, said):
            with pytest.raises(Refused) as caught:
                self.share.acknowledge(member, said, self.now_ms)
            is_beyond = last >= self.naive.end
            wrong = ErrorCode.INVALID_REQUEST if is_beyond else ErrorCode.INVALID_RECORD_STATE
            assert caught.value.code in (wrong, ErrorCode.INVALID_RECORD_STATE)
            return
        pending = self.share.acknowledge(member, said, self.now_ms)
        self.naive.acknowledge(said, self.now_ms, LOCK_MS)
        if pending.is_done:
            assert not pending.changes
            return
        ends = [change for change in pending.changes if change.fate.phase in FINISHED]
        self.waiting.append((pending, {o for c in ends for o in range(c.first, c.last + 1)}))

    # -- storing

    @rule()
    def take_write(self) -> None:
        write = self.share.take_write()
        if write is not None:
            assert self.write is None
            self.write = write
            told = self.naive.told(offsets_of(write))
            assert (write.start_offset, write.complete_count) == told

    @rule()
    def store(self) -> None:
        """As it goes on most days."""
        if self.write is None:
            self.take_write()
        if self.write is not None:
            self.keep()

    @precondition(lambda self: self.write)
    @rule()
    def keep(self) -> None:
        assert self.write is not None
        self.storage.take(self.write)
        self.share.keep(self.write)
        self._end_write(is_kept=True)
        assert self.share.start_offset >= self.share.stored_start
        assert self.storage.start == max(self.share.stored_start, self.unsure)

    @precondition(lambda self: self.write)
    @rule(was_stored=st.booleans())
    def undo(self, was_stored: bool) -> None:
        assert self.write is not None
        if was_stored:
            self.storage.take(self.write)  # only its answer was lost
            self.unsure = self.storage.start
        self.share.undo(self.write)
        self._end_write(is_kept=False)

    def _end_write(self, *, is_kept: bool) -> None:
        assert self.write is not None
        said = {
            o for p in self.write.pending for c in p.changes for o in range(c.first, c.last + 1)
        }
        self.naive.end_write(said, is_kept)
        for pending, done in self.waiting:
            if pending in self.write.pending:
                assert pending.is_done
                assert pending.is_kept is is_kept
                if is_kept:
                    self.finished |= done
        self.waiting = [each for each in self.waiting if not each[0].is_done]
        self.write = None

    # -- what happens

    @rule(ms=st.sampled_from([1, 40, 99, 100, 250]))
    def wait(self, ms: int) -> None:
        self.now_ms += ms

    @rule()
    def expire(self) -> None:
        due_ms = self.share.next_due_ms
        count = self.share.expire(self.now_ms)
        assert due_ms is not None or not count
        self.naive.expire(self.now_ms)
        locks = [
            row.lock_ms
            for row in self.naive.rows.values()
            if (row.phase is Phase.ACQUIRED and row.after is None) or row.phase is Phase.WAITING
        ]
        if locks:
            assert self.share.next_due_ms is not None
            assert self.share.next_due_ms <= min(locks)

    @rule(member=MEMBERS, were_delivered=st.booleans())
    def leave(self, member: str, were_delivered: bool) -> None:
        self.share.release(member, self.now_ms, were_delivered=were_delivered)
        self.naive.release(member, were_delivered, self.now_ms)

    @precondition(lambda self: self.log_end < 60)
    @rule(count=st.integers(1, 10))
    def produce(self, count: int) -> None:
        self.log_end += count

    @rule(count=st.integers(1, 8))
    def expire_log(self, count: int) -> None:
        self.log_start = min(self.log_start + count, self.log_end)
        self.share.log_starts_at(self.log_start)
        self.naive.log_starts_at(self.log_start)

    @rule()
    def take_dead_letters(self) -> None:
        letters = self.share.take_dead_letters()
        told = {o for each in letters for o in range(each.first, each.last + 1)}
        assert told == self.naive.buried
        self.naive.buried.clear()
        self.letters += letters

    @precondition(lambda self: self.letters)
    @rule(data=st.data())
    def bury(self, data: st.DataObject) -> None:
        """Some of them are written, in whatever order."""
        letter = self.letters.pop(data.draw(st.integers(0, len(self.letters) - 1)))
        last = data.draw(st.integers(letter.first, letter.last))
        self.share.buried(letter.first, last)
        self.naive.bury(range(letter.first, last + 1))
        if last < letter.last:
            self.letters.append(letter._replace(first=last + 1))

    def bury_all(self) -> None:
        self.take_dead_letters()
        for letter in self.letters:
            self.share.buried(letter.first, letter.last)
            self.naive.bury(range(letter.first, letter.last + 1))
        self.letters.clear()

    @rule()
    def fail_over(self) -> None:
        """The next leader has what was stored, and no more."""
        limits = self.share.limits
        stored = Stored(0, self.storage.start, self.storage.batches())
        extent = Extent(self.log_start, self.log_end)
        self.share = restore(stored, limits, extent, beginning=0)
        gaps = self.naive.gaps
        self.naive = self.storage.restored(limits, self.log_start)
        self.naive.gaps = gaps
        self.write, self.waiting, self.letters = None, [], []
        for offset in self.finished:
            assert offset < self.log_start or self.storage.is_finished(offset)

    # -- what holds

    @invariant()
    def is_as_the_table_says(self) -> None:
        share, naive = self.share, self.naive
        assert (share.start_offset, share.end_offset) == (naive.start, naive.end)
        assert share.in_flight == naive.in_flight
        assert share.in_flight + share.complete_count == naive.end - naive.start
        spans = list(share.window.spans)
        found = {o: span for span in spans for o in range(span.first, span.last + 1)}
        assert list(found) == list(naive.rows), "each offset once, in order"
        for offset, row in naive.rows.items():
            span = found[offset]
            assert (span.phase, span.deliveries) == (row.phase, row.deliveries), offset
            assert (span.pending is not None) == (row.after is not None), offset
            if row.phase in TIMED:
                assert (span.member, span.lock_ms) == (row.member, row.lock_ms)
        for one, two in pairwise(spans):
            if one.phase is not Phase.ACQUIRED:
                assert not one.is_like(two), "what is alike is one"
        available = [o for o, row in naive.rows.items() if row.phase is Phase.AVAILABLE]
        assert all(share.window.open <= offset for offset in available)

    @invariant()
    def the_next_leader_would_find_it_so(self) -> None:
        """Where nothing is left to be stored, and nothing is on its way."""
        if self.write is None and not self.share.has_changes:
            assert self.storage.start == max(self.naive.start, self.unsure)
            for offset, row in self.naive.rows.items():
                if offset < self.storage.start:
                    continue
                state, deliveries = self.storage.rows.get(offset, (0, 0))
                if row.phase is Phase.ACQUIRED:
                    assert state == 0
                    assert deliveries in (row.deliveries, row.deliveries - 1)
                elif offset not in self.naive.gaps:
                    expected = (STORED[row.phase], row.deliveries)
                    assert (state, deliveries) == expected, offset

    @invariant()
    def no_dead_letter_is_missing(self) -> None:
        burying = {o for o, row in self.naive.rows.items() if row.phase is Phase.BURYING}
        taken = {o for each in self.letters for o in range(each.first, each.last + 1)}
        assert burying <= taken | self.naive.buried

    @invariant()
    def locks_are_remembered_as_long_as_they_last(self) -> None:
        assert len(self.share.window.locks) <= 2 * self.share.span_count + 65

    def teardown(self) -> None:
        """Nothing is lost: whatever is not finished can be had again once all locks have ended."""
        if not hasattr(self, "share"):
            return
        if self.write is not None:
            self.undo(was_stored=False)
        self.take_write()
        if self.write is not None:
            self.keep()
        self.now_ms += 10 * LOCK_MS
        self.expire()
        self.now_ms += 10 * LOCK_MS
        for _ in range(3 * self.log_end):  # with one lock at a time
            self.expire()
            self.bury_all()
            left = {o for o, row in self.naive.rows.items() if row.phase not in FINISHED}
            assert all(self.naive.rows[o].phase is Phase.AVAILABLE for o in left)
            first = self.share.next_offset(self.log_end)
            if first is None:
                break
            had = self._acquire("a", first, 1000, self.log_end)
            assert had.keys() >= left - self.naive.buried, "all that was left, and maybe new ones"
            said = [Acknowledgement(o, o, [1]) for o in had]
            self.share.acknowledge("a", said, self.now_ms)
            self.naive.acknowledge(said, self.now_ms, LOCK_MS)
            self.take_write()
            self.keep()
        assert self.share.start_offset >= self.log_end
        assert self.share.in_flight == 0


TestShare = ShareMachine.TestCase
TestShare.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
