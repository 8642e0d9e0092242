"""A watch's bytes, turned into steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from penstock.metadata.store import Entry, Event, Events, Reset
from penstock.metadata.stores.etcd_failures import Failed, NoAnswer
from penstock.metadata.stores.etcd_messages import (
    Header,
    KeyValue,
    Watched,
    WatchEvent,
    WatchLine,
    decode,
)

LINE_BYTES_MAX = 1 << 26


class Steps:
    """What has been made of one watch so far; `after` is where another would have to go on.

    Large answers come in fragments, which may break anywhere between two events. What belongs to
    one revision is held until it is whole. What is known already is left out: a server that has
    caught up with the others by a snapshot may tell it once more.
    """

    def __init__(self, prefix: str, after: int, check: Callable[[Header], None]) -> None:
        self.after = after
        self._prefix_length = len(prefix.encode())
        self._check = check
        self._line: list[bytes] = []
        self._line_bytes = 0
        self._held: list[Event] = []

    def begin_again(self) -> None:
        """On another connection: what has not come whole will come again."""
        self._line.clear()
        self._line_bytes = 0
        self._held.clear()

    def feed(self, data: bytes) -> Iterator[Events | Reset]:
        *ends, rest = data.split(b"\n")
        for end in ends:
            line = b"".join((*self._line, end))
            self._line.clear()
            self._line_bytes = 0
            yield from self._read(line)
        self._line.append(rest)
        self._line_bytes += len(rest)
        if self._line_bytes > LINE_BYTES_MAX:
            yield Reset()

    def _read(self, line: bytes) -> Iterator[Events | Reset]:
        try:
            message = decode(WatchLine, line)
        except msgspec.MsgspecError as problem:
            raise NoAnswer(f"a watch brought what etcd does not send: {problem}") from problem
        if message.result is None:
            raise Failed(2, message.error.message if message.error else "a watch broke off")
        self._check(message.result.header)
        yield from self._take(message.result)

    def _take(self, answer: Watched) -> Iterator[Events | Reset]:
        if answer.compact_revision:
            yield Reset()
            return
        if answer.canceled:
            raise Failed(2, answer.cancel_reason)
        for event in answer.events:
            if event.kv.mod_revision <= self.after:
                continue
            if self._held and event.kv.mod_revision > self._held[-1].revision:
                yield self._release()
            self._held.append(self._event(event))
        if self._held and not answer.fragment:
            yield self._release()
        elif not (answer.created or answer.events):
            self.after = max(self.after, answer.header.revision)

    def _release(self) -> Events:
        step = Events(self._held[-1].revision, tuple(self._held))
        self._held.clear()
        self.after = step.revision
        return step

    def _event(self, event: WatchEvent) -> Event:
        found = event.kv
        if event.type != "DELETE":
            entry = entry_of(found, self._prefix_length)
            return Event(entry.key, entry, entry.revision)
        return Event(found.key[self._prefix_length :].decode(), None, found.mod_revision)


def entry_of(found: KeyValue, prefix_length: int) -> Entry:
    session = str(found.lease) if found.lease else None
    return Entry(found.key[prefix_length:].decode(), found.value, found.mod_revision, session)
