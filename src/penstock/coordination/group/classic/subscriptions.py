"""What consumers of the classic protocol say of themselves: bytes to us, but for the topics.

Those are read once and kept at hand, as far as that does not take too much memory: every change of
a topic makes us look at what all members of all groups read.
"""

from __future__ import annotations

from struct import error

from penstock.coordination.group.classic.state import Classic, Member
from penstock.errors import Malformed
from penstock.wire.primitives import read_count

CONSUMER = "consumer"
"""The protocol type whose metadata we can read. Others, such as Connect's, keep theirs."""
NAMES_MAX = 50_000
"""Of topics that one member may name; whoever names more is not understood."""
NAME_BYTES = 64
"""About what a name takes in memory, beside its characters."""
REMEMBERED_BYTES_MAX = 32 << 20
_COUNT_AT = 2

Topics = frozenset[str] | None
"""None: it cannot be told."""


class Remembered:
    """The topics of what was read last, by the bytes that say it."""

    def __init__(self) -> None:
        self._topics: dict[bytes, Topics] = {}
        self._bytes = 0

    def topics(self, metadata: bytes) -> Topics:
        if metadata in self._topics:
            found = self._topics.pop(metadata)
        else:
            found = read_topics(metadata)
            self._bytes += _bytes_of(metadata, found)
        self._topics[metadata] = found
        while self._bytes > REMEMBERED_BYTES_MAX:
            oldest = next(iter(self._topics))
            self._bytes -= _bytes_of(oldest, self._topics.pop(oldest))
        return found


def _bytes_of(metadata: bytes, topics: Topics) -> int:
    return 2 * len(metadata) + NAME_BYTES * (len(topics or ()) + 1)


def read_topics(metadata: bytes) -> Topics:
    """Nothing but the names is read, which are what comes first in every version."""
    try:
        count, at = read_count(memoryview(metadata), _COUNT_AT, 2)
        if count > NAMES_MAX or metadata[0] & 0x80:
            return None
        names = []
        for _ in range(count):
            end = at + 2 + (metadata[at] << 8 | metadata[at + 1])
            names.append(metadata[at + 2 : end].decode())
            at = end
    except (IndexError, error, UnicodeDecodeError, Malformed):
        return None
    return frozenset(names) if at <= len(metadata) else None


topics_of = Remembered().topics


def subscriptions(body: Classic) -> set[bytes]:
    """What the members say, each once: most say the same."""
    if body.protocol_type != CONSUMER:
        return set()
    return {body.metadata(member) for member in body.members.values()}


def what_it_wants(body: Classic, member: Member) -> object:
    """By which a member that has come back can be told from one that wants something else. What it
    says of its former work does not count: that is in the plan."""
    metadata = body.metadata(member)
    if body.protocol_type != CONSUMER:
        return metadata
    topics = topics_of(metadata)
    return metadata if topics is None else topics
