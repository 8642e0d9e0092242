"""Whether clients may write to a partition, where that is not a matter of course."""

from __future__ import annotations

from penstock.errors import ErrorCode, Refused
from penstock.metadata.cluster import Topic

WRITERS_MAX = 20
CLIENT_CHARS_MAX = 100


class Writing:
    __slots__ = ("is_closed", "is_closing", "is_sealed", "writers")

    def __init__(self) -> None:
        self.is_closing = False
        """The topic is to lose the partition. Clients that know that write elsewhere."""
        self.is_closed = False
        """It is about to lose this one or others, so nothing more may be written for now."""
        self.is_sealed = False
        """The partition is only read, for as long as there is something in it."""
        self.writers: dict[str, int] = {}
        """Clients that write all the same, and when they last did; the latest last."""

    def heed(self, topic: Topic, index: int) -> None:
        """What the topic says of it."""
        self.is_sealed = topic.record.sealed is not None
        self.is_closing = index >= topic.open_partitions
        if not self.is_closing:
            self.writers.clear()

    @property
    def is_usual(self) -> bool:
        return not (self.is_closing or self.is_closed or self.is_sealed)

    def check(self, name: str, client_id: str, now_ms: int) -> None:
        """Refuse what can never be written, and note who writes to a closing partition."""
        if self.is_sealed:
            raise Refused(
                ErrorCode.POLICY_VIOLATION,
                f"{name} is sealed: it holds what was in partitions that their topic has no more, "
                "and is only read",
            )
        if self.is_closing:
            self._note(client_id, now_ms)

    def check_open(self, name: str) -> None:
        """A closed partition opens again or is gone in a moment: with this code clients try again
        after a pause, and do not ask for metadata each time."""
        if self.is_closed:
            raise Refused(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{name} is closed, as its topic is about to lose partitions",
            )

    def _note(self, client_id: str, now_ms: int) -> None:
        client_id = client_id[:CLIENT_CHARS_MAX]
        self.writers.pop(client_id, None)
        self.writers[client_id] = now_ms
        if len(self.writers) > WRITERS_MAX:
            del self.writers[next(iter(self.writers))]
