"""Where records are held back in the batches that a share group is about to read.

A batch says only that there are some. To open it may take long, and one of a few kilobytes may have
a hundred megabytes in it: what is not light is opened off the loop, and kept for the next look.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from penstock.api.shown import BYTES_FOR_RECORD
from penstock.api.sieves import LIGHT_BYTES, LIGHT_RECORDS
from penstock.errors import ErrorCode, Malformed, Refused
from penstock.wire.batch import BatchHeader
from penstock.wire.batch_builder import RECORDS_A_SLICE
from penstock.wire.compression import DECOMPRESSED_BYTES_MAX
from penstock.wire.holding import Marked
from penstock.wire.narrowing import opened
from penstock.wire.records import Cursor

Batch = tuple[BatchHeader, memoryview]
Key = tuple[int, int]


class Unlooked(Exception):
    """Batches are to be opened first, off the loop and one request at a time."""

    def __init__(self, look: Callable[[], None]) -> None:
        super().__init__()
        self.look = look


class HeldOffsets:
    """Of the batches of one partition that one request looks at."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Key, Sequence[int]] = {}

    def of(self, header: BatchHeader) -> Sequence[int]:
        return self._known.get(_key(header), ())

    def look(self, batches: Sequence[Batch]) -> None:
        """At all that were read together, and at no others any more. Raises Unlooked."""
        known = {_key(header): self._known.get(_key(header)) for header, _ in batches}
        self._known = {key: offsets for key, offsets in known.items() if offsets is not None}
        unknown = [each for each in batches if _key(each[0]) not in self._known]
        left = LIGHT_BYTES
        for number, (header, batch) in enumerate(unknown):
            left -= BYTES_FOR_RECORD * header.record_count
            found = None
            if left > 0 and header.record_count <= LIGHT_RECORDS:
                found = _light(header, batch, left)
            if found is None:
                rest = [(each, memoryview(bytes(data))) for each, data in unknown[number:]]
                raise Unlooked(partial(self._look_into, rest))
            self._known[_key(header)], size = found
            left -= size

    def _look_into(self, batches: Sequence[Batch]) -> None:
        for header, batch in batches:
            try:
                self._known[_key(header)] = _offsets(header, batch, DECOMPRESSED_BYTES_MAX)[0]
            except (Malformed, Refused):
                self._known[_key(header)] = ()


def _key(header: BatchHeader) -> Key:
    return header.base_offset, header.crc


def _light(header: BatchHeader, batch: memoryview, limit: int) -> tuple[Sequence[int], int] | None:
    """None where it is not. A damaged batch is given as it is: the member is to find that out by
    its checksum."""
    try:
        return _offsets(header, batch, limit)
    except Malformed:
        return (), 0
    except Refused as refused:
        return None if refused.code is ErrorCode.MESSAGE_TOO_LARGE else ((), 0)


def _offsets(header: BatchHeader, batch: memoryview, limit: int) -> tuple[Sequence[int], int]:
    """Those of the held records, and how many bytes were looked at."""
    records = opened(batch, limit).records
    marked = Marked(Cursor(records, header.record_count))
    while not marked.go_on(RECORDS_A_SLICE):
        pass
    return [header.base_offset + delta for delta in marked.deltas], len(records)
