"""What librdkafka has given, and how much of it was handed out: the truth about what is done.

librdkafka's own position is past whatever it has returned, even if an exception (Ctrl-C, a hook)
came before anybody could take it. So that is never committed, but what is known here.

A signal can raise wherever something is called, but not between the stores of one statement. So
what belongs together is changed by one statement, after all that is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import length_hint
from typing import Any

from penstock.sdk.message import Message, TopicPartition
from penstock.sdk.reading import Reader

Offsets = dict[TopicPartition, int]


class Buffer:
    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._chunk: list[Message[Any]] = []
        self.rest = iter(self._chunk)
        """Of the chunk. Who steps on has been handed one: nothing else need be noted, which costs
        nothing, and there is no moment in which a message is in neither place."""
        self._passed = 0
        """So many of the chunk are known to be processed."""
        self._hand: list[Message[Any]] = []
        """A batch that was handed out, or one that could not be read."""
        self._unread: list[Any] = []
        """Behind the chunk, as librdkafka gave them."""
        self.is_stuck = False
        """The first of these cannot be read."""
        self.ends: Offsets = {}
        """Behind all that was read of each partition since it is ours."""

    def __len__(self) -> int:
        """Ready to be handed out."""
        return length_hint(self.rest)

    @property
    def has_unread(self) -> bool:
        return bool(self._unread)

    # In.

    def add(self, raws: Sequence[Any], ends: Offsets) -> None:
        unread, ends = [*self._unread, *raws], {**self.ends, **ends}
        self._unread, self.ends = unread, ends

    def read(self) -> None:
        """Makes ready what comes before the first that cannot be read."""
        raws = self._unread
        made, count = self.reader.messages(raws)
        left, end, rest = raws[count:], len(self._chunk), iter(made)
        if len(self):
            self._chunk[end:], self._unread = made, left
        else:
            self._chunk, self.rest, self._passed, self._unread = made, rest, 0, left
        self.is_stuck = bool(left)

    def put_back(self) -> None:
        """What is in hand comes again, read anew, as a program may have changed what it got."""
        index = self._index()
        again = [each.raw for each in (*self.in_hand(), *self._chunk[index:])]
        unread = [*again, *self._unread]
        self._chunk[index:], self._unread, self._hand, self._passed = (), unread, [], index
        self.is_stuck = False

    # Out.

    def check(self) -> None:
        """Raises if the next cannot be read. It is in hand then: who goes on has passed it."""
        if len(self) or not self.is_stuck:
            return
        raw, left = self._unread[0], self._unread[1:]
        failure = self.reader.failure(raw)
        hand = [Message(None, None, raw)] if raw.error() is None else []
        index = self._index()
        self._unread, self._hand, self._passed, self.is_stuck = left, hand, index, False
        if failure:
            raise failure

    def cut(self, limit: int) -> list[Message[Any]]:
        """As many as there are, as a batch."""
        index = self._index()
        behind = index + limit
        batch = self._chunk[index:behind]
        hand = batch.copy()
        self._chunk[index:behind], self._hand, self._passed = (), hand, index
        return batch

    def move_on(self) -> None:
        """What was handed out is processed."""
        index = self._index()
        self._hand, self._passed = [], index

    # Where that leaves us.

    def in_hand(self) -> list[Message[Any]]:
        """Handed out, and not known to be processed."""
        index = self._index()
        return self._hand or self._chunk[max(index - 1, self._passed) : index]

    def handed(self) -> Offsets:
        """Of each partition, the first that nobody has been handed."""
        return {**self.ends, **first_offsets(self._waiting())}

    def done(self) -> Offsets:
        """Of each partition, the first that is not known to be processed."""
        return {**self.handed(), **first_offsets(each.raw for each in self.in_hand())}

    def forget(self, places: Iterable[TopicPartition] | None = None) -> None:
        """What was not handed out, of these or of all: it is to be read again."""
        index, handed = self._index(), self.handed()
        gone = set(handed if places is None else places)
        kept = [each for each in self._chunk[index:] if each.place not in gone]
        unread = [raw for raw in self._unread if _place(raw) not in gone]
        ends = {place: (handed if place in gone else self.ends)[place] for place in self.ends}
        self._chunk[index:], self._unread, self.ends, self.is_stuck = kept, unread, ends, False

    def drop(self, places: Iterable[TopicPartition]) -> None:
        """Nothing of these is known any more: they are not ours, or are to be read elsewhere."""
        gone = set(places)
        self.forget(gone)
        index = self._index()
        is_stale = any(each.place in gone for each in self._chunk[max(index - 1, 0) : index])
        hand = [each for each in self._hand if each.place not in gone]
        ends = {place: end for place, end in self.ends.items() if place not in gone}
        passed = index if is_stale else self._passed
        self._hand, self.ends, self._passed = hand, ends, passed

    def _waiting(self) -> Iterator[Any]:
        yield from (each.raw for each in self._chunk[self._index() :])
        yield from self._unread

    def _index(self) -> int:
        return len(self._chunk) - len(self)


def _place(raw: Any) -> TopicPartition:
    return TopicPartition(raw.topic(), raw.partition())


def first_offsets(raws: Iterable[Any]) -> Offsets:
    found: Offsets = {}
    for raw in raws:
        if raw.error() is None:
            found.setdefault(_place(raw), raw.offset())
    return found
