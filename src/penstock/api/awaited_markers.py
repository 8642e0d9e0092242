"""Markers that were appended here, and not yet committed when their coordinator was answered.

It is answered soon, as others wait behind: one follower that is slow must not hold up transactions
that have nothing to do with it. So it asks again, and hears what became of the marker, which is not
written once more. A transaction is complete only when all of its markers are committed: one that is
lost with its leader would be missing for ever.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.replication.leader import Leader
from penstock.wire.messages.k27_write_txn_markers import WritableTxnMarker

MARKERS_MAX = 10_000
"""Whatever is more than that is written once more if it comes again, which does no harm."""

Known = tuple[bytes, int, int, int, int, bool, int]


class Appended(NamedTuple):
    end: int
    ended: int
    """How many transactions of its producer have ended in the partition, this one included. With
    another number it has been ended by another marker since, and this may be the next one's."""


class AwaitedMarkers:
    __slots__ = ("_appended",)

    def __init__(self) -> None:
        self._appended: dict[Known, Appended] = {}

    def __len__(self) -> int:
        return len(self._appended)

    def note(self, leader: Leader, marker: WritableTxnMarker, end: int, ended: int) -> None:
        if len(self._appended) >= MARKERS_MAX:
            del self._appended[next(iter(self._appended))]
        self._appended[_known(leader, marker)] = Appended(end, ended)

    def is_committed(self, leader: Leader, marker: WritableTxnMarker) -> bool | None:
        """None if it is not here."""
        known = _known(leader, marker)
        appended = self._appended.get(known)
        if appended is None:
            return None
        if appended.ended != leader.log.producers.ended(marker.producer_id):
            del self._appended[known]
            return None
        if leader.high_watermark < appended.end:
            return False
        del self._appended[known]
        return True


def _known(leader: Leader, marker: WritableTxnMarker) -> Known:
    return (
        leader.topic_id,
        leader.index,
        leader.epoch,
        marker.producer_id,
        marker.producer_epoch,
        marker.transaction_result,
        marker.coordinator_epoch,
    )
