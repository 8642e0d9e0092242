"""Text files of a version, a count and so many rows, as Kafka writes them, and a checksum.

A digit that changed, or was cut off, would make a log begin or end elsewhere, and what lies outside
is deleted sooner or later. Kafka's format has no place for a checksum; but its readers pass over
white space at the end of a row, so there it is, a space or a tab for each bit. A file without
one is taken as it is: it may be Kafka's.
"""

from __future__ import annotations

from collections.abc import Sequence

from crc32c import crc32c

_BITS = 32
_WRITTEN, _READ = str.maketrans("01", " \t"), str.maketrans(" \t", "01")


def seal(version: int, rows: Sequence[str]) -> bytes:
    text = "\n".join([str(version), str(len(rows)), *rows])
    checksum = f"{crc32c(text.encode()):0{_BITS}b}".translate(_WRITTEN)
    return f"{text}{checksum if rows else ''}\n".encode()


def version_of(data: bytes) -> int:
    return number(data.decode().partition("\n")[0])


def unseal(data: bytes) -> list[str]:
    """The rows, or ValueError: some of it is missing, or is not what was written."""
    text, end, after = data.decode().rpartition("\n")
    whole = text.rstrip(" \t")
    checksum = text[len(whole) :]
    if checksum and int(checksum.translate(_READ), 2) != crc32c(whole.encode()):
        raise ValueError("the checksum does not match")
    if "\t" in whole or "  " in whole:
        raise ValueError("the checksum is not where it should be")
    _, count, *rows = whole.split("\n")
    if not end or after or number(count) != len(rows):
        raise ValueError("some of it is missing")
    return rows


def number(text: str) -> int:
    """In plain digits, and nothing else that Python takes for a number."""
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{text!r} is not a number")
    return int(text)
