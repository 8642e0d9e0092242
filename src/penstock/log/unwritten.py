"""Bytes of a log that never reached the disk, told from those that did and have changed since.

A power loss may keep what was written later and lose what was written before it. Disks take whole
sectors, so what is lost reads as zeros that begin with a sector, or where the file ended when the
sector was last written, and that end with one. A sync would have brought all of the file to the
disk, and the segments before it: so where such zeros are, nothing from there on was ever synced.

Records may have zeros of their own, but those do not keep to sectors; and a batch that has such
zeros, and is broken, is not judged by any others that do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from crc32c import crc32c

from penstock.log.window import Window
from penstock.wire.batch import CRC_START, HEADER_SIZE, MAGIC, read_header

SECTOR_BYTES = 512
MANY = 64
"""From so many zeros on they may be a hole; fewer are found in any batch."""
BESIDE_MAX = 16
"""Zeros that a hole may have for neighbours: there are some in every header."""
LENGTH_END = 12
PIECE_BYTES = 1 << 16

_MANY_ZEROS = re.compile(rb"\0{%d,}" % MANY)


def has_hole(window: Window, batch: int, least_offset: int) -> bool:
    """Whether some of the broken batch at a position was never written."""
    if _begins_in_hole(window, batch, least_offset):
        return True
    found, batch_end = False, _end(window, batch)
    for start, end in _zeros(window, batch, batch_end):
        if _keeps_to_sectors(window, batch, start, end):
            found = True
        elif start < batch_end - BESIDE_MAX:  # else it may begin with the next batch
            return False
    return found


def _begins_in_hole(window: Window, batch: int, least_offset: int) -> bool:
    """A sector has the end of the batch before, and zeros where this one should begin: its offset
    and its length cannot be that."""
    length = min(_sector_from(batch + 1), window.size) - batch
    wanted = least_offset.to_bytes(8, "big")[:length]
    is_missed = any(wanted) or length >= LENGTH_END
    return is_missed and not any(window.get(batch, length))


def _end(window: Window, batch: int) -> int:
    """Of what to look through: up to where the batch says that it ends, if it can be asked."""
    head = window.get(batch, HEADER_SIZE)
    if len(head) == HEADER_SIZE:
        header = read_header(head)
        if header.magic == MAGIC and header.size >= HEADER_SIZE:
            return min(batch + header.size, window.size)
    return min(batch + HEADER_SIZE + SECTOR_BYTES, window.size)


def _zeros(window: Window, position: int, end: int) -> Iterator[tuple[int, int]]:
    """Stretches of many zeros that begin before an end; they may reach beyond it."""
    while position < end:
        length = min(PIECE_BYTES, end - position)
        match = _MANY_ZEROS.search(bytes(window.get(position, length + MANY - 1)))
        if match is None or match.start() >= length:
            position += length
        else:
            start = position + match.start()
            position = _zeros_end(window, start)
            yield start, position


def _zeros_end(window: Window, position: int) -> int:
    while position < window.size:
        piece = bytes(window.get(position, min(PIECE_BYTES, window.size - position)))
        rest = piece.lstrip(b"\0")
        position += len(piece) - len(rest)
        if rest:
            break
    return position


def _keeps_to_sectors(window: Window, batch: int, start: int, end: int) -> bool:
    first, last = _sector_from(start), end - end % SECTOR_BYTES
    if end == window.size:
        last = end
    begins = start == batch or first - start <= BESIDE_MAX
    return begins and end - last <= BESIDE_MAX and first < last


def _sector_from(position: int) -> int:
    """Where the first sector begins that has nothing before a position."""
    return -(-position // SECTOR_BYTES) * SECTOR_BYTES


def is_cut(window: Window, batch: int, least_offset: int) -> bool:
    """Whether the file ends before the broken batch does: its last size was not written either.

    Not so if the batch is all there, and only its length is wrong.
    """
    rest = window.size - batch
    if rest < HEADER_SIZE:
        return True
    header = read_header(window.get(batch, HEADER_SIZE))
    if header.magic != MAGIC or header.base_offset < least_offset or header.size <= rest:
        return False
    return _crc(window, batch + CRC_START) != header.crc


def _crc(window: Window, position: int) -> int:
    crc = 0
    while position < window.size:
        piece = window.get(position, min(PIECE_BYTES, window.size - position))
        crc = crc32c(piece, crc)
        position += len(piece)
    return crc
