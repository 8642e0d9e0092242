"""Dead letters as they are written: a record that tells of another one, and may hold it.

The names of headers, and the two reasons, are Kafka's (KIP-1191): tools know them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from penstock.sharing.window import DeadLetters
from penstock.wire.records import Record

PREFIX = b"__dlq.errors."
REJECTED = b"Offset rejected by client."
DELIVERED_TOO_OFTEN = b"Offset delivery count exceeded the threshold."


class Letter(NamedTuple):
    """One record that is given up."""

    offset: int
    deliveries: int
    is_rejected: bool


class Origin(NamedTuple):
    """What the letters of a share have in common."""

    group: str
    topic: str
    partition: int

    def record_of(
        self, letter: Letter, number: int, now_ms: int, original: Record | None = None
    ) -> Record:
        """With the original, if it is known and to be copied: its headers too, but for those of a
        dead letter that it was itself."""
        kept = original.headers if original is not None else ()
        return Record(
            number,
            now_ms,
            original.key if original is not None else None,
            original.value if original is not None else None,
            (*(each for each in kept if not each[0].startswith(PREFIX)), *self._headers(letter)),
        )

    def _headers(self, letter: Letter) -> Iterator[tuple[bytes, bytes]]:
        yield PREFIX + b"topic", self.topic.encode()
        yield PREFIX + b"partition", b"%d" % self.partition
        yield PREFIX + b"offset", b"%d" % letter.offset
        yield PREFIX + b"group", self.group.encode()
        yield PREFIX + b"delivery.count", b"%d" % letter.deliveries
        yield PREFIX + b"message", REJECTED if letter.is_rejected else DELIVERED_TOO_OFTEN


def singly(dead: Iterable[DeadLetters]) -> Iterator[Letter]:
    """A letter for each record."""
    for first, last, deliveries, is_rejected in dead:
        for offset in range(first, last + 1):
            yield Letter(offset, deliveries, is_rejected)


def together(letters: Iterable[Letter]) -> Iterator[tuple[int, int]]:
    """First and last offsets of those that follow each other."""
    first, last = 0, -1
    for letter in letters:
        if last >= 0 and letter.offset == last + 1:
            last += 1
            continue
        if last >= 0:
            yield first, last
        first = last = letter.offset
    if last >= 0:
        yield first, last
