"""A log whose partition is another topic's from some moment on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.log.making import OTHER_ID, TOPIC_ID, a_folder, all_values, copied, put, settle

from penstock.config import TopicConfig
from penstock.errors import Unusable
from penstock.log.log_dir import LogDir
from penstock.log.partition_log import PartitionLog
from penstock.world.real_disk import RealDisk

CONFIG = TopicConfig()
OLD, NEW = ("orders", 5), ("orders.sealed-1", 3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data"


def opened(folder: LogDir, key: tuple[str, int], log_id: bytes = TOPIC_ID) -> PartitionLog:
    log = folder.log_for(*key, log_id, CONFIG)
    for _ in folder.recover_all():
        pass
    return log


def values(log: PartitionLog) -> list[bytes | None]:
    return [value for _, value in all_values(log)]


def written(disk: RealDisk, path: Path) -> tuple[LogDir, PartitionLog]:
    folder = a_folder(disk, path)
    log = opened(folder, OLD)
    for value in (b"one", b"two"):
        put(log, value)
    settle(log)
    return folder, log


def test_a_log_goes_on_under_its_new_name_with_all_that_was_in_it(
    disk: RealDisk, path: Path
) -> None:
    folder, old = written(disk, path)
    old.high_watermark = 2
    folder.take_over(OLD, NEW, TOPIC_ID)
    log = opened(folder, NEW)
    assert not (path / "orders-5").exists()
    assert values(log) == [b"one", b"two"]
    assert log.high_watermark == 2
    put(log, b"three")
    settle(log)
    log.roll()
    put(log, b"four")
    settle(log)
    folder.close()
    assert sorted(each.name for each in (path / "orders.sealed-1-3").glob("*.log")) == [
        "00000000000000000000.log",
        "00000000000000000003.log",
    ]
    assert values(opened(a_folder(disk, path), NEW)) == [b"one", b"two", b"three", b"four"]


def test_whoever_is_at_work_on_the_old_log_finds_it_gone_and_may_read_on(
    disk: RealDisk, path: Path
) -> None:
    folder, old = written(disk, path)
    before = old.read(0, 1000, 2)
    assert before is not None
    folder.take_over(OLD, NEW, TOPIC_ID)
    assert old.is_deleted
    assert before.range.file.read(before.range.position, before.range.length)


def test_a_log_that_was_never_opened_is_found_in_its_new_place(disk: RealDisk, path: Path) -> None:
    written(disk, path)[0].close()
    folder = a_folder(disk, path)
    folder.take_over(OLD, NEW, TOPIC_ID)
    assert folder.was_clean
    assert folder.log_for(*NEW, TOPIC_ID, CONFIG).end_offset == 2
    assert values(opened(folder, NEW)) == [b"one", b"two"]
    assert folder.set_aside_unclaimed() == []


@pytest.mark.parametrize("is_renamed", [False, True])
def test_after_a_crash_the_folder_is_found_under_either_name(
    disk: RealDisk, path: Path, tmp_path: Path, is_renamed: bool
) -> None:
    folder, log = written(disk, path)
    put(log, b"three")
    settle(log)
    log.advance_start(1)
    folder.checkpoint()
    if is_renamed:
        folder.take_over(OLD, NEW, TOPIC_ID)
    again = a_folder(disk, copied(path, tmp_path / "after"))
    again.take_over(OLD, NEW, TOPIC_ID)
    found = opened(again, NEW)
    assert found.start_offset == 1, "what is noted of it goes with it"
    assert values(found) == [b"two", b"three"]
    again.abandon()


def test_a_log_of_another_partition_in_the_old_place_stays_there(
    disk: RealDisk, path: Path
) -> None:
    folder, _ = written(disk, path)
    folder.take_over(OLD, NEW, OTHER_ID)
    assert OLD in folder.logs
    assert (path / "orders-5").exists()
    folder.close()
    again = a_folder(disk, path)
    again.take_over(OLD, NEW, OTHER_ID)
    assert (path / "orders-5").exists()


def test_what_an_earlier_topic_of_the_name_has_left_is_set_aside(
    disk: RealDisk, path: Path
) -> None:
    folder, _ = written(disk, path)
    put(opened(folder, NEW, OTHER_ID), b"stale")
    folder.close()
    again = a_folder(disk, path)
    again.take_over(OLD, NEW, TOPIC_ID)
    assert values(opened(again, NEW)) == [b"one", b"two"]
    assert [each.name for each in path.glob("*-stray")]


def test_a_new_partition_in_the_old_place_begins_with_nothing(disk: RealDisk, path: Path) -> None:
    folder, _ = written(disk, path)
    folder.take_over(OLD, NEW, TOPIC_ID)
    assert opened(folder, OLD, OTHER_ID).end_offset == 0
    assert values(opened(folder, NEW)) == [b"one", b"two"]


def test_a_log_is_deleted_by_any_of_its_topics_ids(disk: RealDisk, path: Path) -> None:
    folder, _ = written(disk, path)
    folder.take_over(OLD, NEW, TOPIC_ID)
    folder.delete_log(*NEW, OTHER_ID)
    assert NEW in folder.logs
    folder.delete_log(*NEW, OTHER_ID, TOPIC_ID)
    assert NEW not in folder.logs


def test_a_log_that_cannot_be_moved_is_not_taken_for_one_of_a_deleted_topic(
    disk: RealDisk, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = written(disk, path)

    def fail(old: str, new: str) -> None:
        raise OSError(5, "the disk is broken")

    with monkeypatch.context() as broken:
        broken.setattr(disk, "rename", fail)
        with pytest.raises(OSError, match="broken"):
            folder.take_over(OLD, NEW, TOPIC_ID)
    with pytest.raises(Unusable, match="could not be moved"):
        folder.log_for(*OLD, OTHER_ID, CONFIG)
    folder.take_over(OLD, NEW, TOPIC_ID)
    assert values(opened(folder, NEW)) == [b"one", b"two"]
    assert opened(folder, OLD, OTHER_ID).end_offset == 0
