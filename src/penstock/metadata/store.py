"""What cluster metadata asks of a store: compare-and-set, watch and lease, and nothing else.

What a caller may rely on, whichever store is behind it:
- a commit is applied whole or not at all, and all it wrote carries the commit's revision;
- revisions are one ascending count for the whole store, and never used twice;
- a watch skips no key. It may skip states of a key that were overwritten before it looked, since
  ZooKeeper could not do otherwise; what it yields at once leads to a state that was there;
- a key bound to a session goes when the session ends, unless it has been written again since.

What a caller keeps to: a key whose name comes back after a delete (a topic's) is not compared on
its own, because ZooKeeper's versions begin again with the node; see `records.CATALOG`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

import msgspec


class Entry(msgspec.Struct, frozen=True):
    key: str
    value: bytes
    revision: int
    """Of the commit that wrote it last."""
    session: str | None = None


class Event(msgspec.Struct, frozen=True):
    """A key has this entry now, or none any more."""

    key: str
    entry: Entry | None
    revision: int


class Events(msgspec.Struct, frozen=True):
    """All that leads from one state of the store to a later one; applied as one step."""

    revision: int
    events: tuple[Event, ...]


class Reset(msgspec.Struct, frozen=True):
    """The watch began too far in the past for the store to know; list again, then watch."""


class Conflict(Exception):
    """A check failed, so nothing was written. By `revision` the reason is to be seen."""

    def __init__(self, key: str, revision: int) -> None:
        super().__init__(f"{key} is not as it was expected, at revision {revision}")
        self.key = key
        self.revision = revision


class Unknown(Exception):
    """The commit may have been written, or may yet be: read again and look for one's own value."""


class Unavailable(Exception):
    """The store did not answer in time. What was to be written surely was not."""


class NoRoom(Unavailable):
    """The store's disk is full. What was to be written surely was not."""


class SessionLost(Exception):
    """The session that the keys were to be bound to has ended; nothing was written."""


OPERATIONS_MAX = 100
"""Checks in one commit, and puts and deletes together: etcd takes no more than 128 of each."""
Check = tuple[str, int]
"""A key, and the revision it must have. 0: it must not exist."""
Put = tuple[str, bytes]


class Session(Protocol):
    """A lease that is kept alive for its owner until closed or lost."""

    @property
    def id(self) -> str: ...

    @property
    def deadline_ms(self) -> float:
        """On the monotonic clock: until then nobody else can have taken the session for dead."""
        ...

    @property
    def suspended(self) -> bool:
        """The deadline has passed without a renewal: the owner can no longer be sure."""
        ...

    @property
    def lost(self) -> bool:
        """It has ended, with the keys bound to it. There is no way back but a new one."""
        ...

    async def wait_lost(self) -> None: ...

    async def close(self) -> None:
        """Ends it, and deletes the keys bound to it."""
        ...


class Store(Protocol):
    async def get(self, key: str) -> Entry | None:
        """The last that was committed by anyone before the call."""
        ...

    async def list(self, prefix: str) -> tuple[Sequence[Entry], int]:
        """What was there at one revision, sorted by key, and that revision."""
        ...

    async def commit(
        self,
        checks: Sequence[Check],
        puts: Sequence[Put],
        deletes: Sequence[str] = (),
        session: str | None = None,
    ) -> int:
        """Writes all if all checks hold; the puts are bound to the session, if one is given.

        Raises Conflict, SessionLost and Unavailable when nothing was written, else Unknown.
        """
        ...

    def watch(self, prefix: str, after: int) -> AsyncGenerator[Events | Reset, None]:
        """What has changed after a revision, and goes on to; ends with a Reset if it must."""
        ...

    async def session(self, ttl_ms: int) -> Session:
        """A new lease. Where the store has a floor for the ttl, a shorter one becomes that."""
        ...

    async def close(self) -> None:
        """Lets go of the store. Sessions still open end with their leases."""
        ...
