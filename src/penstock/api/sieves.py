"""What views ask, and what they have said before: of tags, of values, and of single batches."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from penstock.errors import ErrorCode, Malformed, Refused
from penstock.log.tag_index import Block, Names, TagIndex, Tags, anything, digest
from penstock.metadata.readable import Readable
from penstock.metadata.views import View
from penstock.predicate.predicate import Predicate, parse
from penstock.predicate.pruning import MANY, Summary
from penstock.wire.batch import BatchHeader, read_header
from penstock.wire.choosing import Verdicts
from penstock.wire.compression import DECOMPRESSED_BYTES_MAX
from penstock.wire.narrowing import narrowed_records, opened
from penstock.world.ports import Buffer

TAGS_MAX = 10_000
SIEVES_MAX = 500
LIGHT_BYTES = 512 << 10
LIGHT_RECORDS = 4096
"""A batch with more of either takes milliseconds."""
BYTES_FOR_RECORD = 100
"""To look at a record takes as long as to copy and check so many bytes, or longer."""


class Heavy(Exception):
    """A batch that is better looked into off the loop."""


class Looked(NamedTuple):
    """What there is to say of a batch."""

    header: BatchHeader
    kept: Buffer | None
    """What is left of it, if anything is."""
    names: tuple[bytes, ...]
    summary: Summary | None
    """For the index with these names; None where it has no need of it."""
    cost: int
    """Of having looked, in bytes."""


class Looking(Protocol):
    """Who says what a reader sees of a batch."""

    def look(self, batch: memoryview, index: TagIndex, *, light: bool) -> Looked:
        """Raises Heavy where only a light one is to be looked into."""


class Sieve:
    """A view's predicate, and what it has said of tags before: there are few of them."""

    __slots__ = ("_effort", "_light_bytes", "_tags", "_verdicts", "predicate")

    def __init__(self, predicate: Predicate) -> None:
        self.predicate = predicate
        self._effort = 1 + predicate.text.count(" like ")
        """Each pattern may go through all bytes of a key or of a header."""
        self._light_bytes = LIGHT_BYTES // self._effort
        self._verdicts: Verdicts = {}
        self._tags: dict[tuple[Names, Tags], bool] = {}
        """Which of those that whole blocks have can match. The same values are something else under
        other names, and each segment has names of its own."""

    def look(self, batch: memoryview, index: TagIndex, *, light: bool) -> Looked:
        """Raises Heavy where only a light one is to be looked into."""
        header = read_header(batch)
        if header.is_control:  # for everybody
            return Looked(header, batch, index.names, anything(index.names), header.size)
        if light and (header.size > self._light_bytes or header.record_count > LIGHT_RECORDS):
            raise Heavy
        try:
            found = opened(batch, self._light_bytes if light else DECOMPRESSED_BYTES_MAX)
            kept = narrowed_records(found, self.predicate, self._verdicts)
            is_new = not index.knows(header.base_offset)
            summary = digest(header, found.records, index.names) if is_new else None
        except (Malformed, Refused) as refused:
            if light and _is_too_large(refused):
                raise Heavy from None
            # damaged: the reader is to find that out, by its checksum
            return Looked(header, batch, (), None, header.size)
        cost = len(found.records) * self._effort + BYTES_FOR_RECORD * header.record_count
        return Looked(header, kept, index.names, summary, cost)

    def may_match(self, block: Block) -> bool:
        if self.predicate.uses_timestamp:
            return self.predicate.may_match(_summary(block))
        tags = block.names, block.tags
        known = self._tags.get(tags)
        if known is None:
            if len(self._tags) > TAGS_MAX:
                self._tags.clear()
            known = self._tags[tags] = self.predicate.may_match(_summary(block))
        return known


def _is_too_large(problem: Malformed | Refused) -> bool:
    return isinstance(problem, Refused) and problem.code is ErrorCode.MESSAGE_TOO_LARGE


def _summary(block: Block) -> Summary:
    values = {
        name: MANY if found is None else found
        for name, found in zip(block.names, block.tags, strict=True)
    }
    return Summary(*block.times, values)


class Sieves:
    """Of the views that are read here; those that were not read for the longest time go first."""

    def __init__(self) -> None:
        self._by_id: dict[bytes, Sieve] = {}
        self.used: set[bytes] = set()
        """Ids of views that were read, of those that would go otherwise."""

    def __len__(self) -> int:
        return len(self._by_id)

    def of(self, view: View) -> Sieve:
        """Raises Refused where the predicate is of a later release, with more to it."""
        if view.held.idle_ms:
            self.used.add(view.id)
        found = self._by_id.pop(view.id, None) or Sieve(parse(view.held.where))
        self._by_id[view.id] = found
        if len(self._by_id) > SIEVES_MAX:
            del self._by_id[next(iter(self._by_id))]
        return found

    def forget_gone(self, readable: Readable) -> None:
        """What belongs to views that are there no more."""
        for view_id in [each for each in self._by_id if readable.topic_by_id(each) is None]:
            del self._by_id[view_id]
            self.used.discard(view_id)
