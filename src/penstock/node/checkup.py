"""Whether this machine will do for a broker with given settings, before it is started."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from penstock.errors import Unusable
from penstock.log import layout
from penstock.log.checkpoints import decode_meta
from penstock.node.run import HANDLES_MIN, connections_most
from penstock.node.settings import NodeSettings
from penstock.node.store_checkup import trouble_with
from penstock.wire import records
from penstock.world.real_disk import RealDisk

GOOD, POOR, BAD = "ok", "poor", "bad"
"""It will do; it will, but not well; it will not."""


class Finding(NamedTuple):
    what: str
    verdict: str
    told: str
    """What was found, and what to do about it where it is not good."""


def look_over(wanted: NodeSettings) -> Iterator[Finding]:
    folder = Path(wanted.broker.data_dir)
    yield _data_folder(folder)
    yield _disk_room(folder, wanted.broker.disk_free_min_bytes)
    yield _file_handles(folder, wanted.broker.max_connections)
    yield _store(wanted.broker.store, folder)
    yield _speed()


def _data_folder(folder: Path) -> Finding:
    what = "data folder"
    place = _nearest(folder)
    in_the_way = [each for each in (folder, *folder.parents) if each.exists() and not each.is_dir()]
    if in_the_way:
        return Finding(what, BAD, f"{in_the_way[0]} is no folder: name another, or move it away")
    if not os.access(place, os.W_OK | os.X_OK):
        return Finding(what, BAD, f"{place} cannot be written to: give it to the broker's user")
    if place != folder:
        return Finding(what, GOOD, f"{folder} is not there yet, and will be made")
    meta_path = folder / layout.META_FILE
    if not meta_path.exists():
        is_empty = not any(folder.iterdir())
        told = "is empty" if is_empty else "is of no broker yet, though something is in it"
        return Finding(what, GOOD if is_empty else POOR, f"{folder} {told}")
    try:
        meta = decode_meta(meta_path.read_bytes(), str(meta_path))
    except Unusable as problem:
        return Finding(what, BAD, str(problem))
    return Finding(what, GOOD, f"of broker {meta.node_id} in cluster {meta.cluster_id}")


def _disk_room(folder: Path, least: int) -> Finding:
    free, mib = RealDisk(1).free_bytes(str(_nearest(folder))), 1 << 20
    told = f"{free // mib} MiB free, writes are refused below {least // mib} (disk.free.min.bytes)"
    if free < least:
        return Finding("disk room", BAD, f"{told}: make room")
    return Finding("disk room", POOR if free < 4 * least else GOOD, told)


def _file_handles(folder: Path, connections: int) -> Finding:
    """Log files are closed and opened again where there are more than fit, at a price."""
    what, hard = "file handles", resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < 0:
        return Finding(what, GOOD, "as many as are wanted")
    if hard < HANDLES_MIN:
        told = f"{hard}, and a broker needs at least {HANDLES_MIN}: raise the limit (ulimit -n)"
        return Finding(what, BAD, told)
    partitions = _partitions_in(folder)
    most, files = connections_most(hard), hard // 4
    told = f"{hard}: room for {most} connections and {files} open log files"
    if partitions > files:
        wanted = f"{partitions} partitions are in the folder: raise the limit to {4 * partitions}"
        return Finding(what, POOR, f"{told}; {wanted} (ulimit -n)")
    if connections > most and most < 1000:
        return Finding(what, POOR, f"{told}; raise the limit for more (ulimit -n)")
    return Finding(what, GOOD, told)


def _partitions_in(folder: Path) -> int:
    if not folder.is_dir():
        return 0
    return sum(layout.parse_folder(each.name) is not None for each in folder.iterdir())


def _store(url: str, folder: Path) -> Finding:
    what, kind = "metadata store", url.partition(":")[0]
    if trouble := trouble_with(url, folder):
        return Finding(what, BAD, trouble)
    return Finding(what, GOOD, f"{kind}" if url else "sqlite, in the data folder")


def _speed() -> Finding:
    missing = []
    if find_spec("uvloop") is None:
        missing.append("uvloop is not installed")
    if not records.COMPILED:
        missing.append("records are read by Python, since there was no C compiler at install time")
    if missing:
        return Finding("speed", POOR, "; ".join(missing))
    return Finding("speed", GOOD, "uvloop, and compiled reading of records")


def _nearest(folder: Path) -> Path:
    """The folder, or the one that it would be made in."""
    return next(each for each in (folder, *folder.parents) if each.is_dir())
