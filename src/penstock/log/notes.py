"""What is noted beside a log's segments: whose it is, its epochs, its producers, its damage.

Nothing here is synced at once, since that would hold up whoever appends: files are handed to the
next round of syncing, and each can be told from a torn one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from penstock.log import checkpoints, damage, layout, leader_epochs
from penstock.log.steps import Steps
from penstock.world.ports import File

if TYPE_CHECKING:
    from penstock.log.partition_log import PartitionLog


def write_partition_file(log: PartitionLog) -> None:
    write(log, layout.PARTITION_FILE, checkpoints.encode_partition(log.topic_id))


def write_damage(log: PartitionLog) -> None:
    """At once: a clean start does not look for damage again."""
    if log.damage:
        log.disk.write_whole(f"{log.folder}/{layout.DAMAGE_FILE}", damage.encode(log.damage))
    else:
        log.disk.remove(f"{log.folder}/{layout.DAMAGE_FILE}")


def write_damage_in_steps(log: PartitionLog, writer: int) -> Steps[None]:
    """The same off the loop. It gets its name when it is written, and still true: meanwhile the log
    may be cut, or deleted, and another one be in its folder's place.

    No two may write with the same number at once.
    """
    path, written = f"{log.folder}/{layout.DAMAGE_FILE}", None
    temporary = f"{path}.{log.topic_id.hex()}.{writer}{layout.TEMPORARY}"
    while written is not log.damage:
        written = log.damage
        try:
            yield partial(log.disk.write_whole, temporary, damage.encode(written))
        except FileNotFoundError:
            if not log.is_deleted:
                raise
        if log.is_deleted or not log.damage:
            log.disk.remove(temporary)
            return
    log.disk.rename(temporary, path)
    log.note_folder(log.folder)


def keep_damage(log: PartitionLog, kept: list[damage.Damage]) -> None:
    """The rest is gone, with its bytes: what comes in their place is not to suffer for it."""
    before, log.damage = log.damage, kept
    if kept != before:
        write_damage(log)


def write_compacted(log: PartitionLog) -> File:
    """To be synced, with the folder, before the log has its first gap."""
    file = log.disk.open(f"{log.folder}/{layout.COMPACTED_FILE}")
    file.append([])
    return file


def read_damage(log: PartitionLog) -> list[damage.Damage] | None:
    """Of segments that are there: others may have gone just before a crash. None where the note
    cannot be read: it stays until all of the log has been looked through, and a new one written."""
    path = f"{log.folder}/{layout.DAMAGE_FILE}"
    if not log.disk.exists(path):
        return []
    noted = damage.decode(log.disk.read_whole(path), path)
    if noted is None:
        return None
    bases = {segment.base for segment in log.segments}
    return [stretch for stretch in noted if stretch.segment_base in bases]


def read_epochs(log: PartitionLog) -> leader_epochs.LeaderEpochs | None:
    path = f"{log.folder}/{layout.EPOCHS_FILE}"
    if not log.disk.exists(path):
        return None
    return leader_epochs.decode(log.disk.read_whole(path), path)


def epochs_to_write(log: PartitionLog) -> tuple[str, bytes] | None:
    """Path and content of the epochs' file if it is out of date, to be written off the loop."""
    if not (log.epochs.changed and log.has_folder):
        return None
    return f"{log.folder}/{layout.EPOCHS_FILE}", log.epochs.encode()


def write_epochs(log: PartitionLog, path: str, content: bytes) -> None:
    """May take place off the loop. A deleted log is marked as such before its folder goes: so what
    is written is either where it belongs, or not given its name."""
    temporary = f"{path}.{log.topic_id.hex()}{layout.TEMPORARY}"
    with suppress(FileNotFoundError):  # the log was deleted meanwhile
        log.disk.write_whole(temporary, content)
        if log.is_deleted:
            log.disk.remove(temporary)
        else:
            log.disk.rename(temporary, path)
            log.disk.sync_folder(log.folder)


def write_begun(log: PartitionLog, begun: leader_epochs.EpochStart) -> None:
    """In a file of its own: that of all epochs is written off the loop, and may be so just now. The
    one before stays in another, until this one is written for sure."""
    name = layout.BEGUN_FILES[begun.epoch % len(layout.BEGUN_FILES)]
    write(log, name, leader_epochs.LeaderEpochs([begun]).encode())
    log.note_folder(log.folder)


def _all_begun(log: PartitionLog) -> Iterator[tuple[str, leader_epochs.EpochStart]]:
    """With the files that they are in."""
    for name in layout.BEGUN_FILES:
        path = f"{log.folder}/{name}"
        if not log.disk.exists(path):
            continue
        found = leader_epochs.decode(log.disk.read_whole(path), path)
        if found is not None and found.entries:
            yield path, found.entries[-1]


def _begun(log: PartitionLog) -> leader_epochs.EpochStart | None:
    return max((begun for _, begun in _all_begun(log)), default=None)


def begun_epochs(log: PartitionLog) -> list[int]:
    return [begun.epoch for _, begun in _all_begun(log)]


def take_begun(log: PartitionLog) -> None:
    """At a start: it counts if the log ends where the epoch began, and has no later one."""
    begun = _begun(log)
    if begun is None or begun.start_offset != log.end_offset or begun.epoch <= log.epochs.latest:
        return
    log.epochs.assign(*begun)


def forget_begun(log: PartitionLog, end: int) -> None:
    """Before the log is cut to there: it may grow again, and differently."""
    for path, begun in list(_all_begun(log)):
        if begun.start_offset > end:
            log.disk.remove(path)
            log.note_folder(log.folder)


def write(log: PartitionLog, name: str, data: bytes) -> None:
    """A small file, in place of the one that may be there."""
    file = log.disk.open(f"{log.folder}/{name}")
    file.truncate(0)
    file.append([data])
    log.unsynced_files.append(file)
