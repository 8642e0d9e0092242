"""What comes behind a batch that was refused for a moment is refused with it.

An idempotent producer has several batches under way on a connection. If the first is refused, as
its leader has not heard yet that it is the leader, and the next one is not, that is out of order;
librdkafka then begins a new epoch, in which nobody can tell what was sent before. So those behind
wait for the first to come again, as they would if it were lost.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.errors import ErrorCode, Refused
from penstock.wire.batch import BatchHeader

Place = tuple[str, bytes, int]
"""Topic name and id, of which a version has one, and partition."""

FOR_A_MOMENT = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
PLACES_MAX = 1000
"""For each producer and partition one, of one connection: those that have not been heard of for
longest are forgotten."""
NAME_CHARS_MAX = 249
"""Of a topic's name: there are no longer ones."""
FORGOTTEN_MS = 30_000
"""Whoever has not sent it again by then does not want to."""
SEQUENCES = 1 << 31


class First(NamedTuple):
    epoch: int
    sequence: int
    code: ErrorCode
    until_ms: int


class RefusedBatches:
    """Of one connection."""

    __slots__ = ("_first",)

    def __init__(self) -> None:
        self._first: dict[tuple[Place, int], First] = {}

    def __bool__(self) -> bool:
        return bool(self._first)

    def note(self, place: Place, header: BatchHeader, code: ErrorCode, now_ms: int) -> None:
        """It was refused. The first is remembered for as long as it is refused again and again."""
        if header.producer_id < 0 or code not in FOR_A_MOMENT or len(place[0]) > NAME_CHARS_MAX:
            return
        self._forget_old(now_ms)
        key = place, header.producer_id
        first = self._first.get(key)
        if first is not None and _behind(header, first):
            return
        self._first.pop(key, None)
        if len(self._first) >= PLACES_MAX:
            del self._first[next(iter(self._first))]
        until_ms = now_ms + FORGOTTEN_MS
        self._first[key] = First(header.producer_epoch, header.base_sequence, code, until_ms)

    def _forget_old(self, now_ms: int) -> None:
        """Those that were refused longest ago stand first."""
        while self._first:
            key, first = next(iter(self._first.items()))
            if now_ms < first.until_ms:
                return
            del self._first[key]

    def check(
        self, place: Place, header: BatchHeader, now_ms: int, *, is_next: bool = False
    ) -> None:
        """Raises Refused if another one is to come first. `is_next`: the log has that already, by
        way of another leader."""
        self._forget_old(now_ms)
        first = self._first.get((place, header.producer_id))
        if first is None:
            return
        if _behind(header, first) and not is_next:
            raise Refused(first.code, "a batch before this one was refused; send that again first")
        del self._first[place, header.producer_id]


def _behind(header: BatchHeader, first: First) -> bool:
    """Whether its producer has sent it after the one that was refused."""
    behind = (header.base_sequence - first.sequence) % SEQUENCES
    return header.producer_epoch == first.epoch and 0 < behind < SEQUENCES // 2
