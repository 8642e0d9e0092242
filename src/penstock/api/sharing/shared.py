"""Partitions in share groups, as far as this broker leads them.

Each is taken up when a member asks for its records, and is with this leader for its term: another
term reads again what is stored. What has to be waited for, reading and storing, is done by the
server (`server/sharing.py`), which is told here that there is something to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from penstock.coordination.share.names import ShareKey
from penstock.replication.leader import Leader
from penstock.replication.signals import Signal, Waiter
from penstock.sharing.limits import Limits, limits_of
from penstock.sharing.partition import SharePartition
from penstock.sharing.sessions import ShareSession, ShareSessions

if TYPE_CHECKING:
    from penstock.api.broker import Broker

WOKEN_AT_ONCE = 50
"""Each reads and answers a request, some milliseconds together."""
READ_COMMITTED = "read_committed"


class Shared:
    """One of them. It is a source (`replication/signals.py`) for those who wait for records, and
    wakes them in the order in which they came, no more than there are records for."""

    __slots__ = (
        "_broker",
        "_is_watching",
        "_waiting",
        "epoch",
        "is_over",
        "key",
        "leader",
        "share",
        "stored",
        "used_ms",
        "was_left",
    )

    def __init__(self, broker: Broker, key: ShareKey, leader: Leader) -> None:
        self._broker = broker
        self.key = key
        self.leader = leader
        self.epoch = leader.epoch
        self.share: SharePartition | None = None
        """None until it is read what is stored."""
        self.stored = Signal()
        """Whenever something was stored, or could not be."""
        self.is_over = False
        self.used_ms = 0.0
        self.was_left = False
        """Its group has had no members here for a while, in which somebody may have set it to
        another offset."""
        self._waiting: dict[Waiter, None] = {}
        self._is_watching = False

    @property
    def limits(self) -> Limits:
        """Dead letters of a topic do not go to the same topic again: it has them."""
        config = self._broker.image.settings.of_group(self.key.group)
        return limits_of(config, buries=config.dead_letter_topic not in ("", self.leader.topic))

    @property
    def end(self) -> int:
        """Behind the last record that members may be given."""
        leader = self.leader
        if self.isolation == READ_COMMITTED:
            return leader.log.last_stable_offset(leader.high_watermark)
        return leader.high_watermark

    @property
    def isolation(self) -> str:
        return self._broker.image.settings.of_group(self.key.group).share_isolation_level

    @property
    def is_current(self) -> bool:
        return not self.is_over and self.leader.over is None and self.leader.epoch == self.epoch

    @property
    def is_in_use(self) -> bool:
        """Somebody waits for records, or has some, or something has to become of them yet."""
        return bool(self._waiting) or (self.share is not None and self.share.is_busy)

    def begin(self, share: SharePartition) -> None:
        self.share = share
        self.wake()

    def give_up(self) -> None:
        """Whoever waits here has to look again, and finds another one or none."""
        self.is_over = True
        self.stored.fire()
        self.wake()

    # -- those who wait for records

    def watch(self, waiter: Waiter) -> None:
        self._waiting[waiter] = None
        self._watch_leader()

    def unwatch(self, waiter: Waiter) -> None:
        self._waiting.pop(waiter, None)

    def _watch_leader(self) -> None:
        if not self._is_watching and self.leader.over is None:
            self._is_watching = True
            self.leader.moved.watch(self._leader_moved)

    def _leader_moved(self) -> None:
        self._is_watching = False
        self.wake()

    def wake(self) -> None:
        for _ in range(min(len(self._waiting), WOKEN_AT_ONCE)):
            if not self.has_records:
                break
            waiter = next(iter(self._waiting), None)
            if waiter is None:
                break
            del self._waiting[waiter]
            waiter()
        else:
            if self._waiting and self.has_records:
                self._broker.shared.wake_soon(self)
        if self._waiting:
            self._watch_leader()

    @property
    def has_records(self) -> bool:
        """Something to be given out; or an end, which is to be told."""
        if not self.is_current:
            return True
        return self.share is not None and self.share.next_offset(self.end) is not None


def _nothing(shared: Shared) -> None:
    pass


class SharedPartitions:
    def __init__(self, broker: Broker, sessions_max: int) -> None:
        self._broker = broker
        self._shared: dict[ShareKey, Shared] = {}
        self.sessions = ShareSessions(sessions_max)
        self.on_new: Callable[[Shared], None] = _nothing
        """Told of one that has to be read."""
        self.on_changed: Callable[[Shared], None] = _nothing
        """Told of one with something to be stored, or with locks that end."""
        self.on_return: Callable[[Shared], None] = _nothing
        """Told of one that was left with something to become of it, and has members again."""
        self.wake_soon: Callable[[Shared], None] = _nothing

    def __len__(self) -> int:
        return len(self._shared)

    def __iter__(self) -> Iterator[Shared]:
        return iter(list(self._shared.values()))

    def of(self, group: str, leader: Leader) -> Shared:
        found = self.known(group, leader)
        if found is not None and found.was_left:
            found.was_left = False
            if found.is_in_use:
                self.on_return(found)
            else:
                self.drop(found)
                found = None
        if found is None:
            key = ShareKey(group, leader.topic_id, leader.index)
            found = self._shared[key] = Shared(self._broker, key, leader)
            self.on_new(found)
        found.used_ms = self._broker.monotonic_ms()
        return found

    def known(self, group: str, leader: Leader) -> Shared | None:
        """If it was taken up in this term."""
        found = self._shared.get(ShareKey(group, leader.topic_id, leader.index))
        if found is not None and (found.leader is not leader or not found.is_current):
            self.drop(found)
            return None
        return found

    def drop(self, shared: Shared) -> None:
        if self._shared.get(shared.key) is shared:
            del self._shared[shared.key]
        if not shared.is_over:
            shared.give_up()

    def follow(self) -> None:
        """What this broker does not lead any more, or leads in another term, goes."""
        for shared in self:
            if not shared.is_current:
                self.drop(shared)

    # -- members that have gone

    def connection_lost(self, number: int) -> None:
        for session in self.sessions.connection_lost(number):
            self.release(session, were_delivered=True)

    def release(self, session: ShareSession, *, were_delivered: bool) -> None:
        """What it has had and not acknowledged, in whatever partition: it may have forgotten some
        that it still has records of. If the member has begun anew meanwhile, they are that
        session's."""
        if self.sessions.has(session.who):
            return
        (group, member), now_ms = session.who, self._broker.monotonic_ms()
        is_last = not self.sessions.has_group(group)
        for shared in self:
            if shared.key.group != group or shared.share is None:
                continue
            shared.was_left |= is_last
            if shared.share.release(member, now_ms, were_delivered=were_delivered):
                self.on_changed(shared)
                shared.wake()
