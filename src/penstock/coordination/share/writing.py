"""How a decision about a share is written down: as an update, or as a snapshot if one is due."""

from __future__ import annotations

from penstock.coordination.share.state import Share, Snapshot, State, Update
from penstock.coordination.turn import Turn
from penstock.wire.delivery import written_batches
from penstock.wire.stored import share_snapshot, share_update
from penstock.wire.stored.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from penstock.wire.stored.share_update import ShareUpdateKey, ShareUpdateValue

BATCH_COST = 2
"""Of each stretch that is written, in the unit of `Pace`."""


def write_snapshot(turn: Turn, share: Share, state: State) -> None:
    before = share.snapshot
    value = ShareSnapshotValue(
        0 if before is None else before.epoch + 1,
        state.state_epoch,
        state.leader_epoch,
        state.start_offset,
        state.complete_count,
        turn.now_ms if before is None else before.created_ms,
        turn.now_ms,
        written_batches(share_snapshot.StateBatch, state.batches),
    )
    turn.write(ShareSnapshotKey(*share.key), value)
    turn.spend(BATCH_COST * len(state.batches))


def write_update(turn: Turn, share: Share, snapshot: Snapshot, update: Update) -> None:
    value = ShareUpdateValue(
        snapshot.epoch,
        update.leader_epoch,
        update.start_offset,
        update.complete_count,
        written_batches(share_update.StateBatch, update.batches),
    )
    turn.write(ShareUpdateKey(*share.key), value)
    turn.spend(BATCH_COST * len(update.batches))


def is_snapshot_due(turn: Turn, share: Share, snapshot: Snapshot, update: Update) -> bool:
    """Updates grow, as each tells of all since the snapshot. Once they have together become longer
    than a snapshot, the next one is cheaper: so no write costs more than about the square root of
    what the share is made of."""
    most = turn.config.share_updates_per_snapshot
    length = share.update_batches + len(update.batches)
    return share.updates >= most or length > len(snapshot.state.batches)


def erase(turn: Turn, share: Share) -> None:
    turn.write(ShareUpdateKey(*share.key), None)
    turn.write(ShareSnapshotKey(*share.key), None)
