"""Which groups this broker looks after: those whose partition of the offsets topic it leads."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from penstock.api.shard import Shard
from penstock.coordination.group import protocols
from penstock.coordination.group.aging import Aging
from penstock.coordination.group.groups import Group
from penstock.coordination.pace import Pace
from penstock.coordination.turn import TURN_COST, Turn
from penstock.errors import ErrorCode, Refused
from penstock.metadata.internal_topics import OFFSETS
from penstock.metadata.records import PartitionRecord
from penstock.world.ports import Clock

if TYPE_CHECKING:
    from penstock.api.broker import Broker

log = logging.getLogger(__name__)

FAILURES_MAX = 2
"""A group that fails once may do better when it has been loaded again."""
PAUSE_MS_MIN = 100
PAUSE_MS_MAX = 10_000
"""Before groups are loaded that have been loaded before; twice as long each time."""
HELD_MS = 60_000
"""Groups that have been well for so long are not said to have been loaded in vain."""

GROUP_CHARS_MAX = 1000
"""Of a group's name, which is hashed a character at a time."""


class Coordinator:
    def __init__(self, broker: Broker, clock: Clock) -> None:
        self.broker = broker
        self.clock = clock
        self.shards: dict[int, Shard] = {}
        """By partition of the offsets topic; some may still be loading."""
        self.on_new_shard: Callable[[Shard], None] = lambda shard: None
        """Told of a shard that has to be loaded."""
        self.wake_by: Callable[[float], None] = lambda time_ms: None
        """Told when a group is to be looked at, in the clock's monotonic time."""
        self._failures: Counter[str] = Counter()
        """Of groups that could not be looked after."""

    # -- who looks after what

    def place(self, group: str) -> tuple[int, PartitionRecord]:
        """The partition that a group is in. Raises Refused while there is no offsets topic."""
        if not group:
            raise Refused(ErrorCode.INVALID_GROUP_ID, "a group has a name")
        if len(group) > GROUP_CHARS_MAX:
            raise Refused(
                ErrorCode.INVALID_GROUP_ID,
                f"the group's name has {len(group)} characters, {GROUP_CHARS_MAX} are allowed",
            )
        topic = self.broker.image.topic(OFFSETS)
        index = hash_of(group) % topic.record.partitions if topic else -1
        record = topic.partition(index) if topic else None
        if record is None:
            raise Refused(
                ErrorCode.COORDINATOR_NOT_AVAILABLE, "nobody looks after the group yet; try again"
            )
        return index, record

    def shard(self, group: str) -> Shard:
        """Where a group is looked after. Raises Refused if that is not here, or not yet."""
        index, record = self.place(group)
        if record.leader != self.broker.node_id:
            raise Refused(ErrorCode.NOT_COORDINATOR, "another broker looks after the group")
        shard = self.shards.get(index) or self._take_up(index)
        if shard is not None:
            shard.check_lease()
        if shard is None or not self._is_usable(shard):
            raise still_loading()
        if self.is_set_aside(group):
            raise Refused(
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                "the group fails whenever it is looked after: see the broker's log, and start it "
                "again when the cause is gone",
            )
        if (known := shard.groups.get(group)) is not None and known.is_ending:
            raise Refused(
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "the group is being deleted; try again"
            )
        return shard

    def loaded(self) -> list[Shard]:
        """All of them. Raises Refused while any is not."""
        shards = list(self.shards.values())
        for shard in shards:
            shard.check_lease()
        usable = [shard for shard in shards if self._is_usable(shard)]
        if len(usable) < len(shards):
            raise still_loading()
        return usable

    def _is_usable(self, shard: Shard) -> bool:
        """What does not rest on the log any more is loaded again."""
        if shard.is_cut_off():
            return False
        if shard.is_loaded and not shard.is_true:
            self.load_again(shard)
        return shard.is_loaded and not shard.is_over

    # -- following the cluster

    def follow(self) -> None:
        """Take up what this broker leads now, and drop what it no longer does."""
        topic = self.broker.image.topic(OFFSETS)
        partitions = topic.partitions if topic is not None else ()
        led = {
            index
            for index, record in enumerate(partitions)
            if record is not None and record.leader == self.broker.node_id
        }
        over = {index for index, shard in self.shards.items() if shard.leader.over is not None}
        for index in (self.shards.keys() - led) | over:
            self.shards.pop(index).give_up()
        for index in sorted(led - self.shards.keys()):
            self._take_up(index)

    def _take_up(self, index: int, pause_ms: int = 0) -> Shard | None:
        """None where the log cannot be read, which the broker has told of: it is tried again when
        someone asks for one of its groups."""
        try:
            leader = self.broker.leader(OFFSETS, index)
        except Refused:
            return None
        shard = self.shards[index] = Shard(self, leader)
        shard.pause_ms = pause_ms
        if leader.log.start_offset == leader.log.end_offset:
            shard.is_loaded = True
        else:
            self.on_new_shard(shard)
        return shard

    def load_again(self, shard: Shard) -> None:
        """What was decided is not in the log after all, and what is in memory rests on it; or the
        lease is back, and members get the time that they did not have without it."""
        index = shard.leader.index
        if self.shards.get(index) is shard:
            log.warning("%s-%d: its groups are loaded again", OFFSETS, index)
            del self.shards[index]
            shard.give_up()
            self._take_up(index, self._pause_ms(shard))

    def _pause_ms(self, before: Shard) -> int:
        """So that groups that fail as soon as they are loaded do not take all of our time."""
        held_ms = self.clock.monotonic_ms() - before.loaded_ms
        if before.is_loaded and held_ms >= HELD_MS:
            return PAUSE_MS_MIN
        return min(max(2 * before.pause_ms, PAUSE_MS_MIN), PAUSE_MS_MAX)

    # -- groups that fail

    def failed(self, group: str) -> None:
        self._failures[group] += 1
        if self.is_set_aside(group):
            log.error("group %.300s fails again and again: it is set aside", group)

    def set_aside(self, group: str) -> None:
        """Its shard goes on without it, until the broker is started again."""
        log.exception("group %.300s cannot be taken up: it is set aside", group)
        self._failures[group] = FAILURES_MAX

    def keep_unread(self, group: str, problem: str) -> None:
        """Some of it is not known, so it is left as it is: members who still have partitions, say,
        would have to share them with whoever comes."""
        if not self.is_set_aside(group):
            log.error(
                "group %.300s is set aside, as what is stored of it cannot be read: %s. "
                "Its records are kept: start the release that has written them",
                group,
                problem,
            )
        self._failures[group] = FAILURES_MAX

    def is_set_aside(self, group: str) -> bool:
        return self._failures[group] >= FAILURES_MAX

    # -- what no request asks for

    def expire(self) -> bool:
        """Hand out answers and look at groups that are due, for a slice of time; False once there
        are no more of them. Who has been due longest comes first: a group with much to do is due
        again at once."""
        for each in list(self.shards.values()):
            if not each.is_cut_off() and not each.is_true:
                self.load_again(each)
        time_ms, pace = self.clock.monotonic_ms(), Pace()
        if any(shard.handout.go_on(pace) for shard in list(self.shards.values())):
            return True
        while (shard := self._next_due(time_ms)) is not None:
            group = shard.take_due(time_ms)
            if group is not None and pace.is_spent(
                self._look_after(shard, group, protocols.expire)
            ):
                return True
        return False

    def _next_due(self, time_ms: float) -> Shard | None:
        """The one with the group that has been due longest."""
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

    def every_group(self) -> Iterator[tuple[Shard, Group]]:
        for shard in list(self.shards.values()):
            if shard.is_loaded:
                for group in list(shard.groups):
                    yield shard, group

    def for_each(
        self,
        decide: Callable[[Turn, Group], None],
        pace: Pace,
        ahead: Callable[[Group], Iterable[None]] = lambda group: (),
    ) -> Iterator[None]:
        """Something that concerns all groups, with pauses. `ahead`: what has to be found out of a
        group before its turn, with pauses of its own."""
        for shard, group in self.every_group():
            if self._is_there(shard, group):
                yield from ahead(group)
            is_there = self._is_there(shard, group)
            if is_there and pace.is_spent(self._look_after(shard, group, decide)):
                yield

    def forget_old(self, pace: Pace) -> Iterator[None]:
        """Offsets of groups that have been empty for long, with pauses. Those of a shard that is
        held up wait for the next time."""
        for shard, group in self.every_group():
            aging = Aging(group)
            while not (aging.is_done or shard.is_held_up) and self._is_there(shard, group):
                if pace.is_spent(self._look_after(shard, group, aging.go_on)):
                    yield

    def _is_there(self, shard: Shard, group: Group) -> bool:
        is_known = shard.groups.get(group.name) is group and not self.is_set_aside(group.name)
        return is_known and self._is_usable(shard)

    def _look_after(self, shard: Shard, group: Group, decide: Callable[[Turn, Group], None]) -> int:
        """What that has cost. One that fails must not keep the others from their turn: its shard
        is loaded again, and the second time goes on without it."""
        try:
            cost = shard.look_after(group, decide)
        except Exception:
            log.exception("group %.300s could not be looked after", group.name)
            return TURN_COST
        self._failures.pop(group.name, None)
        return cost


def still_loading() -> Refused:
    return Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "the groups are being loaded; try again")


@lru_cache(maxsize=10_000)
def hash_of(group: str) -> int:
    """As Kafka has it, which takes it from Java: so that tools find the same partition."""
    value = 0
    encoded = group.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(encoded), 2):
        value = (31 * value + (encoded[at] << 8) + encoded[at + 1]) & 0xFFFFFFFF
    if value >= 1 << 31:
        value -= 1 << 32
    return 0 if value == -(1 << 31) else abs(value)
