"""What may happen to a log while it is compacted, and what is remembered afterwards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.log.compacting import (
    CONFIG,
    carry_out,
    compact,
    contents,
    every_record,
    filled,
    go_on,
    roll_and_compact,
    write,
)
from tests.log.making import NOW_MS, TOPIC_ID, a_folder, settle
from tests.log.timing import drop_expired

from penstock.log import compaction_plan
from penstock.log.compaction import Compaction, Overtaken, Uncleanable
from penstock.log.damage import Damage
from penstock.log.layout import COMPACTED_FILE
from penstock.log.partition_log import PartitionLog
from penstock.log.steps import Sync
from penstock.wire.records import Record
from penstock.world.real_disk import RealDisk

DELETING = replace(CONFIG, cleanup_policy=("delete",))


@pytest.fixture
def log(disk: RealDisk, folder: Path) -> PartitionLog:
    return PartitionLog(disk, str(folder), TOPIC_ID, CONFIG)


@pytest.mark.parametrize("after_steps", range(1, 14))
@pytest.mark.parametrize("change", ["truncate", "delete records", "retention", "start over"])
def test_a_log_that_is_changed_meanwhile_is_not_replaced(
    log: PartitionLog, change: str, after_steps: int
) -> None:
    filled(log, 4)
    log.roll()
    dirt = compaction_plan.examine(log, NOW_MS, log.end_offset)
    assert dirt is not None
    compaction = Compaction(log, dirt, NOW_MS, 1 << 20)
    steps = compaction.run()
    for _ in range(after_steps):
        wait = next(steps, None)
        if wait is None:
            return
        carry_out(log, wait)
    if change == "truncate":
        log.truncate_to(7)
    elif change == "delete records":
        log.advance_start(log.end_offset)
    elif change == "retention":
        log.config = replace(CONFIG, cleanup_policy=("compact", "delete"), retention_ms=1000)
        drop_expired(log, NOW_MS + 2000, log.end_offset)
    else:
        log.start_over(100)
    expected = contents(log)
    write(log, (b"k0", b"after"))
    with pytest.raises(Overtaken):
        go_on(log, steps)
    assert [pair[2] for pair in contents(log)] == [value for _, _, value in expected] + [b"after"]
    names = [path.name for path in Path(log.folder).iterdir()]
    assert not [name for name in names if name.endswith((".cleaned", ".swap"))]
    assert log.cleaned_to <= log.end_offset


def test_a_deleted_log_is_given_up(disk: RealDisk, tmp_path: Path) -> None:
    data = a_folder(disk, tmp_path / "data")
    log = filled(data.log_for("orders", 0, TOPIC_ID, CONFIG))
    dirt = compaction_plan.examine(log, NOW_MS, log.end_offset)
    assert dirt is not None
    steps = Compaction(log, dirt, NOW_MS, 1 << 20).run()
    carry_out(log, next(steps))
    data.delete_log("orders", 0, TOPIC_ID)
    new = filled(data.log_for("orders", 0, bytes(16), CONFIG), 1)
    with pytest.raises(Overtaken):
        go_on(log, steps)
    assert len(every_record(new)) == 5
    assert not [path for path in Path(new.folder).iterdir() if path.name.endswith(".cleaned")]
    data.close()


def test_a_damaged_batch_is_never_copied(log: PartitionLog) -> None:
    filled(log)
    log.roll()
    path = Path(log.segments[1].file.path)
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    with pytest.raises(Uncleanable, match="CRC"):
        compact(log)
    assert path.read_bytes() == data
    assert log.cleaned_to == 0


def test_a_log_with_known_damage_is_left_alone(log: PartitionLog) -> None:
    filled(log)
    log.damage = [Damage(6, 7, 5, 120, 240)]
    assert compact(log) is None


def test_how_far_a_log_is_compacted_is_remembered(disk: RealDisk, tmp_path: Path) -> None:
    data = a_folder(disk, tmp_path / "data")
    log = filled(data.log_for("orders", 0, TOPIC_ID, CONFIG))
    roll_and_compact(log)
    data.close()
    lines = (tmp_path / "data" / "cleaner-offset-checkpoint").read_text().splitlines()
    assert [line.rstrip() for line in lines] == ["0", "1", "orders 0 40"]
    data = a_folder(disk, tmp_path / "data")
    log = data.log_for("orders", 0, TOPIC_ID, CONFIG)
    assert compact(log) is None
    assert len(every_record(log)) == 5
    data.delete_log("orders", 0, TOPIC_ID)
    data.close()
    assert (tmp_path / "data" / "cleaner-offset-checkpoint").read_text().split() == ["0", "0"]


def half_compacted(log: PartitionLog) -> list[Record]:
    """The pass is given up once some of its segments are replaced; what it has left."""
    filled(log, 12)
    settle(log)
    dirt = compaction_plan.examine(log, NOW_MS, log.end_offset)
    assert dirt is not None
    steps = Compaction(log, dirt, NOW_MS, 1 << 20).run()
    while sum(not segment.size for segment in log.segments) < 2:
        carry_out(log, next(steps))
    steps.close()
    assert log.cleaned_to == 0
    return every_record(log)


def test_what_half_a_pass_has_left_out_is_not_damage_under_another_policy(
    log: PartitionLog,
) -> None:
    left = half_compacted(log)
    log.config = DELETING
    assert every_record(log) == left
    assert len(left) < log.end_offset


def test_what_half_a_pass_has_left_out_is_not_damage_after_a_crash(
    disk: RealDisk, tmp_path: Path
) -> None:
    data = a_folder(disk, tmp_path / "data")
    left = half_compacted(data.log_for("orders", 0, TOPIC_ID, CONFIG))
    data.abandon()
    data = a_folder(disk, tmp_path / "data")
    log = data.log_for("orders", 0, TOPIC_ID, DELETING)
    for _ in data.recover_all():
        pass
    assert not log.damage
    assert every_record(log) == left
    data.close()


def test_that_there_may_be_gaps_is_synced_before_anything_is_replaced(log: PartitionLog) -> None:
    filled(log)
    dirt = compaction_plan.examine(log, NOW_MS, log.end_offset)
    assert dirt is not None
    is_noted = False
    for wait in Compaction(log, dirt, NOW_MS, 1 << 20).run():
        assert is_noted or not list(Path(log.folder).glob("*.swap"))
        carry_out(log, wait)
        if isinstance(wait, Sync) and log.folder in wait.folders:
            is_noted |= any(file.path.endswith(COMPACTED_FILE) for file in wait.files)
    assert is_noted


def test_truncation_takes_the_mark_back(log: PartitionLog) -> None:
    filled(log)
    roll_and_compact(log)
    log.truncate_to(38)
    assert log.cleaned_to == 38


def test_a_mark_beyond_the_end_of_the_log_counts_for_nothing(log: PartitionLog) -> None:
    filled(log)
    log.roll()
    log.cleaned_to = 1000
    assert compact(log) is not None
    assert log.cleaned_to == 40
