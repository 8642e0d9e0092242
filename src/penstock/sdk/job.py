"""A message of a queue, which is ours until we say what has become of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from penstock.sdk.message import ID_HEADER, Headers, TopicPartition

if TYPE_CHECKING:
    from penstock.client.share_held import Held
    from penstock.sdk.aio_queue import AsyncQueue
    from penstock.sdk.queue import Queue

V = TypeVar("V")


class Reject(Exception):
    """For handlers to raise: no worker can do this job, so nobody needs to try again."""


class Owner(Protocol):
    """What a job needs of its queue, besides its methods."""

    @property
    def topic(self) -> str: ...


class Facts(Generic[V]):
    """What a job was told of itself."""

    __slots__ = ("__weakref__", "_owner", "held", "key", "value")

    def __init__(self, value: V, key: Any, held: Held, owner: Owner) -> None:
        self.value = value
        self.key = key
        self.held = held
        """As the wire client has it."""
        self._owner = owner

    @property
    def topic(self) -> str:
        return self._owner.topic

    @property
    def partition(self) -> int:
        return self.held.place[1]

    @property
    def offset(self) -> int:
        return self.held.record.offset

    @property
    def place(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def headers(self) -> Headers:
        return [(name.decode(errors="replace"), data) for name, data in self.held.record.headers]

    @property
    def tags(self) -> dict[str, str]:
        """Headers whose values are text. Of those with one name, the last."""
        found = {}
        for name, data in self.headers:
            try:
                found[name] = (data or b"").decode()
            except UnicodeDecodeError:
                continue
        return found

    @property
    def timestamp_ms(self) -> int:
        """Since 1970; -1 where there is none."""
        return self.held.record.timestamp

    @property
    def timestamp(self) -> datetime | None:
        stamp_ms = self.timestamp_ms
        return datetime.fromtimestamp(stamp_ms / 1000, UTC) if stamp_ms >= 0 else None

    @property
    def id(self) -> str | None:
        """What a producer with `message_ids=True` has named it."""
        return self.tags.get(ID_HEADER)

    @property
    def delivery_count(self) -> int:
        """How often it was given to a worker, this time included."""
        return self.held.deliveries

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(topic={self.topic!r}, partition={self.partition}, "
            f"offset={self.offset}, delivery_count={self.delivery_count}, key={self.key!r}, "
            f"value={self.value!r})"
        )


class Job(Facts[V]):
    """Its lock is renewed for as long as it is there. One that is dropped without a word comes
    again when its lock has ended."""

    __slots__ = ()
    _owner: Queue[V]

    def ack(self, *, wait: bool = True) -> None:
        """It is done. Returns when that is stored; raises LockLost if it was not ours any more.
        Without `wait` a later call raises that."""
        self._owner.ack(self, wait=wait)

    def nack(self, *, delay: float = 0.0, wait: bool = True) -> None:
        """It comes again, after so many seconds."""
        self._owner.nack(self, delay=delay, wait=wait)

    def reject(self, *, wait: bool = True) -> None:
        """It does not come again: it goes to the dead letters, if the queue has such."""
        self._owner.reject(self, wait=wait)

    def renew(self) -> None:
        """Its lock begins anew. This is done by itself, and here for who wants to be sure that the
        job is still ours: if not, LockLost is raised."""
        self._owner.renew(self)


class AsyncJob(Facts[V]):
    """The same words, to be awaited."""

    __slots__ = ()
    _owner: AsyncQueue[V]

    async def ack(self, *, wait: bool = True) -> None:
        await self._owner.ack(self, wait=wait)

    async def nack(self, *, delay: float = 0.0, wait: bool = True) -> None:
        await self._owner.nack(self, delay=delay, wait=wait)

    async def reject(self, *, wait: bool = True) -> None:
        await self._owner.reject(self, wait=wait)

    async def renew(self) -> None:
        await self._owner.renew(self)
