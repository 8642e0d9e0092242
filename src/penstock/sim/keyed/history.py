"""What was sent with keys and what a group has read of it, and whether that can be.

A key's messages are numbered in the order of sending. Several consumers may read one of them, where
a commit was lost; what counts is when it was read first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple


class Message(NamedTuple):
    key: int
    number: int

    def encoded(self) -> bytes:
        return b"%d %d" % self


@dataclass(slots=True)
class KeyedHistory:
    sent: Counter[int] = field(default_factory=Counter)
    """How many, by key."""
    acknowledged: set[Message] = field(default_factory=set)
    failed: set[Message] = field(default_factory=set)
    """Their partition went before they were acknowledged: they may be there or not."""
    reads: list[Message] = field(default_factory=list)
    """By the group, in the order of time."""
    stored: Counter[Message] = field(default_factory=Counter)
    """What is there in the end, and how often."""

    def send(self, key: int) -> Message:
        message = Message(key, self.sent[key])
        self.sent[key] += 1
        return message

    @property
    def unread(self) -> set[Message]:
        return self.acknowledged.difference(self.reads)


def check(history: KeyedHistory) -> list[str]:
    return [*_out_of_order(history), *_lost(history), *_doubled(history)]


def _out_of_order(history: KeyedHistory) -> Iterator[str]:
    last: dict[int, int] = {}
    known: set[Message] = set()
    for message in history.reads:
        if message not in known and message.number < last.get(message.key, -1):
            yield f"key out of order: {message} was read after {last[message.key]}"
        known.add(message)
        last[message.key] = max(message.number, last.get(message.key, -1))


def _lost(history: KeyedHistory) -> Iterator[str]:
    for message in sorted(history.unread):
        yield f"unread: the group did not read {message}"
    for message in sorted(history.acknowledged - history.stored.keys()):
        yield f"lost: {message} is in no partition"


def _doubled(history: KeyedHistory) -> Iterator[str]:
    for message, count in history.stored.items():
        if count > 1:
            yield f"duplicate: {message} is there {count} times"
        if message not in history.acknowledged | history.failed:
            yield f"invented: {message} was never sent"
