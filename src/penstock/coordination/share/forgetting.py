"""Shares go with their topics. Nothing else that time does concerns them."""

from __future__ import annotations

from penstock.coordination.pace import Pace
from penstock.coordination.share.state import Share
from penstock.coordination.share.writing import erase
from penstock.coordination.turn import Turn
from penstock.log.steps import Steps
from penstock.metadata.image import Image

KEPT_MS = 600_000
"""A topic that we do not know may be so new that we have yet to hear of it: then its share is new
as well."""


def look_at(image: Image, share: Share, pace: Pace) -> Steps[None]:
    yield from ()


def begin(turn: Turn, share: Share, found: None) -> None:
    pass


def expire(turn: Turn, share: Share) -> None:
    pass


class Forgetting:
    """Of shares whose topic, or partition, is not there any more."""

    __slots__ = ("is_done",)

    def __init__(self, share: Share) -> None:
        self.is_done = False

    def go_on(self, turn: Turn, share: Share) -> None:
        self.is_done = True
        forget(turn, share)


def forget(turn: Turn, share: Share) -> None:
    """If it can go: after topics were deleted, and now and then."""
    snapshot, (_, topic_id, partition) = share.snapshot, share.key
    if snapshot is None or turn.image.partition(topic_id, partition) is not None:
        return
    is_deleted = topic_id in turn.image.deleted
    if is_deleted or turn.now_ms - snapshot.written_ms >= KEPT_MS:
        erase(turn, share)
