"""Stretches of a log that were synced once and cannot be read any more.

Truncating there would lose acknowledged records without a word. So the bytes stay, reads of the
stretch are refused, everything else goes on, and the broker has a finding to raise the alarm with,
and to fetch the stretch again from another replica.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from penstock.errors import ErrorCode, Refused, Unusable

VERSION = 1


class Damage(NamedTuple):
    first_offset: int
    end_offset: int
    """The first good offset after it."""
    segment_base: int
    position: int
    end_position: int


def check_damage(damage: Sequence[Damage], offset: int, before: int) -> int:
    """Refused within a damaged stretch; else how far a read from an offset may go."""
    stretch = next_damage(damage, offset, before)
    return before if stretch is None else stretch.first_offset


def next_damage(damage: Sequence[Damage], offset: int, before: int) -> Damage | None:
    """The first stretch between an offset and another; Refused where the offset lies in one."""
    found = None
    for stretch in damage:
        if stretch.first_offset <= offset < stretch.end_offset:
            raise damaged(stretch)
        if offset < stretch.first_offset < before:
            found, before = stretch, stretch.first_offset
    return found


def damaged(stretch: Damage) -> Refused:
    """Trying again would not help, and this is the code that clients tell their users of."""
    return Refused(
        ErrorCode.CORRUPT_MESSAGE,
        f"offsets {stretch.first_offset} to {stretch.end_offset - 1} are damaged on disk "
        f"(segment {stretch.segment_base}, byte {stretch.position})",
    )


def encode(damage: Sequence[Damage]) -> bytes:
    lines = [str(VERSION), *(" ".join(map(str, stretch)) for stretch in damage)]
    return ("\n".join(lines) + "\n").encode()


def decode(data: bytes, path: str) -> list[Damage] | None:
    """None if it cannot be read; Unusable if it is of a newer version."""
    try:
        version, *rows, end = data.decode().split("\n")
        if end:
            raise ValueError("the last row was cut")
        if int(version) > VERSION:
            raise Unusable(f"{path} has version {version}, this release reads up to {VERSION}")
        return [Damage(*map(int, row.split(" "))) for row in rows if row]
    except (ValueError, TypeError):
        return None
