"""One partition of an internal topic, and what it holds: groups, say.

Whatever changes one of them is decided in a turn, appended as events, and applied. If the append is
undone later, because the disk failed, what is in memory is more than what is in the log: the shard
is given up then, and loaded again.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Generic, TypeVar

from penstock.api.handout import Handout
from penstock.api.outcome import Outcome
from penstock.api.replies import LATE, Parked, Rest, not_here_any_more, once_committed
from penstock.coordination.kind import K, Keeping
from penstock.coordination.loading import load
from penstock.coordination.pace import Pace
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.replication.leader import Leader
from penstock.wire.batch import read_header
from penstock.wire.batch_builder import build_batch, read_marker
from penstock.wire.records import Record

if TYPE_CHECKING:
    from penstock.api.coordinator import Coordinator

R = TypeVar("R")

SPARED_BYTES = 64 << 10
"""Of a full disk, for what no request asks for."""
HELD_UP_LOOK_MS = 200
"""Until it is looked whether a lost lease is back, or replicas are in sync again."""
BEGIN_COST = 100
"""Of one whose work begins, in names of topics."""


class Shard(Generic[K]):
    def __init__(self, coordinator: Coordinator[K], leader: Leader) -> None:
        self._coordinator = coordinator
        self.leader = leader
        self.kind = coordinator.kind
        self.kept: Keeping[K] = self.kind.keep()
        self.is_loaded = False
        self.is_over = False
        self._was_cut_off = False
        """The lease was lost for a while: members could not show that they are alive."""
        self.pause_ms = 0
        """Before it is loaded: the longer, the more often that has been in vain."""
        self.loaded_ms = 0.0
        self.end = leader.log.end_offset
        """Behind the last event that any of its groups is made of."""
        self._due: list[tuple[float, str]] = []
        self.handout = Handout(self._wake_now)

    def load(self) -> Steps[None]:
        """It may be that a former attempt has failed half way. None is looked at before all are
        there."""
        self.kept, self._due = self.kind.keep(), []
        due: list[tuple[float, str]] = []
        yield from load(self.leader.log, self.kind.topic, self.kept)
        for name, problem in self.kept.unread.items():
            self._coordinator.keep_unread(name, problem)
        pace = Pace()
        for one in self.kept:
            one.end = self.end
            one.wake_ms = yield from self._begin(one, pace)
            if one.wake_ms is not None:
                due.append((one.wake_ms, one.name))
            if pace.is_spent(BEGIN_COST):
                yield None
        heapify(due)
        self._due, self.is_loaded = due, True
        self.loaded_ms = self._coordinator.clock.monotonic_ms()
        if due:
            self._coordinator.wake_by(due[0][0])
        self._coordinator.on_written(self)

    def _begin(self, one: K, pace: Pace) -> Steps[float | None]:
        """When it is to be looked at first."""
        try:
            found = yield from self.kind.look_at(self._coordinator.broker.image, one, pace)
            turn = self._turn(None)
            self.kind.begin(turn, one, found)
        except Exception:
            self._coordinator.set_aside(one.name)
            return None
        return turn.wake_ms

    @property
    def is_true(self) -> bool:
        """Nobody else appends to this log. If its end is another one, appends were undone."""
        return self.leader.log.end_offset == self.end and not self._was_cut_off

    def is_cut_off(self) -> bool:
        """Whether the lease is lost: another broker may look after these groups by now."""
        if self._coordinator.broker.has_lease():
            return False
        self._was_cut_off = True
        return True

    def check_lease(self) -> None:
        if self.is_cut_off():
            raise not_here_any_more()

    # -- turns

    def decide(
        self, name: str, decide: Callable[[Turn, K], R | None], late: ErrorCode = LATE
    ) -> Outcome[R]:
        """Carry out a request on one of them, which is there from now on if it was not before.

        None from `decide` means that the turn's reply was kept: its answer comes later. `late` is
        for an answer that takes too long to be committed.
        """
        one = self.kept.get_or_add(name)
        parked = Parked()
        answer = self._run(self._turn(parked), one, decide)
        if answer is None:
            return parked.outcome()
        return once_committed([self.rest(one)], answer, late)

    def decide_part(self, name: str, decide: Callable[[Turn, K], R]) -> tuple[R, Rest]:
        """The same for a part of a request: what comes of it, and what that rests on."""
        one = self.kept.get_or_add(name)
        answer = self._run(self._turn(Parked()), one, decide)
        assert answer is not None
        return answer, self.rest(one)

    def look_after(self, one: K, decide: Callable[[Turn, K], None]) -> int:
        """Carry out what no request has asked for, and say what that has cost."""
        turn = self._turn(None)
        self._run(turn, one, decide)
        return turn.cost

    def take_away(self, one: K, decide: Callable[[Turn, K], None]) -> None:
        """Carry out a part of a request that only forgets: it needs no room on the disk, and leaves
        no traces if it is refused."""

        def checked(turn: Turn, one: K) -> None:
            decide(turn, one)
            if turn.events:
                self.check_can_commit()

        self.look_after(one, checked)

    def _run(self, turn: Turn, one: K, decide: Callable[[Turn, K], R | None]) -> R | None:
        try:
            answer = decide(turn, one)
            self._check_room(turn)
            self._check_in_sync(turn)
        except Refused:
            self._arm(one, turn.wake_ms)
            self._remove_if_forgotten(one)
            raise
        except Exception:
            if turn.reply is None:
                self._coordinator.failed(one.name)
            self._coordinator.load_again(self)  # a bug; who knows what it left half done
            raise
        if answer is None and isinstance(turn.reply, Parked):
            self.handout.park(turn.reply)
        self._carry_out(turn, one)
        self._remove_if_forgotten(one)
        return answer

    def _check_room(self, turn: Turn) -> None:
        """While the disk is full, what a request brings must fit into what is left: or all that is
        written in this pass would fail with it."""
        if turn.room_bytes is None or turn.reply is None or not turn.events:
            return
        try:
            turn.check_room(len(_batch(turn)))
        except Refused:
            self._drop_traces(turn)
            raise

    def _check_in_sync(self, turn: Turn) -> None:
        """What could not be committed is not written: what is there would be hidden by it."""
        if turn.reply is None or not turn.events:
            return
        try:
            self.check_can_commit()
        except Refused:
            self._drop_traces(turn)
            raise

    def check_can_commit(self) -> None:
        if self.leader.has_too_few_in_sync:
            count, noun = len(self.leader.in_sync), self.kind.noun
            raise Refused(
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                f"{count} replicas of the {noun}s are in sync, fewer than min.insync.replicas: "
                "start the missing brokers",
            )

    def _drop_traces(self, turn: Turn) -> None:
        if self.kind.has_left_traces(turn):
            self._coordinator.load_again(self)

    def rest(self, one: K | None) -> Rest:
        """What an answer about one rests on; that there is none may be as new as anything."""
        return Rest(self, self.end if one is None else one.end)

    def _remove_if_forgotten(self, one: K) -> None:
        if one.is_forgotten:
            self.kept.remove(one.name)

    def _turn(self, reply: Parked | None) -> Turn:
        broker, clock = self._coordinator.broker, self._coordinator.clock
        room_bytes = None
        if broker.disk_is_full:
            room_bytes = broker.disk.free_bytes(broker.config.data_dir) - SPARED_BYTES
        return Turn(
            broker.config,
            broker.image,
            broker.chance,
            clock.now_ms(),
            clock.monotonic_ms(),
            reply,
            room_bytes,
        )

    def _carry_out(self, turn: Turn, one: K) -> None:
        if turn.events:
            try:
                one.end = self.end = self._append(_batch(turn), turn.now_ms)
            except Exception:
                self._coordinator.load_again(self)  # the turn has left its traces in memory
                raise
            self._apply(turn, one.end)
            self._coordinator.on_written(self)
        if turn.wake_ms is not None:
            self._arm(one, turn.wake_ms)
        if turn.answers:
            self.handout.add(turn.answers, self.rest(one))

    def _apply(self, turn: Turn, end: int) -> None:
        """What a transaction has written is kept apart until it is over."""
        if turn.writer is None:
            turn.apply(self.kept.apply)
            return
        for event in turn.events:
            self.kept.hold(turn.writer[0], event, end)

    def end_transaction(self, marker: bytearray, now_ms: int) -> int:
        """What it has written counts from now on, or is dropped. Behind which offset that is."""
        self.end = self._append(marker, now_ms)
        told = read_marker(marker)
        for one in self.kept.release(told.producer_id, told.is_commit):
            one.end = self.end
            if one.has_work:
                self._arm(one, self._coordinator.clock.monotonic_ms())
            self._remove_if_forgotten(one)
        return self.end

    def _append(self, batch: bytearray, now_ms: int) -> int:
        leader = self.leader
        done = leader.log.append(batch, read_header(batch), now_ms, leader.epoch)
        self._coordinator.broker.appended(leader)
        return done.last_offset + 1

    def give_up(self) -> None:
        """Who waits here is told to ask again who looks after that now."""
        self.is_over = True
        self.handout.drop(Rest(self, 0))
        self.leader.committed.drop()

    # -- time

    def _arm(self, one: K, wake_ms: float | None) -> None:
        if wake_ms is None or (one.wake_ms is not None and one.wake_ms <= wake_ms):
            return
        one.wake_ms = wake_ms
        heappush(self._due, (wake_ms, one.name))
        self._coordinator.wake_by(wake_ms)

    def _wake_now(self) -> None:
        self._coordinator.wake_by(self._coordinator.clock.monotonic_ms())

    @property
    def is_held_up(self) -> bool:
        """What is due has to wait: it could not be written."""
        return self.is_cut_off() or self.leader.has_too_few_in_sync

    @property
    def next_due_ms(self) -> float | None:
        if self.is_held_up:
            return self._coordinator.clock.monotonic_ms() + HELD_UP_LOOK_MS
        return self._due[0][0] if self._due else None

    def take_due(self, time_ms: float) -> K | None:
        """One that is due to be looked at."""
        while self._due and self._due[0][0] <= time_ms:
            due_ms, name = heappop(self._due)
            one = self.kept.get(name)
            if one is not None and one.wake_ms == due_ms:
                one.wake_ms = None
                if not self._coordinator.is_set_aside(name):
                    return one
        return None


def _batch(turn: Turn) -> bytearray:
    """One, so that a turn is in the log as a whole or not at all."""
    records = [
        Record(number, turn.now_ms, *event.encoded()) for number, event in enumerate(turn.events)
    ]
    if turn.writer is None:
        return build_batch(records)
    producer_id, epoch = turn.writer
    return build_batch(records, producer_id=producer_id, producer_epoch=epoch, transactional=True)
