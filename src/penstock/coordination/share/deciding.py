"""What leaders of partitions, and those who look after groups, ask a share's coordinator for.

A leader reads the share when it takes the partition up, which shuts out whoever led it before, and
writes what has changed. It sends one write after the other: what comes later counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from penstock.coordination.share.merging import merge
from penstock.coordination.share.state import NOWHERE, UNKNOWN, Share, State, Summary, Update
from penstock.coordination.share.writing import (
    erase,
    is_snapshot_due,
    write_snapshot,
    write_update,
)
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.wire.delivery import STORED, StateBatch

BATCHES_MAX = 10_000
"""Of one share. Records that are locked at a time are fewer, and each may be a stretch."""


NOT_BEGUN = Summary(0, 0, NOWHERE, UNKNOWN, (), NOWHERE)


class Written(NamedTuple):
    state_epoch: int
    leader_epoch: int
    start_offset: int
    """-1 leaves it where it is."""
    complete_count: int
    batches: Sequence[StateBatch]


def initialize(turn: Turn, share: Share, state_epoch: int, start_offset: int) -> ErrorCode:
    """The share begins, or begins anew, at an offset; -1 leaves it to its leader where. In an epoch
    in which it has begun it does not do so again: whoever asks may have asked before, and a leader
    may be at work by now."""
    _check_place(turn, share)
    if state_epoch < 0 or start_offset < NOWHERE:
        raise _wrong("a share has a state epoch from 0 on, and a start offset from -1 on")
    known = share.state
    if known is not None:
        _check_state_epoch(known, state_epoch)
        if state_epoch == known.state_epoch:
            if start_offset in (NOWHERE, known.start_offset):
                return ErrorCode.NONE
            _check_has_not_begun(known)
    count = UNKNOWN if start_offset == NOWHERE else 0
    write_snapshot(turn, share, State(state_epoch, 0, start_offset, count, ()))
    return ErrorCode.NONE


def read(turn: Turn, share: Share, leader_epoch: int) -> State:
    _check_place(turn, share)
    state = _known(share)
    _check_leader_epoch(state, leader_epoch)
    if leader_epoch > state.leader_epoch:
        state = msgspec.structs.replace(state, leader_epoch=leader_epoch)
        _write(turn, share, state.start_offset, state.complete_count, leader_epoch, ())
    return state


def write(turn: Turn, share: Share, written: Written) -> ErrorCode:
    _check_place(turn, share)
    known = _known_but_batches(share)
    _check_leader_epoch(known, written.leader_epoch)
    _check_state_epoch(known, written.state_epoch)
    _check_batches(written)
    _write(
        turn,
        share,
        max(written.start_offset, known.start_offset),
        _complete_count(known, written),
        max(written.leader_epoch, known.leader_epoch),
        written.batches,
    )
    return ErrorCode.NONE


def delete(turn: Turn, share: Share) -> ErrorCode:
    """What is not there is deleted already."""
    if share.snapshot is not None:
        erase(turn, share)
    return ErrorCode.NONE


def summary(turn: Turn, share: Share) -> Summary:
    """A share that has not begun is nowhere."""
    _check_place(turn, share)
    if share.snapshot is None:
        return NOT_BEGUN
    known = _known_but_batches(share)
    told = share.snapshot.state.batches[-1:]
    told += share.update.batches[-1:] if share.update else ()
    return Summary(
        known.state_epoch,
        known.leader_epoch,
        known.start_offset,
        known.complete_count,
        (),
        max([known.start_offset, *(batch.last + 1 for batch in told)]),
    )


def _write(
    turn: Turn,
    share: Share,
    start_offset: int,
    complete_count: int,
    leader_epoch: int,
    batches: Sequence[StateBatch],
) -> None:
    snapshot = share.snapshot
    assert snapshot is not None
    since = share.update.batches if share.update else ()
    update = Update(leader_epoch, start_offset, complete_count, merge(since, batches, start_offset))
    base = snapshot.state
    may_be_many = len(base.batches) + len(update.batches) > BATCHES_MAX
    if not may_be_many and not is_snapshot_due(turn, share, snapshot, update):
        write_update(turn, share, snapshot, update)
        return
    whole = merge(base.batches, update.batches, start_offset)
    if len(whole) > BATCHES_MAX:
        raise _wrong(f"a share has at most {BATCHES_MAX} stretches of records: lock fewer at once")
    state = State(base.state_epoch, leader_epoch, start_offset, complete_count, whole)
    write_snapshot(turn, share, state)


def _known(share: Share) -> State:
    if (state := share.state) is None:
        raise _not_begun(share)
    return state


def _known_but_batches(share: Share) -> State:
    snapshot, update = share.snapshot, share.update
    if snapshot is None:
        raise _not_begun(share)
    known = snapshot.state if update is None else update
    return State(
        snapshot.state.state_epoch,
        known.leader_epoch,
        known.start_offset,
        known.complete_count,
        (),
    )


def _complete_count(known: State, written: Written) -> int:
    """Of what a leader says that lags behind, what was said before holds."""
    if written.start_offset > known.start_offset:
        return written.complete_count
    if written.start_offset == known.start_offset:
        return max(written.complete_count, known.complete_count)
    return known.complete_count


def _check_place(turn: Turn, share: Share) -> None:
    if turn.image.partition(share.key.topic_id, share.key.partition) is None:
        raise Refused(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no topic has this id, or not this partition"
        )


def _check_leader_epoch(known: State, leader_epoch: int) -> None:
    if leader_epoch < 0:
        raise _wrong("a leader has an epoch from 0 on")
    if leader_epoch < known.leader_epoch:
        raise Refused(
            ErrorCode.FENCED_LEADER_EPOCH,
            f"leader epoch {known.leader_epoch} has read the share, and {leader_epoch} is over",
        )


def _check_state_epoch(known: State, state_epoch: int) -> None:
    if state_epoch < known.state_epoch:
        raise Refused(
            ErrorCode.FENCED_STATE_EPOCH,
            f"the share's state epoch is {known.state_epoch}, {state_epoch} is over: read it again",
        )


def _check_has_not_begun(known: State) -> None:
    if known.start_offset != NOWHERE:
        raise Refused(
            ErrorCode.FENCED_STATE_EPOCH,
            f"the share has begun at {known.start_offset} in state epoch {known.state_epoch}: take "
            "the next one to set it to something else",
        )


def _check_batches(written: Written) -> None:
    if len(written.batches) > BATCHES_MAX:
        raise _wrong(f"{len(written.batches)} stretches of records, at most {BATCHES_MAX} can be")
    for first, last, state, deliveries, rejected_after in written.batches:
        is_sound = state in STORED and min(deliveries, rejected_after) >= 0
        if not (is_sound and 0 <= first <= last):
            raise _wrong(
                f"offsets {first} to {last} in state {state}, delivered {deliveries} times: that "
                "is no stretch of records"
            )


def _not_begun(share: Share) -> Refused:
    return _wrong(
        f"group {share.key.group[:300]!r} has not begun with this partition: initialize it first"
    )


def _wrong(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, message)
