"""What comes behind a batch that was refused for a moment is refused with it.

An idempotent producer has several batches under way on a connection. If the first is refused, as
its leader has not heard yet that it is the leader, and the next one is not, that is out of order;
librdkafka then begins a new epoch, in which nobody can tell what was sent before. So those behind
wait for the first to come again, as they would if it were lost.

The first may also be late. When a partition gets another leader, librdkafka at times sends it the
second batch before it has taken back the first, which the old leader has refused: see issue 4953 of
confluentinc/librdkafka. So a batch behind a gap is refused for a moment, too. It comes again, after
the one before it. Only who goes on to send it without that is told of the gap.
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
LATE_MS, LATE_TIMES = 3000, 5
"""How long what comes before a batch may be late, and how often at least: its producer may have to
try elsewhere meanwhile."""
SEQUENCES = 1 << 31


class First(NamedTuple):
    epoch: int
    sequence: int
    code: ErrorCode
    until_ms: int


class AfterGap(NamedTuple):
    epoch: int
    sequence: int
    since_ms: int
    times: int


class RefusedBatches:
    """Of one connection."""

    __slots__ = ("_after_gaps", "_first")

    def __init__(self) -> None:
        self._first: dict[tuple[Place, int], First] = {}
        self._after_gaps: dict[tuple[Place, int], AfterGap] = {}
        """The last one of each producer in a partition that came without those before it."""

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

    def may_come_late(self, place: Place, header: BatchHeader, now_ms: int) -> bool:
        """Whether what is missing before a batch may still come, for all that is known here."""
        key = place, header.producer_id
        known = self._after_gaps.pop(key, None)
        if known is None or known[:2] != (header.producer_epoch, header.base_sequence):
            known = AfterGap(header.producer_epoch, header.base_sequence, now_ms, 0)
        if len(self._after_gaps) >= PLACES_MAX:
            del self._after_gaps[next(iter(self._after_gaps))]
        self._after_gaps[key] = known._replace(times=known.times + 1)
        return known.times < LATE_TIMES or 0 <= now_ms - known.since_ms < LATE_MS


def _behind(header: BatchHeader, first: First) -> bool:
    """Whether its producer has sent it after the one that was refused."""
    behind = (header.base_sequence - first.sequence) % SEQUENCES
    return header.producer_epoch == first.epoch and 0 < behind < SEQUENCES // 2
