"""Opening a log in steps, whatever has to be done for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.log.making import TOPIC_ID, a_folder, all_values, copied, put, settle

from penstock.config import TopicConfig
from penstock.errors import ErrorCode, Refused
from penstock.log import layout
from penstock.log.partition_log import PartitionLog
from penstock.world.real_disk import RealDisk

COUNT = 3000
CONFIG = TopicConfig(segment_bytes=1 << 30, cleanup_policy=("compact",))


@pytest.fixture
def written(disk: RealDisk, folder: Path) -> Path:
    """As many producers as records, in two segments; cleanly closed."""
    log = PartitionLog(disk, str(folder), TOPIC_ID, CONFIG)
    for number in range(COUNT):
        put(log, b"x", producer_id=number, producer_epoch=0, base_sequence=0)
        if number == COUNT // 2:
            log.roll()
    settle(log)
    log.close()
    return folder


def closed(disk: RealDisk, folder: Path, end: int = COUNT) -> PartitionLog:
    log = PartitionLog(disk, str(folder), TOPIC_ID, CONFIG)
    log.end_offset = log.written_end = log.synced_end = log.recovery_point = end
    return log


def remove_all(folder: Path, kind: str) -> None:
    for path in folder.glob(f"*{kind}"):
        path.unlink()


def leave_swap(folder: Path) -> None:
    first, second = sorted(folder.glob("*.log"))
    first.rename(f"{first}{layout.swap_suffix(int(second.stem))}")


MISHAPS: dict[str, Callable[[Path], None]] = {
    "no snapshot": lambda folder: remove_all(folder, ".snapshot"),
    "no indexes": lambda folder: remove_all(folder, "index"),
    "no epochs": lambda folder: (folder / layout.EPOCHS_FILE).unlink(),
    "an unfinished swap": leave_swap,
    "many producers": lambda _: None,
}


@pytest.mark.parametrize("name", MISHAPS)
def test_what_takes_long_is_done_in_steps(disk: RealDisk, written: Path, name: str) -> None:
    MISHAPS[name](written)
    copy = copied(written, written.parent / "copy-0")
    log, at_once = closed(disk, written), closed(disk, copy)
    assert len(list(log.open_steps())) >= 3
    assert list(log.open_steps()) == []
    at_once.open()
    for each in (log, at_once):
        assert each.end_offset == COUNT
        assert len(all_values(each)) == COUNT
        assert set(each.producers.producers) == set(range(COUNT))
        assert each.latest_epoch == 0


def test_a_stale_recovery_point_is_found_out_in_steps(disk: RealDisk, written: Path) -> None:
    log = closed(disk, written, 100)
    assert len(list(log.open_steps())) >= 3
    assert log.end_offset == COUNT


def test_most_logs_are_open_after_one_step(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, CONFIG)
    put(log, b"a")
    log.close()
    assert closed(disk, folder, 1).open_a_little()
    assert closed(disk, folder.parent / "empty-0", 0).open_a_little()


def test_a_few_producers_do_not_make_a_log_slow_to_open(disk: RealDisk, folder: Path) -> None:
    log = PartitionLog(disk, str(folder), TOPIC_ID, CONFIG)
    for number in range(100):
        put(log, b"x", producer_id=number, producer_epoch=0, base_sequence=0)
    log.close()
    again = closed(disk, folder, 100)
    assert again.open_a_little()
    assert set(again.producers.producers) == set(range(100))


def test_who_cannot_wait_goes_on_with_what_others_have_begun(disk: RealDisk, written: Path) -> None:
    log = closed(disk, written)
    one, other = log.open_steps(), log.open_steps()
    next(one)
    begun = log.opening
    next(other)
    one.close()
    next(other)
    assert log.opening is begun is not None
    log.open()
    assert list(other) == []
    assert len(all_values(log)) == COUNT


def test_a_log_that_is_deleted_meanwhile_touches_nothing_any_more(
    disk: RealDisk, tmp_path: Path
) -> None:
    folder = a_folder(disk, tmp_path / "data")
    log = folder.log_for("orders", 0, TOPIC_ID, CONFIG)
    for number in range(COUNT):
        put(log, b"x", producer_id=number, producer_epoch=0, base_sequence=0)
    folder.close()
    folder = a_folder(disk, tmp_path / "data")
    log = folder.log_for("orders", 0, TOPIC_ID, CONFIG)
    steps = log.open_steps()
    next(steps)
    folder.delete_log("orders", 0, TOPIC_ID)
    with pytest.raises(Refused) as refused:
        next(steps)
    assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    folder.abandon()


def test_an_opening_that_fails_is_begun_anew(disk: RealDisk, written: Path) -> None:
    log = closed(disk, written)
    next(log.open_steps())
    (written / layout.EPOCHS_FILE).write_text("99\n0\n")
    with pytest.raises(Exception, match="version 99"):
        log.open()
    assert not log.is_open
    (written / layout.EPOCHS_FILE).unlink()
    log.open()
    assert len(all_values(log)) == COUNT


def test_many_producers_are_written_down_in_steps_at_a_stop(disk: RealDisk, tmp_path: Path) -> None:
    folder = a_folder(disk, tmp_path / "data")
    log = folder.log_for("orders", 0, TOPIC_ID, CONFIG)
    for number in range(COUNT):
        put(log, b"x", producer_id=number, producer_epoch=0, base_sequence=0)
    assert len(list(folder.close_logs_in_steps())) > 5
    folder.finish()
    again = a_folder(disk, tmp_path / "data").log_for("orders", 0, TOPIC_ID, CONFIG)
    again.open()
    assert set(again.producers.producers) == set(range(COUNT))
