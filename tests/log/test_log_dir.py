"""The data folder: identity, clean and unclean stops, strays, checkpoints."""

from __future__ import annotations

import gc
import os
import shutil
import tracemalloc
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest
from tests.log.making import (
    OTHER_ID,
    TOPIC_ID,
    CountingDisk,
    a_batch,
    a_folder,
    all_values,
    copied,
    put,
    settle,
)

from penstock.config import TopicConfig
from penstock.errors import Unusable
from penstock.log import checkpoints, layout
from penstock.log.leader_epochs import UNDEFINED_EPOCH
from penstock.log.log_dir import LogDir
from penstock.log.partition_log import PartitionLog
from penstock.world.real_disk import RealDisk

CONFIG = TopicConfig()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data"


def orders(folder: LogDir, index: int = 0, topic_id: bytes = TOPIC_ID) -> PartitionLog:
    return folder.log_for("orders", index, topic_id, CONFIG)


def recovered(disk: RealDisk, path: Path) -> tuple[LogDir, PartitionLog]:
    folder = a_folder(disk, path)
    log = orders(folder)
    for _ in folder.recover_all():
        pass
    return folder, log


def test_a_new_folder_is_marked_with_cluster_and_node(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    lines = (path / "meta.properties").read_text().splitlines()
    assert lines[:3] == ["version=1", "cluster.id=cluster", "node.id=1"]
    assert lines[3:] == ["directory.id=", "penstock.format=1"]
    folder.close()
    assert LogDir(disk, str(path), cluster_id=None, node_id=1).meta.cluster_id == "cluster"


def test_a_folder_keeps_its_mark(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    assert folder.mark == 0
    folder.write_mark(7)
    folder.close()
    assert a_folder(disk, path).mark == 7


def test_a_mark_that_cannot_be_read_is_as_good_as_none(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    folder.write_mark(7)
    folder.close()
    file = path / layout.MARK_FILE
    for wrong in (b"", b"0\n1\n8" + file.read_bytes()[5:], b"0\n2\n7\n7\n"):
        file.write_bytes(wrong)
        folder = a_folder(disk, path)
        assert folder.mark == 0, "the folder counts as an older copy"
        folder.abandon()


def test_another_brokers_folder_is_refused_with_what_to_do(disk: RealDisk, path: Path) -> None:
    a_folder(disk, path).close()
    with pytest.raises(Unusable, match="--node-id 1"):
        a_folder(disk, path, node_id=2)
    with pytest.raises(Unusable, match="belongs to cluster cluster"):
        LogDir(disk, str(path), cluster_id="other", node_id=1)
    assert a_folder(disk, path).was_clean, "a refused start leaves everything as it was"


@pytest.mark.parametrize("line", ["penstock.format=2", "version=2"])
def test_a_newer_format_is_refused(disk: RealDisk, path: Path, line: str) -> None:
    path.mkdir()
    values = {"version": "1", "cluster.id": "cluster", "node.id": "1", "penstock.format": "1"}
    values |= dict([line.split("=")])
    (path / "meta.properties").write_text("\n".join(f"{k}={v}" for k, v in values.items()))
    with pytest.raises(Unusable, match="version 2"):
        a_folder(disk, path)


@pytest.mark.parametrize(
    "name", ["recovery-point-offset-checkpoint", "log-start-offset-checkpoint"]
)
def test_a_newer_checkpoint_is_refused_and_a_garbled_one_done_without(
    disk: RealDisk, path: Path, name: str
) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"a", b"b")
    folder.close()
    (path / name).write_text("1\n0\n")
    with pytest.raises(Unusable, match="newer release"):
        a_folder(disk, path)
    for content in ("", "0\n2\norders 0 5\n", "0\n1\norders zero 5\n"):
        (path / name).write_text(content)
        folder, log = recovered(disk, path)
        assert name in folder.problems[0]
        assert all_values(log) == [(0, b"a"), (1, b"b")]
        folder.close()


@pytest.mark.parametrize("start", [0, 3])
def test_a_topic_made_anew_does_not_inherit_the_checkpoints_of_the_deleted_one(
    disk: RealDisk, path: Path, start: int
) -> None:
    folder = a_folder(disk, path)
    old = orders(folder)
    for _ in range(5):
        put(old, b"old")
    old.advance_start(start)
    token = old.begin_sync()
    old.end_sync(token)
    folder.checkpoint()
    folder.delete_log("orders", 0, TOPIC_ID)
    put(orders(folder, topic_id=OTHER_ID), b"new")
    folder.abandon()  # before anything was noted of the new one
    again = a_folder(disk, path)
    log = orders(again, topic_id=OTHER_ID)
    for _ in again.recover_all():
        pass
    assert log.damage == []
    assert all_values(log) == [(0, b"new")]
    again.close()


def test_a_topic_made_anew_does_not_inherit_epochs_that_are_being_written(
    disk: RealDisk, path: Path
) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"old", epoch=7)
    write = folder.begin_checkpoint()
    assert write is not None
    folder.delete_log("orders", 0, TOPIC_ID)
    orders(folder, topic_id=OTHER_ID).prepare()
    write()
    folder.end_checkpoint()
    assert not list(path.glob("orders-0/leader-epoch-checkpoint*"))
    folder.close()
    again = a_folder(disk, path)
    assert orders(again, topic_id=OTHER_ID).latest_epoch == UNDEFINED_EPOCH
    again.close()


def test_epochs_that_were_being_written_are_noted_in_the_folders_new_place(
    disk: RealDisk, path: Path
) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"old", epoch=7)
    write = folder.begin_checkpoint()
    assert write is not None
    folder.take_over(("orders", 0), ("orders", 3), TOPIC_ID)
    write()
    folder.end_checkpoint()
    folder.checkpoint()
    assert (path / "orders-3" / "leader-epoch-checkpoint").exists()
    folder.close()


def lose_ids(path: Path, way: str) -> None:
    ids = path / "penstock-topic-id-checkpoint"
    if way == "flipped":
        data = bytearray(ids.read_bytes())
        data[20] ^= 1
        ids.write_bytes(data)
    else:
        ids.unlink()


@pytest.mark.parametrize("way", ["flipped", "missing"])
@pytest.mark.parametrize("clean", [True, False])
def test_without_the_topics_ids_the_other_checkpoints_still_count(
    disk: RealDisk, path: Path, way: str, clean: bool
) -> None:
    of_five(disk, path)
    lose_ids(path, way)
    if not clean:
        (path / ".kafka_cleanshutdown").unlink()
    folder, log = recovered(disk, path)
    assert "penstock-topic-id-checkpoint" in folder.problems[0]
    assert (log.start_offset, log.recovery_point, log.end_offset) == (1, 5, 5)
    folder.close()


def test_without_the_topics_ids_a_topic_made_after_the_checkpoint_inherits_nothing(
    disk: RealDisk, path: Path
) -> None:
    of_five(disk, path)
    lose_ids(path, "missing")
    noted_s = (path / "recovery-point-offset-checkpoint").stat().st_mtime
    later = noted_s + 1
    os.utime(path / "orders-0" / "partition.metadata", (later, later))
    folder, log = recovered(disk, path)
    assert (log.start_offset, log.end_offset) == (0, 5)
    folder.close()


def test_a_folder_in_use_is_refused(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    with pytest.raises(Unusable, match="in use by another broker"):
        a_folder(disk, path)
    folder.close()
    a_folder(disk, path).close()


def test_after_a_clean_stop_nothing_is_read_before_it_is_used(path: Path) -> None:
    disk = CountingDisk()
    folder = a_folder(disk, path)
    for index in range(20):
        put(orders(folder, index), b"a", b"b")
    folder.close(broker_epoch=77)
    disk.opened_paths.clear()
    disk.reads.clear()
    folder = a_folder(disk, path)
    assert (folder.was_clean, folder.stopped_at_epoch) == (True, 77)
    logs = [orders(folder, index) for index in range(20)]
    assert [log.end_offset for log in logs] == [2] * 20
    assert [log.synced_end for log in logs] == [2] * 20
    assert list(folder.recover_all()) == []
    assert not disk.reads
    assert not disk.opened_paths
    assert all_values(logs[3]) == [(0, b"a"), (1, b"b")]
    assert {Path(name).parent.name for name in disk.reads} == {"orders-3"}
    folder.close()
    disk.close()


def test_a_start_without_the_mark_recovers(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"a")
    put(orders(folder), b"b")
    folder.abandon()
    folder, log = recovered(disk, path)
    assert not folder.was_clean
    assert (log.end_offset, log.synced_end) == (2, 0)
    settle(log)
    assert log.synced_end == 2
    folder.close()
    assert a_folder(disk, path).was_clean


def test_the_mark_of_a_clean_stop_counts_once(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"a")
    folder.close()
    a_folder(disk, path).abandon()
    assert not a_folder(disk, path).was_clean


def test_no_mark_is_left_while_a_log_is_not_recovered(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"a")
    folder.abandon()
    folder = a_folder(disk, path)
    orders(folder)
    folder.close()
    assert not a_folder(disk, path).was_clean


def test_a_checkpoint_bounds_what_a_recovery_may_cut(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    log = orders(folder)
    put(log, b"a")
    put(log, b"b")
    settle(log)
    folder.checkpoint()
    put(log, b"c")
    folder.abandon()
    file = path / "orders-0" / "00000000000000000000.log"
    data = file.read_bytes()
    file.write_bytes(data[: len(a_batch(b"a")) + 5])
    folder, log = recovered(disk, path)
    assert [(d.first_offset, d.end_offset) for d in log.damage] == [(1, 2)]
    assert log.end_offset == 2


def test_a_log_cut_below_its_checkpoint_is_no_damage_at_any_moment(
    disk: RealDisk, path: Path, tmp_path: Path
) -> None:
    folder = a_folder(disk, path)
    log = orders(folder)
    for value in (b"a", b"b", b"c"):
        put(log, value)
    settle(log)
    folder.checkpoint()
    work = folder.begin_checkpoint()
    assert work is None, "nothing has changed since"
    put(log, b"d")
    settle(log)
    work = folder.begin_checkpoint()
    assert work is not None
    log.truncate_to(1)
    work()  # the older checkpoint reaches the disk after the newer one
    folder.end_checkpoint()
    copy = copied(path, tmp_path / "copy")
    _, again = recovered(disk, copy)
    assert (again.end_offset, again.damage) == (1, [])


def test_start_offsets_and_high_watermarks_are_remembered(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    log = orders(folder)
    put(log, b"a", b"b", b"c")
    log.advance_start(2)
    log.high_watermark = 3
    settle(log)
    folder.checkpoint()
    folder.abandon()
    folder, log = recovered(disk, path)
    assert (log.start_offset, log.high_watermark, log.end_offset) == (2, 3, 3)
    assert all_values(log) == [(2, b"c")]


def test_a_topic_created_anew_never_adopts_old_data(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"old")
    folder.close()
    folder = a_folder(disk, path)
    log = orders(folder, topic_id=OTHER_ID)
    assert log.end_offset == 0
    put(log, b"new")
    assert all_values(log) == [(0, b"new")]
    text = urlsafe_b64encode(TOPIC_ID).rstrip(b"=").decode()
    assert (path / f"orders-0.{text}-stray" / "00000000000000000000.log").exists()
    folder.close()
    folder = a_folder(disk, path)
    assert orders(folder, topic_id=OTHER_ID).end_offset == 1


def test_folders_that_nobody_asks_for_are_set_aside(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    put(orders(folder, 0), b"a")
    put(orders(folder, 1), b"a")
    folder.close()
    folder = a_folder(disk, path)
    orders(folder, 0)
    moved = folder.set_aside_unclaimed()
    assert len(moved) == 1
    assert moved[0].endswith("-stray")
    assert not (path / "orders-1").exists()
    assert (path / "orders-0").exists()


def test_folders_of_topics_that_are_known_to_be_deleted_are_doomed(
    disk: RealDisk, path: Path
) -> None:
    folder = a_folder(disk, path)
    put(orders(folder, 0), b"a")
    put(orders(folder, 1), b"a")
    put(folder.log_for("other", 0, OTHER_ID, CONFIG), b"a")
    folder.close()
    folder = a_folder(disk, path)
    folder.folders.deleted = {TOPIC_ID}
    orders(folder, 0, b"new topic's id!!")
    folder.set_aside_unclaimed()
    doomed = sorted(Path(each).name.partition(".")[0] for each in folder.folders.take_doomed())
    assert doomed == ["orders-0", "orders-1"]
    assert list(path.glob("other-0.*-stray")), "nobody has said that this one was deleted"


@pytest.mark.parametrize("topic_id", [TOPIC_ID, b"\xff" * 16, b"\xfb\xe0" * 8])
def test_what_was_set_aside_is_doomed_once_its_topic_is_known_to_be_deleted(
    disk: RealDisk, path: Path, topic_id: bytes
) -> None:
    for _ in range(2):
        folder = a_folder(disk, path)
        put(orders(folder, 0, topic_id), b"a")
        folder.close()
        folder = a_folder(disk, path)
        folder.set_aside_unclaimed()
        folder.abandon()
    folder = a_folder(disk, path)
    folder.folders.deleted = {OTHER_ID}
    folder.folders.doom_deleted()
    assert folder.folders.take_doomed() == []
    folder.folders.deleted = {topic_id}
    folder.folders.doom_deleted()
    assert sorted(folder.folders.take_doomed()) == sorted(map(str, path.glob("*-stray")))


def test_a_deleted_log_is_moved_out_of_the_way_at_once(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"a")
    folder.delete_log("orders", 0, OTHER_ID)
    assert folder.folders.take_doomed() == []
    folder.delete_log("orders", 0, TOPIC_ID)
    (doomed,) = folder.folders.take_doomed()
    assert Path(doomed).name.endswith("-delete")
    assert not (path / "orders-0").exists()
    fresh = orders(folder, topic_id=OTHER_ID)
    assert fresh.end_offset == 0
    put(fresh, b"new")
    folder.close()
    assert a_folder(disk, path).folders.take_doomed() == [doomed]


def test_a_deleted_log_that_never_had_a_folder_is_set_aside_by_nobody(
    disk: RealDisk, path: Path
) -> None:
    folder = a_folder(disk, path)
    orders(folder)
    folder.delete_log("orders", 0, TOPIC_ID)
    assert not folder.has_folder("orders", 0)
    assert folder.set_aside_unclaimed() == []


def test_a_topic_made_anew_dooms_what_the_deleted_one_has_left(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    old = orders(folder)
    put(old, b"a")
    held = old.read(0, 1000, 1)
    assert held is not None
    put(orders(folder, topic_id=OTHER_ID), b"new")
    (doomed,) = folder.folders.take_doomed()
    held.range.file.close()
    assert held.range.file.path.startswith(doomed)
    assert b"a" in held.range.file.read(0, 1000)


def test_a_folder_whose_mark_was_lost_in_a_crash_is_taken_as_it_is(
    disk: RealDisk, path: Path
) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"a")
    folder.abandon()
    (path / "orders-0" / "partition.metadata").write_bytes(b"")
    _, log = recovered(disk, path)
    assert all_values(log) == [(0, b"a")]


def test_after_a_crash_the_mark_of_a_partition_is_synced_again(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"a")
    folder.abandon()
    _, log = recovered(disk, path)
    mark = str(path / "orders-0" / "partition.metadata")
    assert mark in [file.path for file in log.begin_sync().files], "it may be in memory only"


def test_a_partition_mark_of_a_newer_version_is_refused(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"a")
    folder.close()
    mark = path / "orders-0" / "partition.metadata"
    first_lines = "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n"  # all that Kafka reads
    assert mark.read_text() == first_lines + "penstock_crc: d9c908eb"
    mark.write_text(mark.read_text().replace("version: 0", "version: 1"))
    with pytest.raises(Unusable, match="version 1"):
        orders(a_folder(disk, path))


def is_left_out(disk: RealDisk, path: Path) -> bool:
    """Whether a start refuses the partition, and leaves its folder where it is."""
    folder = a_folder(disk, path)
    with pytest.raises(Unusable, match=r"partition\.metadata"):
        orders(folder)
    folder.set_aside_unclaimed()
    folder.abandon()
    return (path / "orders-0").exists()


def test_a_partition_mark_with_any_changed_byte_is_no_other_topics(
    disk: RealDisk, path: Path
) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"a")
    folder.abandon()
    mark = path / "orders-0" / "partition.metadata"
    whole = mark.read_bytes()
    begins = whole.index(b"AAEC")
    for position in range(begins, begins + 22):
        changed = bytearray(whole)
        changed[position] = ord("B") if changed[position] != ord("B") else ord("R")
        mark.write_bytes(changed)
        assert is_left_out(disk, path)
    mark.write_bytes(whole)
    assert all_values(recovered(disk, path)[1]) == [(0, b"a")]


def test_a_partition_mark_that_a_crash_has_cut_is_made_whole(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"a")
    folder.abandon()
    mark = path / "orders-0" / "partition.metadata"
    whole = mark.read_bytes()
    for size in range(1, len(whole), 3):
        mark.write_bytes(whole[:size] + bytes(size % 2))
        folder, log = recovered(disk, path)
        assert (all_values(log), mark.read_bytes()[:45]) == ([(0, b"a")], whole[:45])
        folder.abandon()


def test_a_partition_mark_that_was_cut_is_no_other_topics(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"a")
    folder.abandon()
    mark = path / "orders-0" / "partition.metadata"
    other = checkpoints.encode_partition(OTHER_ID)
    for size in range(other.index(b": E") + 3, other.index(b"\npenstock") - 1):
        mark.write_bytes(other[:size])
        assert is_left_out(disk, path)


def test_another_topics_mark_where_the_checkpoint_says_ours_is_refused(
    disk: RealDisk, path: Path
) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"a")
    folder.close()
    text = urlsafe_b64encode(OTHER_ID).rstrip(b"=").decode()
    mark = path / "orders-0" / "partition.metadata"
    mark.write_text(f"version: 0\ntopic_id: {text}\n")  # as Kafka writes it, without a checksum
    assert is_left_out(disk, path)


def test_what_a_deleted_topic_has_left_is_set_aside_with_a_line(
    disk: RealDisk, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(2):
        folder = a_folder(disk, path)
        put(orders(folder), b"%d" % number)
        folder.close()
        folder = a_folder(disk, path)
        orders(folder, topic_id=OTHER_ID)
        folder.abandon()
        assert "orders-0 belongs to no topic of this cluster" in caplog.text
    strays = sorted(each.name for each in path.glob("orders-0.*-stray"))
    assert len(strays) == 2, "the second does not take the place of the first"


def test_a_folder_that_nobody_asks_for_is_set_aside_whatever_its_mark_says(
    disk: RealDisk, path: Path
) -> None:
    a_folder(disk, path).close()
    for name, mark in (("cut-0", b"version: 0\ntopic_id: AAAA"), ("new-0", b"version: 9\n")):
        (path / name).mkdir()
        (path / name / "partition.metadata").write_bytes(mark)
    (path / "folder-0" / "partition.metadata").mkdir(parents=True)
    (path / "file-0").write_bytes(b"")
    assert len(a_folder(disk, path).set_aside_unclaimed()) == 4


@pytest.mark.parametrize("topic", ["../evil", "a/b", "", ".", "..", "a\0b", "x" * 250])
def test_names_that_would_leave_the_folder_are_refused(
    disk: RealDisk, path: Path, topic: str
) -> None:
    with pytest.raises(Unusable):
        a_folder(disk, path).log_for(topic, 0, TOPIC_ID, CONFIG)


def test_a_stopped_log_whose_tail_was_lost_raises_the_alarm(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"a")
    put(orders(folder), b"b")
    folder.close()
    file = path / "orders-0" / "00000000000000000000.log"
    file.write_bytes(file.read_bytes()[: len(a_batch(b"a"))])
    log = orders(a_folder(disk, path))
    log.open()
    assert [(d.first_offset, d.end_offset) for d in log.damage] == [(1, 2)]
    assert put(log, b"c").base_offset == 2


def test_a_thousand_partitions_take_little_memory(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    gc.collect()
    tracemalloc.start()
    logs = [orders(folder, index) for index in range(1000)]
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(logs) == 1000
    assert before < 5_000_000


def test_a_log_that_was_only_read_is_not_written_again(disk: RealDisk, path: Path) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"a")
    folder.close()
    before = {file.name: file.stat().st_mtime_ns for file in (path / "orders-0").iterdir()}
    folder = a_folder(disk, path)
    assert all_values(orders(folder)) == [(0, b"a")]
    folder.close()
    assert before == {file.name: file.stat().st_mtime_ns for file in (path / "orders-0").iterdir()}
    folder = a_folder(disk, path)
    assert folder.was_clean
    assert all_values(orders(folder)) == [(0, b"a")]


def test_the_offsets_of_a_folder_that_is_gone_are_not_used_again(
    disk: RealDisk, path: Path
) -> None:
    folder = a_folder(disk, path)
    put(orders(folder), b"a", b"b")
    folder.close()
    shutil.rmtree(path / "orders-0")
    folder = a_folder(disk, path)
    assert folder.is_missing("orders", 0, TOPIC_ID)
    assert not folder.is_missing("orders", 0, OTHER_ID)
    log = orders(folder)
    assert put(log, b"c").base_offset == 2
    assert all_values(log) == [(2, b"c")]
    folder.close()
    again = orders(a_folder(disk, path))
    again.open()
    assert (again.start_offset, again.end_offset) == (2, 3)


# Checkpoints that are wrong


def of_five(disk: RealDisk, path: Path) -> None:
    """Five records, of which the first is deleted; a clean stop."""
    folder = a_folder(disk, path)
    log = orders(folder)
    for number in range(5):
        put(log, b"%d" % number)
    log.high_watermark = 5
    log.advance_start(1)
    folder.close()


@pytest.mark.parametrize("clean", [True, False])
def test_a_start_past_the_end_is_not_believed(
    disk: RealDisk, path: Path, clean: bool, caplog: pytest.LogCaptureFixture
) -> None:
    of_five(disk, path)
    (path / "log-start-offset-checkpoint").write_text("0\n1\norders 0 9\n")
    if not clean:
        (path / ".kafka_cleanshutdown").unlink()
    folder, log = recovered(disk, path)
    assert log.is_open
    assert (log.start_offset, log.end_offset) == (0, 5)
    assert [value for _, value in all_values(log)] == [b"0", b"1", b"2", b"3", b"4"]
    (line,) = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
    assert "past its end 5" in line
    folder.close()


CHECKPOINTS = [
    "log-start-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "penstock-topic-id-checkpoint",
]


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_checkpoint_with_a_changed_digit_or_cut_is_looked_through_instead(
    disk: RealDisk, path: Path, name: str
) -> None:
    of_five(disk, path)
    data = (path / name).read_bytes()
    row = data.index(b"orders")
    digit = row + len("orders 0 ")
    (path / name).write_bytes(data[:digit] + b"3" + data[digit + 1 :])
    folder = a_folder(disk, path)
    assert name in folder.problems[0]
    assert not folder.was_clean
    folder.abandon()
    for end in range(row, len(data)):
        (path / name).write_bytes(data[:end])
        folder = a_folder(disk, path)
        assert name in folder.problems[0]
        folder.abandon()


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_log_of_which_a_checkpoint_is_gone_is_looked_through(
    disk: RealDisk, path: Path, name: str
) -> None:
    of_five(disk, path)
    (path / name).unlink()
    folder = a_folder(disk, path)
    log = orders(folder)
    for _ in folder.recover_all():
        pass
    assert log.is_open, "nothing that may be wrong is shown of it"
    assert log.end_offset == 5
    folder.close()
    assert a_folder(disk, path).was_clean


def test_a_folder_whose_name_was_taken_out_gets_another(disk: RealDisk, path: Path) -> None:
    LogDir(disk, str(path), cluster_id="cluster", node_id=1, directory_id="one").close()
    meta = path / "meta.properties"
    meta.write_text(meta.read_text().replace("directory.id=one\n", ""))
    LogDir(disk, str(path), cluster_id="cluster", node_id=1, directory_id="two").close()
    kept = LogDir(disk, str(path), cluster_id="cluster", node_id=1, directory_id="three")
    assert kept.meta.directory_id == "two"
    kept.close()
