"""Names of folders and files, as Kafka gives them, so that its tools find their way around."""

from __future__ import annotations

import re
from typing import NamedTuple

from penstock.errors import Unusable

LOG, INDEX, TIME_INDEX, TXN_INDEX, TAG_INDEX, SNAPSHOT = (
    ".log",
    ".index",
    ".timeindex",
    ".txnindex",
    ".tagindex",
    ".snapshot",
)
INDEX_SUFFIXES = (INDEX, TIME_INDEX, TXN_INDEX)
SEGMENT_SUFFIXES = (LOG, *INDEX_SUFFIXES, TAG_INDEX)
DELETED, CLEANED, SWAP, TEMPORARY = ".deleted", ".cleaned", ".swap", ".tmp"
TORN = ".torn"
"""Cut off by recovery as a whole, and kept for who misses it."""
DOUBTFUL = ".doubtful"
"""A swap that was not to be believed, kept likewise."""
EPOCHS_FILE = "leader-epoch-checkpoint"
BEGUN_FILES = ("penstock.leader-epoch", "penstock.leader-epoch-odd")
"""The last epoch that had no record yet when it began, for as long as it has none."""
PARTITION_FILE = "partition.metadata"
DAMAGE_FILE = "penstock.damage"
COMPACTED_FILE = "penstock.compacted"
"""Its name is all there is to it: offsets without a record are not lost ones."""

META_FILE = "meta.properties"
RECOVERY_POINTS_FILE = "recovery-point-offset-checkpoint"
LOG_STARTS_FILE = "log-start-offset-checkpoint"
HIGH_WATERMARKS_FILE = "replication-offset-checkpoint"
CLEANED_FILE = "cleaner-offset-checkpoint"
DELETED_FILE = "penstock-deleted-offset-checkpoint"
"""Up to where DeleteRecords has moved each log's start, which retention may have moved since."""
TOPIC_IDS_FILE = "penstock-topic-id-checkpoint"
CLEAN_STOP_FILE = ".kafka_cleanshutdown"
LOCK_FILE = ".lock"
MARK_FILE = "penstock-folder-mark"
"""Raised now and then, here and in the cluster's metadata: an older copy of the folder has less."""
UNSYNCED_TOPICS_FILE = "penstock-topics-without-syncs"
"""Noted before the first record, so that a start after a power cut knows."""
STRAY, DELETING = "-stray", "-delete"
LAST_OFFSET = 0x7FFFFFFFFFFFFFFF
RELATIVE_OFFSET_MAX = 0x7FFFFFFF
"""Indexes count offsets from a segment's base, in 32 bits."""

_FOLDER = re.compile(r"(?P<topic>[a-zA-Z0-9._-]{1,249})-(?P<number>0|[1-9][0-9]{0,9})")
_STRAY = re.compile(r".+\.(?P<topic>[a-zA-Z0-9_-]{22})(\.[0-9]+)?-stray")
_OFFSET_NAME = re.compile(r"([0-9]{20})(\.[a-z]+)")


class PartitionName(NamedTuple):
    topic: str
    number: int


def folder_name(topic: str, number: int) -> str:
    """Topic names are checked where topics are made; a name that leaves the folder stops here."""
    name = f"{topic}-{number}"
    if topic in {".", ".."} or parse_folder(name) != (topic, number):
        raise Unusable(f"{name!r} cannot be the name of a partition's folder")
    return name


def parse_folder(name: str) -> PartitionName | None:
    if name.endswith((STRAY, DELETING)):
        return None
    match = _FOLDER.fullmatch(name)
    return PartitionName(match["topic"], int(match["number"])) if match else None


def topic_of_stray(name: str) -> str:
    """The id of the topic that a folder was set aside for, as text; empty if it is not known."""
    match = _STRAY.fullmatch(name)
    return match["topic"] if match else ""


def offset_name(offset: int) -> str:
    """Twenty digits, so that names sort as offsets do."""
    return f"{offset:020d}"


def swap_suffix(end: int) -> str:
    """Of a segment that is to take the place of all that begin before an offset."""
    return f".{offset_name(end)}{SWAP}"


def parse_offset(name: str, suffix: str) -> int | None:
    """The offset that a file of this kind is named after; there are none of 64 bits or more."""
    match = _OFFSET_NAME.fullmatch(name)
    if match is None or match[2] != suffix or int(match[1]) > LAST_OFFSET:
        return None
    return int(match[1])


def segment_base(name: str) -> int | None:
    """The base of the segment that a file belongs to, be it its batches or an index of them."""
    for suffix in SEGMENT_SUFFIXES:
        base = parse_offset(name, suffix)
        if base is not None:
            return base
    return None


def own_name(name: str) -> str:
    """Of a file that has another suffix for a while (`.deleted`, `.swap`)."""
    return ".".join(name.split(".")[:2])


def holds_batches(path: str) -> bool:
    """Whatever the suffix that the file has for a while."""
    return own_name(path.rpartition("/")[2]).endswith(LOG)
