"""One partition in one share group, as its leader keeps it.

Nothing here waits. Records are read elsewhere; what is to be stored is handed out (`take_write`),
and comes back as stored or not; what is to go to the dead letters is handed out too. Time is given
with every call, and locks that have ended by then are over before anything else is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.errors import ErrorCode, Refused
from penstock.sharing import acquiring
from penstock.sharing.acknowledging import UNSEEN, Acknowledgement, Answer, Run, runs
from penstock.sharing.acquiring import Acquired, Wanted
from penstock.sharing.limits import Limits
from penstock.sharing.phases import Phase
from penstock.sharing.spans import Span
from penstock.sharing.window import DONE, DROPPED, DeadLetters, Fate, Window
from penstock.sharing.writes import Change, Pending, Write, together

NOT_STORED = -1


class SharePartition:
    def __init__(
        self, start: int, limits: Limits, *, state_epoch: int = 0, stored_start: int = NOT_STORED
    ) -> None:
        self._window = Window(start, limits)
        self.state_epoch = state_epoch
        self.stored_start = stored_start
        """What the coordinator knows of the start: all below is finished, come what may, and a
        queue may delete it."""
        self._queue: list[Pending] = []
        self._writing: Write | None = None

    # -- where it is

    @property
    def start_offset(self) -> int:
        """All below is finished."""
        return self._window.start

    @property
    def end_offset(self) -> int:
        """From here on nobody was given anything."""
        return self._window.end

    @property
    def in_flight(self) -> int:
        """Records between the two that are not finished."""
        return self._window.in_flight

    @property
    def complete_count(self) -> int:
        """And those that are."""
        return self._window.finished

    @property
    def is_busy(self) -> bool:
        """Whether more is to come of it, even if nobody asks for records."""
        counts = self._window.counts
        waits = counts[Phase.ACQUIRED] + counts[Phase.WAITING] + counts[Phase.BURYING]
        return waits > 0 or self.has_changes or self._writing is not None

    @property
    def span_count(self) -> int:
        return len(self._window.spans)

    @property
    def window(self) -> Window:
        return self._window

    @property
    def limits(self) -> Limits:
        return self._window.limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        """Locks that are held end when it was said."""
        self._window.limits = limits

    # -- giving records out

    def next_offset(self, end: int) -> int | None:
        """Where to read for whoever asks next, below `end`. None: nothing can be had now."""
        return acquiring.next_offset(self._window, end)

    def acquire(
        self, wanted: Wanted, now_ms: float, missing: Iterable[tuple[int, int]] = ()
    ) -> list[Acquired]:
        """Of the records that were read, those that are this member's from now on, in order.

        `missing`: first and last offsets, in order, of stretches of what was read that hold no
        records for anybody: control records, aborted transactions, gaps. They are finished.
        """
        self.expire(now_ms)
        acquiring.archive_missing(self._window, missing)
        acquired = acquiring.acquire(self._window, wanted, now_ms + self.limits.lock_ms)
        self._window.advance()
        return acquired

    # -- what members say of them

    def acknowledge(
        self, member: str, acknowledgements: Iterable[Acknowledgement], now_ms: float
    ) -> Pending:
        """Raises Refused, and nothing has changed then. All that is not done at once counts when
        the write that it goes with is kept."""
        said = runs(acknowledgements)
        self.expire(now_ms)
        said = _from(said, self.start_offset)
        self._check(member, said)
        pending = Pending()
        if said:
            self._take_note(said, pending, now_ms)
        if pending.changes:
            self._queue.append(pending)
        else:
            pending.is_done = pending.is_kept = True
        return pending

    def _check(self, member: str, said: Sequence[Run]) -> None:
        spans = self._window.spans
        if said and said[-1].last >= spans.end:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                f"offset {said[-1].last} was given to nobody yet; up to {spans.end - 1} some were",
            )
        if not self.limits.may_renew and any(run.answer is Answer.RENEW for run in said):
            raise Refused(
                ErrorCode.INVALID_RECORD_STATE,
                "the group does not renew locks: see share.renew.acknowledge.enable",
            )
        for first, last in together((run.first, run.last) for run in said):
            for span in spans.within(first, last):
                if not _is_held(span) or span.member != member:
                    raise _not_yours(span, member)

    def _take_note(self, said: Sequence[Run], pending: Pending, now_ms: float) -> None:
        window, is_renewed, lock_ms = self._window, False, now_ms + self.limits.lock_ms
        first, last = said[0].first, said[-1].last
        window.spans.cut_at_all([at for run in said for at in (run.first, run.last + 1)])
        for run in said:
            spans = window.spans.within(run.first, run.last)
            if run.answer is Answer.RENEW:
                is_renewed = True
                for span in spans:
                    span.lock_ms = lock_ms
            else:
                self._note(spans, run, pending, now_ms)
        if is_renewed:
            window.spans.join(first, last)
            window.lock(first, last, lock_ms)

    def _note(self, spans: Iterable[Span], run: Run, pending: Pending, now_ms: float) -> None:
        for span in spans:
            span.pending = pending
            fate = self._fate(run, span.deliveries, now_ms)
            pending.changes.append(Change(span.first, span.last, fate))

    def _fate(self, run: Run, deliveries: int, now_ms: float) -> Fate:
        """A pause begins when it is asked for, and not when that is stored."""
        if run.answer is Answer.ACCEPT:
            return DONE
        if run.answer is Answer.RELEASE and run.delay_ms == UNSEEN:
            return self._window.given_back(deliveries - 1, now_ms, 0)
        if run.answer is Answer.RELEASE:
            pause_ms = run.delay_ms or self.limits.pause_ms(deliveries)
            return self._window.given_back(deliveries, now_ms, pause_ms)
        if run.answer is Answer.REJECT:
            return self._window.given_up(deliveries, rejected_after=deliveries)
        return DROPPED

    # -- what happens without them

    @property
    def next_due_ms(self) -> float | None:
        """When to call `expire` at the latest."""
        return self._window.locks.next_due_ms

    def expire(self, now_ms: float) -> int:
        """Locks and pauses that have ended by now: how many records are with nobody for that, or
        can be had again. What is being stored is waited for; if it is not kept, the lock is over at
        once."""
        window, count = self._window, 0
        due = window.locks.take_due(now_ms)
        for lock in due:
            for span in window.spans.within(lock.first, lock.last):
                if span.lock_ms > now_ms:
                    continue
                if _is_held(span):
                    count += self._give_back(span, now_ms, self.limits.pause_ms(span.deliveries))
                elif span.phase is Phase.WAITING:
                    window.move(span, Phase.AVAILABLE, span.deliveries)
                    count += len(span)
            window.spans.join(lock.first, lock.last)
        if count:
            window.advance()
        return count

    def release(self, member: str, now_ms: float, *, were_delivered: bool) -> int:
        """A member has gone: how many records are with nobody for that.

        `were_delivered`: it may have been at any of them, as one whose connection is lost. Who has
        closed its session has said all that there was to say, and never looked at the rest, which
        others can have at once.
        """
        window, count = self._window, 0
        for span in list(window.spans):
            if _is_held(span) and span.member == member:
                pause_ms = self.limits.pause_ms(span.deliveries) if were_delivered else 0
                if not were_delivered:
                    span.deliveries -= 1
                count += self._give_back(span, now_ms, pause_ms)
        if count:
            window.spans.join(window.start, window.end - 1)
            window.advance()
        return count

    def _give_back(self, span: Span, now_ms: float, pause_ms: int) -> int:
        window = self._window
        window.touch(span.first, span.last)
        window.settle(span, window.given_back(span.deliveries, now_ms, pause_ms))
        return len(span)

    def log_starts_at(self, offset: int) -> None:
        """What lies below is not there any more, whoever has it."""
        if offset > self.start_offset:
            self._window.drop_below(offset)
            self._window.advance()

    # -- dead letters

    @property
    def has_dead_letters(self) -> bool:
        """That nobody has taken yet."""
        return bool(self._window.dead)

    def take_dead_letters(self) -> list[DeadLetters]:
        """Records to be written to the dead letters. What is not there yet when this leader is
        gone is given out again by the next one."""
        taken, self._window.dead = self._window.dead, []
        return taken

    def buried(self, first: int, last: int) -> None:
        """They are written there."""
        window = self._window
        for span in window.spans.cut(first, last):
            if span.phase is Phase.BURYING:
                window.touch(span.first, span.last)
                window.move(span, Phase.ARCHIVED, 0)
        window.spans.join(first, last)
        window.advance()

    # -- storing

    @property
    def has_changes(self) -> bool:
        """That are not stored, and not under way."""
        return (
            bool(self._queue)
            or self._window.touched != []
            or (self._writing is None and self.stored_start != self.start_offset)
        )

    def take_write(self) -> Write | None:
        """What is to be stored next. None: nothing, or the last one is still under way."""
        if self._writing is not None or not self.has_changes:
            return None
        pending, self._queue = self._queue, []
        touched = self._window.take_touched()
        self._writing = Write(self._window, self.state_epoch, pending, touched)
        return self._writing

    def keep(self, write: Write) -> None:
        """It is stored."""
        self._end(write)
        for pending in write.pending:
            pending.commit(self._window)
        self.stored_start = max(self.stored_start, write.start_offset)
        self._window.advance()

    def undo(self, write: Write) -> None:
        """It is not, or nobody knows: so the next one tells of it."""
        self._end(write)
        if write.touched is None:
            self._window.touched = None
        else:
            for first, last in write.touched:
                self._window.touch(first, last)
        for pending in write.pending:
            pending.undo(self._window)

    def _end(self, write: Write) -> None:
        assert write is self._writing
        self._writing = None


def _from(said: list[Run], start: int) -> list[Run]:
    """What lies below is finished, whatever is said of it."""
    if not said or said[0].first >= start:
        return said
    return [run._replace(first=max(run.first, start)) for run in said if run.last >= start]


def _is_held(span: Span) -> bool:
    return span.phase is Phase.ACQUIRED and span.pending is None


def _not_yours(span: Span, member: str) -> Refused:
    if span.phase is not Phase.ACQUIRED:
        why = "are with nobody: a lock ends after share.record.lock.duration.ms"
    elif span.member != member:
        why = "are with another member"
    else:
        why = "were acknowledged before, which is being stored"
    return Refused(ErrorCode.INVALID_RECORD_STATE, f"records {span.first} to {span.last} {why}")
