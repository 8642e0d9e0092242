"""A segment's file that may hold anything: which bytes of it are batches that can be believed."""

from __future__ import annotations

from collections.abc import Generator

from penstock.errors import Refused
from penstock.log.searching import Search, is_taken_back
from penstock.log.steps import exhaust, turns
from penstock.wire import batch as batches
from penstock.wire.batch import HEADER_SIZE, BatchHeader
from penstock.world.ports import File

CHUNK_BYTES = 1 << 20


class Window:
    """A file read in large pieces and seen as batches, by who may wait for the disk."""

    def __init__(
        self,
        file: File,
        base: int,
        end_offset: int | None = None,
        *,
        may_have_gaps: bool = True,
    ) -> None:
        """`end_offset`: where the next segment begins, which no batch of this one reaches."""
        self._file = file
        self._search = Search(file, base, end_offset, may_wait=True)
        self._end_offset = self._search.end_offset
        self._may_have_gaps = may_have_gaps
        self.size = file.size
        self._chunk = memoryview(b"")
        self._origin = 0

    def get(self, position: int, length: int) -> memoryview:
        """Shorter at the end of the file."""
        start = position - self._origin
        if start < 0 or start + length > len(self._chunk):
            self._chunk = memoryview(self._file.read(position, max(length, CHUNK_BYTES)))
            self._origin, start = position, 0
        return self._chunk[start : start + length]

    def forget(self) -> None:
        """What was read so far may not be what the file holds now."""
        self._chunk = memoryview(b"")

    def good_batch(self, position: int, least_offset: int) -> BatchHeader | None:
        """The header of the batch at a position if every byte of it can be believed.

        In a log without gaps its offset can be but one.
        """
        header = self._good_after_loss(position, least_offset)
        if header is None or header.base_offset == least_offset or self._may_have_gaps:
            return header
        return None

    def _good_after_loss(self, position: int, least_offset: int) -> BatchHeader | None:
        """The same where batches before it are lost, and it is not known how many."""
        header = self.whole_batch(position)
        if header is None:
            return None
        if not least_offset <= header.base_offset <= header.last_offset < self._end_offset:
            return None
        skips = header.base_offset > least_offset
        return None if skips and self._is_taken_back(position, header, least_offset) else header

    def whole_batch(self, position: int) -> BatchHeader | None:
        """The header of a batch that has all its bytes; but its offset, which no CRC covers, may
        be any."""
        head = self.get(position, HEADER_SIZE)
        if len(head) < HEADER_SIZE:
            return None
        size = batches.size_at(head)
        if size < HEADER_SIZE or position + size > self.size:
            return None
        if size > CHUNK_BYTES:
            header = batches.read_header(head)
            return header if exhaust(turns(self._search.is_whole(position, header))) else None
        try:
            return batches.check(self.get(position, size))
        except Refused:
            return None

    def next_good(
        self, bad: int, least_offset: int
    ) -> Generator[None, None, tuple[int, int] | None]:
        """As `Search` does, for who may wait for the disk."""
        return (yield from turns(self._search.next_good(bad, least_offset)))

    @property
    def unseen_end(self) -> int:
        return self._search.unseen_end

    def _is_taken_back(self, position: int, header: BatchHeader, least_offset: int) -> bool:
        following = self.get(position + header.size, HEADER_SIZE)
        if len(following) < HEADER_SIZE:
            return False
        return is_taken_back(header, batches.read_header(following), least_offset)
