"""A share as it is stored: a snapshot of all of it, and what has changed since.

Two records have keys of their own, the latest snapshot and the latest update. An update tells of
everything since its snapshot, not since the update before it: so of each key only the last record
matters, which compaction and loading rest on. It names its snapshot by an epoch; one that belongs
to an older snapshot says nothing any more.
"""

from __future__ import annotations

import msgspec

from penstock.coordination.kept_by_name import KeptByName
from penstock.coordination.share.merging import merge
from penstock.coordination.share.names import ShareKey, read_name
from penstock.coordination.turn import Event
from penstock.wire.delivery import StateBatch, read_batches
from penstock.wire.stored.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from penstock.wire.stored.share_update import ShareUpdateKey, ShareUpdateValue
from penstock.wire.stored_codec import StoredKey

NOWHERE = -1
"""As a start offset: the group has not begun with this partition; its settings say where to."""
UNKNOWN = -1
"""As a count."""


class State(msgspec.Struct, frozen=True):
    """What is known of it."""

    state_epoch: int
    """Goes up whenever somebody sets the share to something else."""
    leader_epoch: int
    """Of the partition's leader that has read it last: older ones are shut out."""
    start_offset: int
    complete_count: int
    """Records from the start offset on that nobody is given any more."""
    batches: tuple[StateBatch, ...]


class Summary(State, frozen=True):
    """Without the stretches."""

    end_offset: int
    """Behind the last of them: nothing was said of what comes from there on."""


class Snapshot(msgspec.Struct, frozen=True):
    epoch: int
    state: State
    created_ms: int
    written_ms: int


class Update(msgspec.Struct, frozen=True):
    """Since the snapshot."""

    leader_epoch: int
    start_offset: int
    complete_count: int
    batches: tuple[StateBatch, ...]


class Share:
    __slots__ = (
        "end",
        "key",
        "name",
        "snapshot",
        "update",
        "update_batches",
        "updates",
        "wake_ms",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.key = read_name(name)
        self.snapshot: Snapshot | None = None
        self.update: Update | None = None
        self.updates = 0
        self.update_batches = 0
        """Since the snapshot: how many updates, and how many stretches they had altogether."""
        self.end = 0
        self.wake_ms: float | None = None

    @property
    def state(self) -> State | None:
        """Put together whenever it is asked for, which writing does not need."""
        if self.snapshot is None or self.update is None:
            return self.snapshot.state if self.snapshot else None
        base, update = self.snapshot.state, self.update
        return State(
            base.state_epoch,
            update.leader_epoch,
            update.start_offset,
            update.complete_count,
            merge(base.batches, update.batches, update.start_offset),
        )

    @property
    def is_ending(self) -> bool:
        return False

    @property
    def has_work(self) -> bool:
        return False

    @property
    def is_forgotten(self) -> bool:
        return self.snapshot is None

    def take_snapshot(self, value: ShareSnapshotValue | None) -> None:
        self.snapshot = None if value is None else read_snapshot(value)
        self.update, self.updates, self.update_batches = None, 0, 0

    def take_update(self, value: ShareUpdateValue | None) -> None:
        if value is None:
            self.update = None
        elif self.snapshot is not None and self.snapshot.epoch == value.snapshot_epoch:
            self.update = read_update(value)
            self.updates += 1
            self.update_batches += len(self.update.batches)


class Shares(KeptByName[Share]):
    """All of one partition of the topic that they are kept in."""

    def __init__(self) -> None:
        super().__init__(Share)

    def leave_out(self, key: StoredKey, problem: str) -> None:
        self.unread[_name(key)] = problem

    def apply(self, event: Event) -> None:
        name, value = _name(event.key), event.value
        share = self._by_name.get(name)
        if isinstance(event.key, ShareSnapshotKey):
            assert value is None or isinstance(value, ShareSnapshotValue)
            if share is None and value is not None:
                share = self._by_name[name] = Share(name)
            if share is not None:
                share.take_snapshot(value)
        elif share is not None:
            assert value is None or isinstance(value, ShareUpdateValue)
            share.take_update(value)
        self._drop_if_gone(share)

    def _drop_if_gone(self, share: Share | None) -> None:
        """While it is loaded, its shard does not look."""
        if share is not None and share.is_forgotten:
            self._by_name.pop(share.name, None)


def _name(key: StoredKey) -> str:
    assert isinstance(key, ShareSnapshotKey | ShareUpdateKey)
    return ShareKey(key.group_id, key.topic_id, key.partition).name


def read_snapshot(value: ShareSnapshotValue) -> Snapshot:
    state = State(
        value.state_epoch,
        value.leader_epoch,
        value.start_offset,
        value.delivery_complete_count,
        merge((), read_batches(value.state_batches), value.start_offset),
    )
    return Snapshot(value.snapshot_epoch, state, value.create_timestamp, value.write_timestamp)


def read_update(value: ShareUpdateValue) -> Update:
    return Update(
        value.leader_epoch,
        value.start_offset,
        value.delivery_complete_count,
        merge((), read_batches(value.state_batches), value.start_offset),
    )
