"""How shares are stored: snapshots, updates, and how much of either is written."""

from __future__ import annotations

from typing import Any

from tests.coordination.share.stage import KEY, NOW_MS, Stage

from penstock.coordination.share.state import Shares
from penstock.metadata.internal_topics import SHARES
from penstock.wire.delivery import StateBatch
from penstock.wire.stored.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from penstock.wire.stored.share_update import ShareUpdateKey, ShareUpdateValue
from penstock.wire.stored_codec import StoredKey, Versioned, decode_key, decode_value

AVAILABLE, DONE = 0, 2


def fragmented(count: int) -> list[StateBatch]:
    return [StateBatch(2 * at, 2 * at, DONE, 1) for at in range(1, count + 1)]


def written(stage: Stage) -> list[tuple[StoredKey, Versioned]]:
    found = []
    for records in stage.log:
        for raw, value in records:
            key = decode_key(raw, SHARES)
            assert key is not None
            assert value is not None
            found.append((key, decode_value(key, value)))
    return found


def test_a_small_change_of_a_large_share_is_a_small_record() -> None:
    stage = Stage()
    stage.initialize()
    stage.write(*fragmented(1000))
    stage.log.clear()
    for at in range(40):
        stage.write(StateBatch(5000 + 2 * at, 5000 + 2 * at, DONE, 1))
    values = [value for key, value in written(stage) if isinstance(key, ShareUpdateKey)]
    assert len(values) == 40, "not one snapshot of a thousand stretches"
    last = values[-1]
    assert isinstance(last, ShareUpdateValue)
    assert len(last.state_batches) == 40, "all since the snapshot: it stands for those before it"


def test_however_long_it_goes_on_a_write_costs_little_more_than_the_root_of_the_share() -> None:
    stage = Stage()
    stage.initialize()
    stage.write(*fragmented(1000))
    stage.log.clear()
    for at in range(1000):
        batch = StateBatch(2 * at + 2, 2 * at + 2, DONE, at % 5 + 2)
        stage.write(batch)
    values: list[Any] = [value for _, value in written(stage)]
    assert sum(len(value.state_batches) for value in values) < 1000 * 70


def test_after_so_many_updates_all_of_it_is_written() -> None:
    stage = Stage(share_updates_per_snapshot=3)
    stage.initialize()
    stage.write(*fragmented(50))
    for _ in range(8):
        stage.write(StateBatch(2, 2, AVAILABLE, 2))
    kinds = [isinstance(key, ShareSnapshotKey) for key, _ in written(stage)]
    assert kinds == [True, True, False, False, False, True, False, False, False, True]
    values: list[Any] = [value for _, value in written(stage)]
    assert [value.snapshot_epoch for value in values] == [0, 1, 1, 1, 1, 2, 2, 2, 2, 3]


def test_a_snapshot_says_since_when_there_is_the_share() -> None:
    stage = Stage()
    stage.initialize()
    stage.now_ms += 1000
    stage.write(*fragmented(2))
    (_, last) = written(stage)[-1]
    assert isinstance(last, ShareSnapshotValue)
    assert (last.create_timestamp, last.write_timestamp) == (NOW_MS, NOW_MS + 1000)


def test_an_update_of_an_older_snapshot_says_nothing() -> None:
    """Compaction may leave it in front of the snapshot that followed it."""
    stage = Stage(share_updates_per_snapshot=1)
    stage.initialize()
    stage.write(*fragmented(5))
    stage.write(StateBatch(2, 2, AVAILABLE, 2))
    stage.write(StateBatch(2, 2, DONE, 2))
    expected = stage.state
    assert len(stage.log) == 4
    stage.compact()
    assert len(stage.log) == 2, "the last update, and the snapshot that followed it"
    stage.reload()
    assert stage.state == expected


def test_what_cannot_be_read_is_told_by_its_name() -> None:
    shares = Shares()
    shares.leave_out(ShareUpdateKey(*KEY), "of a newer release")
    assert shares.unread == {KEY.name: "of a newer release"}
