"""Whose data folder it is, how its last stop went, and whether it is an older copy of itself."""

from __future__ import annotations

from penstock.errors import Unusable
from penstock.log import checkpoints, layout
from penstock.log.checkpoints import Meta
from penstock.world.ports import Disk


def checked_meta(
    disk: Disk, folder: str, cluster_id: str | None, node_id: int, directory_id: str
) -> Meta:
    """What the folder says of itself, or a new one is given to say; Unusable if it is another's."""
    path = f"{folder}/{layout.META_FILE}"
    if not disk.exists(path):
        if cluster_id is None:
            raise Unusable(f"{folder} belongs to no cluster yet, and none was given")
        meta = Meta(cluster_id, node_id, directory_id)
        disk.write_whole(path, checkpoints.encode_meta(meta))
        return meta
    meta = checkpoints.decode_meta(disk.read_whole(path), path)
    if cluster_id is not None and meta.cluster_id != cluster_id:
        raise Unusable(
            f"{folder} belongs to cluster {meta.cluster_id}, and this is {cluster_id}: give "
            "the broker the metadata store it had before, or an empty data folder"
        )
    if meta.node_id != node_id:
        raise Unusable(
            f"{folder} belongs to broker {meta.node_id}, and this is {node_id}: start it "
            f"with --node-id {meta.node_id}, or with a data folder of its own"
        )
    if not meta.directory_id:  # of a release of Kafka that gave none, or taken out by hand
        meta = meta._replace(directory_id=directory_id)
        disk.write_whole(path, checkpoints.encode_meta(meta))
    return meta


def read_mark(disk: Disk, folder: str) -> int:
    """0 for a folder that never had one, or whose mark cannot be read: it counts as an older
    copy then, which is safe."""
    path = f"{folder}/{layout.MARK_FILE}"
    found = disk.read_whole(path) if disk.exists(path) else None
    return (checkpoints.decode_mark(found, path) or 0) if found is not None else 0


def write_mark(disk: Disk, folder: str, mark: int) -> None:
    disk.write_whole(f"{folder}/{layout.MARK_FILE}", checkpoints.encode_mark(mark))


def take_clean_stop(disk: Disk, folder: str) -> tuple[bool, int]:
    """Whether the last stop was clean, and in which epoch. The mark counts for one start: from
    now on a crash is a crash."""
    path = f"{folder}/{layout.CLEAN_STOP_FILE}"
    if not disk.exists(path):
        return False, -1
    epoch = checkpoints.decode_clean_stop(disk.read_whole(path))
    disk.remove(path)
    disk.sync_folder(folder)
    return epoch is not None, -1 if epoch is None else epoch


def leave_clean_stop(disk: Disk, folder: str, broker_epoch: int) -> None:
    mark = checkpoints.encode_clean_stop(broker_epoch)
    disk.write_whole(f"{folder}/{layout.CLEAN_STOP_FILE}", mark)
