"""Aborted transactions of a segment: what a read_committed consumer must leave out.

Kafka's 34 bytes an entry: version, producer id, first and last offset (the abort marker's), and the
last stable offset at that time, which tells a search when it has seen enough.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import attrgetter
from struct import Struct
from typing import NamedTuple

from penstock.errors import Unusable

VERSION = 0
_ENTRY = Struct(">hqqqq")
_last_offset = attrgetter("last_offset")


class AbortedTxn(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def encode(entries: Iterable[AbortedTxn]) -> bytes:
    return b"".join(_ENTRY.pack(VERSION, *entry) for entry in entries)


def decode(data: bytes, path: str) -> list[AbortedTxn] | None:
    """None if the bytes cannot be such an index; Unusable if they are of a newer version."""
    if len(data) % _ENTRY.size:
        return None
    entries: list[AbortedTxn] = []
    for version, *fields in _ENTRY.iter_unpack(data):
        if version > VERSION:
            raise Unusable(
                f"{path} has version {version}, this release reads up to {VERSION}: "
                "use the newer release that wrote it"
            )
        entries.append(AbortedTxn(*fields))
    in_order = all(a.last_offset < b.last_offset for a, b in pairwise(entries))
    return entries if in_order else None


def overlapping(
    entries: Sequence[AbortedTxn], start: int, end: int
) -> tuple[list[AbortedTxn], bool]:
    """Those that have records in [start, end), and whether later entries can have none."""
    found: list[AbortedTxn] = []
    first = bisect_left(entries, start, key=_last_offset)
    for at in range(first, len(entries)):
        entry = entries[at]
        if entry.first_offset < end:
            found.append(entry)
        if entry.last_stable_offset >= end:
            return found, True
    return found, False
