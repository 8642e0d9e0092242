"""A share as it was left: how its leader takes it up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from penstock.sharing.limits import Limits
from penstock.sharing.partition import NOT_STORED, SharePartition
from penstock.sharing.phases import FINISHED, LOADED, Phase
from penstock.sharing.spans import Span
from penstock.sharing.window import Window
from penstock.wire.delivery import StateBatch


class Stored(NamedTuple):
    """What the coordinator has answered."""

    state_epoch: int
    start_offset: int
    """-1: the share has not begun anywhere yet."""
    batches: Sequence[StateBatch]
    """In order; what they leave out is available."""


class Extent(NamedTuple):
    """Of the partition's log: what is not in it cannot be shared."""

    start: int
    end: int


def has_lost_records(stored: Stored, extent: Extent) -> bool:
    """The share is at records that the log does not have: an election that was not clean, or a
    disk, has lost them. What is written in their place would pass for finished, so the share has to
    begin anew, at the end of the log, with a state epoch that is one higher."""
    return stored.start_offset > extent.end or any(
        batch.last >= extent.end for batch in stored.batches
    )


def restore(stored: Stored, limits: Limits, extent: Extent, beginning: int) -> SharePartition:
    """`beginning`: where the group's settings want a share to begin, if it has not."""
    has_begun = stored.start_offset != NOT_STORED
    start = max(stored.start_offset if has_begun else beginning, extent.start)
    share = SharePartition(
        start, limits, state_epoch=stored.state_epoch, stored_start=stored.start_offset
    )
    for batch in stored.batches:
        _add(share.window, batch)
    share.window.spans.join(share.start_offset, share.end_offset - 1)
    share.window.advance()
    return share


def _add(window: Window, batch: StateBatch) -> None:
    first, last = max(batch.first, window.end), batch.last
    if first > last:
        return
    if first > window.end:
        window.add(Span(window.end, first - 1, Phase.AVAILABLE, 0))
    phase = LOADED[batch.state]
    span = Span(first, last, phase, 0 if phase in FINISHED else batch.deliveries)
    window.add(span)
    is_over = batch.rejected_after > 0 or batch.deliveries >= window.limits.deliveries
    if phase is Phase.AVAILABLE and is_over:
        part = window.spans.cut(first, last)[0]
        window.touch(first, last)
        fate = window.given_up(part.deliveries, rejected_after=batch.rejected_after)
        window.settle(part, fate)
