"""What this broker looks after: groups, say, whose partition of the offsets topic it leads."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Generic

from penstock.api.opening import NotOpen
from penstock.api.shard import Shard
from penstock.coordination.kind import K, Kind, Sweep
from penstock.coordination.pace import Pace
from penstock.coordination.turn import TURN_COST, Turn
from penstock.errors import ErrorCode, Refused
from penstock.metadata.records import PartitionRecord
from penstock.world.ports import Clock

if TYPE_CHECKING:
    from penstock.api.broker import Broker

log = logging.getLogger(__name__)

FAILURES_MAX = 2
"""What fails once may do better when it has been loaded again."""
PAUSE_MS_MIN = 100
PAUSE_MS_MAX = 10_000
"""Before what has been loaded before is loaded again; twice as long each time."""
TAKE_UP_AGAIN_MS = 200
"""After which it is tried again to take up a partition whose log is being opened, or cannot be."""
HELD_MS = 60_000
"""What has been well for so long is not said to have been loaded in vain."""


class Coordinator(Generic[K]):
    def __init__(self, broker: Broker, clock: Clock, kind: Kind[K]) -> None:
        self.broker = broker
        self.kind = kind
        self.clock = clock
        self.shards: dict[int, Shard[K]] = {}
        """By partition of the internal topic; some may still be loading."""
        self.on_new_shard: Callable[[Shard[K]], None] = lambda shard: None
        """Told of a shard that has to be loaded."""
        self.on_written: Callable[[Shard[K]], None] = lambda shard: None
        """Told when something was written in a shard, or all of it was loaded."""
        self.wake_by: Callable[[float], None] = lambda time_ms: None
        """Told when one of them is to be looked at, in the clock's monotonic time."""
        self._missed: dict[int, bool] = {}
        """Partitions that could not be taken up, and whether that is because their logs are still
        being opened."""
        self._failures: Counter[str] = Counter()
        """Of those that could not be looked after."""

    # -- who looks after what

    def place(self, name: str) -> tuple[int, PartitionRecord]:
        """The partition that it is in. Raises Refused while the internal topic is not there."""
        kind = self.kind
        if not name:
            raise Refused(kind.bad_name, f"a {kind.noun} has a name")
        if len(name) > kind.name_chars_max:
            raise Refused(
                kind.bad_name,
                f"the {kind.noun}'s name has {len(name)} characters, {kind.name_chars_max} are "
                "allowed",
            )
        topic = self.broker.image.topic(kind.topic)
        index = hash_of(name) % topic.record.partitions if topic else -1
        record = topic.partition(index) if topic else None
        if record is None:
            raise Refused(
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                f"nobody looks after the {kind.noun} yet; try again",
            )
        return index, record

    def shard(self, name: str) -> Shard[K]:
        """Where it is looked after. Raises Refused if that is not here, or not yet."""
        noun, (index, record) = self.kind.noun, self.place(name)
        if record.leader != self.broker.node_id:
            raise Refused(ErrorCode.NOT_COORDINATOR, f"another broker looks after the {noun}")
        shard = self.shard_at(index)
        if self.is_set_aside(name):
            raise Refused(
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                f"the {noun} fails whenever it is looked after: see the broker's log, and start it "
                "again when the cause is gone",
            )
        if (known := shard.kept.get(name)) is not None and known.is_ending:
            raise Refused(
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, f"the {noun} is being deleted; try again"
            )
        return shard

    def shard_at(self, index: int) -> Shard[K]:
        """Of a partition that this broker leads. Raises Refused if it cannot be used yet."""
        shard = self.shards.get(index) or self._take_up(index)
        if shard is not None:
            shard.check_lease()
        if shard is None or not self._is_usable(shard):
            raise self.still_loading()
        return shard

    def loaded(self, *, needs_all: bool = False) -> list[Shard[K]]:
        """All of them. Raises Refused while any is not. `needs_all`: also where a log cannot be
        read."""
        for index in sorted(self._led() - self.shards.keys()):
            self._take_up(index)
        if any(needs_all or is_opening for is_opening in self._missed.values()):
            raise self.still_loading()
        shards = list(self.shards.values())
        for shard in shards:
            shard.check_lease()
        usable = [shard for shard in shards if self._is_usable(shard)]
        if len(usable) < len(shards):
            raise self.still_loading()
        return usable

    def _is_usable(self, shard: Shard[K]) -> bool:
        """What does not rest on the log any more is loaded again."""
        if shard.is_cut_off():
            return False
        if shard.is_loaded and not shard.is_true:
            self.load_again(shard)
        return shard.is_loaded and not shard.is_over

    # -- following the cluster

    def follow(self) -> None:
        """Take up what this broker leads now, and drop what it no longer does."""
        led = self._led()
        over = {index for index, shard in self.shards.items() if shard.leader.over is not None}
        for index in (self.shards.keys() - led) | over:
            self.shards.pop(index).give_up()
        for index in sorted(led - self.shards.keys()):
            self._take_up(index)

    def _led(self) -> set[int]:
        topic = self.broker.image.topic(self.kind.topic)
        partitions = topic.partitions if topic is not None else ()
        return {
            index
            for index, record in enumerate(partitions)
            if record is not None and record.leader == self.broker.node_id
        }

    def _take_up(self, index: int, pause_ms: int = 0) -> Shard[K] | None:
        """None where the log is still being opened, or cannot be read, which the broker has told
        of: it is tried again soon, as what is in it may have been due long ago."""
        try:
            leader = self.broker.leader(self.kind.topic, index)
        except Refused as refused:
            self._missed[index] = isinstance(refused, NotOpen)
            self.wake_by(self.clock.monotonic_ms() + TAKE_UP_AGAIN_MS)
            return None
        self._missed.pop(index, None)
        shard = self.shards[index] = Shard(self, leader)
        shard.pause_ms = pause_ms
        if leader.log.start_offset == leader.log.end_offset:
            shard.is_loaded = True
        else:
            self.on_new_shard(shard)
        return shard

    def _take_up_missed(self) -> None:
        led = self._led()
        for index in list(self._missed):
            if index in led:
                self._take_up(index)
            else:
                del self._missed[index]

    def load_again(self, shard: Shard[K]) -> None:
        """What was decided is not in the log after all, and what is in memory rests on it; or the
        lease is back, and members get the time that they did not have without it."""
        index = shard.leader.index
        if self.shards.get(index) is shard:
            log.warning("%s-%d: its %ss are loaded again", self.kind.topic, index, self.kind.noun)
            del self.shards[index]
            shard.give_up()
            self._take_up(index, self._pause_ms(shard))

    def _pause_ms(self, before: Shard[K]) -> int:
        """So that what fails as soon as it is loaded does not take all of our time."""
        held_ms = self.clock.monotonic_ms() - before.loaded_ms
        if before.is_loaded and held_ms >= HELD_MS:
            return PAUSE_MS_MIN
        return min(max(2 * before.pause_ms, PAUSE_MS_MIN), PAUSE_MS_MAX)

    # -- what fails

    def failed(self, name: str) -> None:
        self._failures[name] += 1
        if self.is_set_aside(name):
            log.error("%s %.300s fails again and again: it is set aside", self.kind.noun, name)

    def set_aside(self, name: str) -> None:
        """Its shard goes on without it, until the broker is started again."""
        log.exception("%s %.300s cannot be taken up: it is set aside", self.kind.noun, name)
        self._failures[name] = FAILURES_MAX

    def keep_unread(self, name: str, problem: str) -> None:
        """Some of it is not known, so it is left as it is: members who still have partitions, say,
        would have to share them with whoever comes."""
        if not self.is_set_aside(name):
            log.error(
                "%s %.300s is set aside, as what is stored of it cannot be read: %s. "
                "Its records are kept: start the release that has written them",
                self.kind.noun,
                name,
                problem,
            )
        self._failures[name] = FAILURES_MAX

    def is_set_aside(self, name: str) -> bool:
        return self._failures[name] >= FAILURES_MAX

    # -- what no request asks for

    def expire(self) -> bool:
        """Hand out answers and look at what is due, for a slice of time; False once there is no
        more of it. What has been due longest comes first: one with much to do is due again at
        once."""
        if self._missed:
            self._take_up_missed()
        for each in list(self.shards.values()):
            if not each.is_cut_off() and not each.is_true:
                self.load_again(each)
        time_ms, pace = self.clock.monotonic_ms(), Pace()
        if any(shard.handout.go_on(pace) for shard in list(self.shards.values())):
            return True
        while (shard := self._next_due(time_ms)) is not None:
            one = shard.take_due(time_ms)
            if one is not None and pace.is_spent(self._look_after(shard, one, self.kind.expire)):
                return True
        return False

    def _next_due(self, time_ms: float) -> Shard[K] | None:
        """The one with what has been due longest."""
        due_ms, found = time_ms, None
        for shard in self.shards.values():
            shard_due_ms = shard.next_due_ms
            if shard_due_ms is not None and shard_due_ms <= due_ms:
                due_ms, found = shard_due_ms, shard
        return found

    @property
    def next_due_ms(self) -> float | None:
        due = (shard.next_due_ms for shard in self.shards.values())
        return min((each for each in due if each is not None), default=None)

    def each(self) -> Iterator[tuple[Shard[K], K]]:
        for shard in list(self.shards.values()):
            if shard.is_loaded:
                for one in list(shard.kept):
                    yield shard, one

    def for_each(
        self,
        decide: Callable[[Turn, K], None],
        pace: Pace,
        ahead: Callable[[K], Iterable[None]] = lambda one: (),
    ) -> Iterator[None]:
        """Something that concerns all of them, with pauses. `ahead`: what has to be found out of
        one before its turn, with pauses of its own."""
        for shard, one in self.each():
            if self._is_there(shard, one):
                yield from ahead(one)
            is_there = self._is_there(shard, one)
            if is_there and pace.is_spent(self._look_after(shard, one, decide)):
                yield

    def sweep(self, begin: Callable[[K], Sweep[K]], pace: Pace) -> Iterator[None]:
        """What may take several turns of each, with pauses. Those of a shard that is held up wait
        for the next time."""
        for shard, one in self.each():
            sweep = begin(one)
            while not (sweep.is_done or shard.is_held_up) and self._is_there(shard, one):
                if pace.is_spent(self._look_after(shard, one, sweep.go_on)):
                    yield

    def _is_there(self, shard: Shard[K], one: K) -> bool:
        is_known = shard.kept.get(one.name) is one and not self.is_set_aside(one.name)
        return is_known and self._is_usable(shard)

    def _look_after(self, shard: Shard[K], one: K, decide: Callable[[Turn, K], None]) -> int:
        """What that has cost. One that fails must not keep the others from their turn: its shard
        is loaded again, and the second time goes on without it."""
        try:
            cost = shard.look_after(one, decide)
        except Exception:
            log.exception("%s %.300s could not be looked after", self.kind.noun, one.name)
            return TURN_COST
        self._failures.pop(one.name, None)
        return cost

    def still_loading(self) -> Refused:
        return Refused(
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
            f"the {self.kind.noun}s are being loaded; try again",
        )


@lru_cache(maxsize=10_000)
def hash_of(name: str) -> int:
    """As Kafka has it, which takes it from Java: so that tools find the same partition."""
    value = 0
    encoded = name.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(encoded), 2):
        value = (31 * value + (encoded[at] << 8) + encoded[at + 1]) & 0xFFFFFFFF
    if value >= 1 << 31:
        value -= 1 << 32
    return 0 if value == -(1 << 31) else abs(value)
