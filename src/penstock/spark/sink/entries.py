"""What is decided about the batches of each query, as a compacted log of plain records keeps it.

A record holds all there is to know of a query, and a number one above that of the record it was
made from. Of two with the same number the first in the log counts: so a writer that reads on up to
its own record knows whether it was in time. Each record has a key of its own, so compaction never
drops the one that counts for one that came too late. One with a lower number than another before it
may be forgotten: it cannot count any more, and its key is nobody else's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import msgspec

from penstock.client.open_transaction import OpenTransaction
from penstock.spark.errors import SparkError, behind

NOTHING = -1
JOB = "job-"
"""With which the names of jobs begin: Spark's queries are called otherwise."""


@dataclass(frozen=True, slots=True)
class Entry:
    query: str
    writer: str = ""
    """Who has written it: a run of the query, or somebody who looks for orphans."""
    number: int = 0
    batch: int = NOTHING
    """The last one that is decided: it counts, whatever happens from now on."""
    decided: tuple[OpenTransaction, ...] = ()
    """Of that batch; none are left once all are committed."""
    condemned: tuple[OpenTransaction, ...] = ()
    """To be aborted: no decision may name them any more."""

    def is_decided(self, batch: int) -> bool:
        """Spark comes again with the last batch only. A checkpoint that is behind that was put back
        or copied, and its batches have the numbers of others."""
        if self.batch > batch:
            raise behind(f"batch {batch} of query {self.query}", self.batch)
        return self.batch == batch

    def deciding(self, writer: str, batch: int, offered: Iterable[OpenTransaction]) -> Self:
        """What was condemned was of a batch up to this one, so it cannot be decided any more."""
        return self._next(writer, batch=batch, decided=tuple(offered), condemned=())

    def ended(self, writer: str) -> Self:
        return self._next(writer, decided=())

    def condemning(self, writer: str, found: Iterable[OpenTransaction]) -> Self:
        return self._next(writer, condemned=tuple({*self.condemned, *found}))

    def _next(self, writer: str, **changes: object) -> Self:
        return replace(self, writer=writer, number=self.number + 1, **changes)  # type: ignore[arg-type]


class History:
    """The log, as far as it was read. The same before and after it was compacted."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[str, Entry]] = {}
        """By query and name, in the order of the log."""

    def last(self, query: str) -> Entry:
        """What counts now."""
        found = self._entries.get(query, {}).values()
        return max(found, key=lambda each: each.number, default=Entry(query))

    def decided_jobs(self) -> list[Entry]:
        """What counts of jobs that were decided: their drivers decide nothing more."""
        found = [self.last(query) for query, held in self._entries.items() if held]
        return [each for each in found if each.query.startswith(JOB) and each.batch != NOTHING]

    def names(self, query: str) -> list[str]:
        """Of all entries that nobody has forgotten."""
        return list(self._entries.get(query, ()))

    def outdated(self, query: str) -> list[str]:
        """Names of those that cannot count any more, since what counts has a higher number."""
        number = self.last(query).number
        found = self._entries.get(query, {}).items()
        return [name for name, each in found if each.number < number]

    def apply(self, key: bytes, value: bytes | None) -> None:
        query, _, name = key.decode().rpartition("/")
        of_query = self._entries.setdefault(query, {})
        of_query.pop(name, None)
        if value is not None:
            of_query[name] = decode(value)


def key_of(query: str, name: str) -> bytes:
    return f"{query}/{name}".encode()


def encode(entry: Entry) -> bytes:
    return msgspec.json.encode(entry)


def decode(value: bytes) -> Entry:
    try:
        return msgspec.json.decode(value, type=Entry)
    except msgspec.DecodeError as error:
        raise SparkError(
            f"a decision about a batch cannot be read ({error}): it is of another release, or "
            "somebody else has written to the topic"
        ) from None
