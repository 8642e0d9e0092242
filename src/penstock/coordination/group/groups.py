"""The groups of one partition of the offsets topic: a replay of its events.

What a round of the classic protocol gathers on its way to the next generation is not written, as in
Kafka: it is lost with the leader, and the members join again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from penstock.coordination.group import offsets
from penstock.coordination.group.classic import stored as classic_stored
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.consumer import stored as consumer_stored
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.offsets import Committed
from penstock.coordination.group.pending import Pending
from penstock.coordination.group.share import stored as share_stored
from penstock.coordination.group.share.state import ShareGroup
from penstock.coordination.turn import Event
from penstock.wire.stored.offset_commit import OffsetCommitKey, OffsetCommitValue
from penstock.wire.stored_codec import StoredKey

Apply = Callable[["Groups", Any, Any], None]
Body = Classic | Consumer | ShareGroup


class Group:
    """A group's members are of the classic protocol, or of the one of KIP-848 (`Consumer`), which
    may have classic members among them, or share what they read (`ShareGroup`). Without members it
    is whatever it was last."""

    __slots__ = (
        "body",
        "doubtful",
        "emptied_ms",
        "end",
        "has_awaited_strays",
        "name",
        "offsets",
        "pending",
        "wake_ms",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.body: Body = Classic()
        self.offsets: dict[str, dict[int, Committed]] = {}
        """By topic and partition."""
        self.pending: Pending | None = None
        """Those of transactions that are open, if there are any."""
        self.doubtful: list[str] | None = None
        """Topics in which there may be offsets of deleted ones of the same name, or of partitions
        that they have lost, if some were found: these have yet to go."""
        self.has_awaited_strays = False
        """Some of these were left, as a transaction is about to commit something in their place."""
        self.emptied_ms = 0
        """Since when it has had no members, as far as is known."""
        self.end = 0
        """Behind the last event that it is made of."""
        self.wake_ms: float | None = None
        """When it is going to be looked at, if nothing happens before."""

    def become(self, body: Body) -> None:
        self.body = body

    @property
    def is_empty(self) -> bool:
        return not self.body.members

    @property
    def is_ending(self) -> bool:
        """It is being deleted: nobody can join it any more, nor see what is left of it."""
        return not isinstance(self.body, Consumer) and self.body.is_ending

    @property
    def has_work(self) -> bool:
        return self.doubtful is not None

    @property
    def is_forgotten(self) -> bool:
        """Nothing that is stored, nor anyone who is about to join, is left of it."""
        return not self.offsets and self.pending is None and self.body.is_blank


class Groups:
    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        self.unread: dict[str, str] = {}
        """By group, what of it could not be read. It is not known then what the group is."""
        self._writing: dict[int, dict[str, None]] = {}
        """By producer id, the groups of which its open transaction has committed offsets."""
        self.at_work: dict[str, None] = {}
        """Share groups of which some shares have yet to be set up, or to go."""

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups.values())

    def get(self, name: str) -> Group | None:
        return self._groups.get(name)

    def get_or_add(self, name: str) -> Group:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = Group(name)
        return group

    def remove(self, name: str) -> None:
        self._groups.pop(name, None)
        self.at_work.pop(name, None)

    def note_shares(self, name: str, *, has_work: bool) -> None:
        if has_work:
            self.at_work[name] = None
        else:
            self.at_work.pop(name, None)

    def intern(self, text: str) -> str:
        """Names of topics and the like come again and again: one copy will do."""
        return sys.intern(text)

    def leave_out(self, key: StoredKey, problem: str) -> None:
        self.unread[name_in(key)] = problem

    def hold(self, producer_id: int, event: Event, end: int) -> None:
        """Offsets are all that can be committed in a transaction."""
        key, value = event.key, event.value
        if isinstance(key, OffsetCommitKey) and isinstance(value, OffsetCommitValue):
            group = self.get_or_add(key.group)
            if group.pending is None:
                group.pending = Pending()
            group.pending.add(producer_id, (key.topic, key.partition), (key, value), end)
            self._writing.setdefault(producer_id, {})[group.name] = None

    def release(self, producer_id: int, is_commit: bool) -> list[Group]:
        released = []
        for name in self._writing.pop(producer_id, ()):
            group = self._groups.get(name)
            if group is None or group.pending is None:
                continue
            for place, held in group.pending.take(producer_id).items():
                if is_commit:
                    offsets.put_commit(self, *held.value)
                    group.pending.drop(place, held.end)
            if not group.pending:
                group.pending = None
            if group.has_awaited_strays:
                group.has_awaited_strays, group.doubtful = False, list(group.offsets)
            released.append(group)
        return released

    def apply(self, event: Event) -> None:
        APPLY[type(event.key)](self, event.key, event.value)


def name_in(key: Any) -> str:
    """Of the group that a record is about. Records of the two protocols call it differently."""
    name: str = key.group_id if hasattr(key, "group_id") else key.group
    return name


APPLY: dict[type[StoredKey], Apply] = {
    OffsetCommitKey: offsets.apply_commit,
    **classic_stored.APPLY,
    **consumer_stored.APPLY,
    **share_stored.APPLY,
}
