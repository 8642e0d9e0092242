"""One decision of a coordinator: all that it may look at, and all that it comes to.

A decision writes nothing and changes nothing that is stored. It collects events, which are appended
to the internal topic and then applied, and answers, which are given once those events are
committed. Loading a coordinator applies the same events again, so what is not an event is not there
after a change of leader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from penstock.config import BrokerConfig
from penstock.errors import ErrorCode, Refused
from penstock.metadata.image import Image
from penstock.wire.stored_codec import StoredKey, Versioned, encode_key, encode_value
from penstock.world.ports import Chance

A = TypeVar("A")

TURN_COST = 150
EVENT_COST = 15
READY_COST = 3
ANSWER_COST = 3
"""What a turn takes by itself, for each event, for each that was made ready and for each answer, in
the unit of `Pace`."""

Reply = object
"""Stands for a request that waits for its answer. Coordinators keep it, and hand it back."""


class Event(NamedTuple):
    """A record of the internal topic; without a value it says that the key is gone."""

    key: StoredKey
    value: Versioned | None
    version: int | None = None
    """That the value is written in, if it is not the newest: for tools that are older."""
    ready: tuple[bytes, bytes | None] | None = None
    """Key and value, encoded ahead. It is not applied: what it says is in the state that the turn
    hands on."""

    def encoded(self) -> tuple[bytes, bytes | None]:
        if self.ready is not None:
            return self.ready
        value = None if self.value is None else encode_value(self.value, self.version)
        return encode_key(self.key), value


def ready_event(key: StoredKey, value: Versioned | None, version: int | None = None) -> Event:
    return Event(key, value, version, Event(key, value, version).encoded())


Writer = tuple[int, int]
"""Producer id and epoch."""

Answer = tuple[Reply, Any]
"""What a request that has been waiting is given."""


class Answers:
    """Of one turn. There may be ten thousand that are alike, which are made as they are given: what
    tells them apart is decided, and the rest of the work need not be done in one go."""

    __slots__ = ("_alike", "_each")

    def __init__(self) -> None:
        self._each: list[Answer] = []
        self._alike: list[tuple[Sequence[tuple[Reply, Any]], Callable[[Any], Any]]] = []

    def add(self, reply: Reply, answer: Any) -> None:
        self._each.append((reply, answer))

    def add_alike(self, waiting: Sequence[tuple[Reply, A]], make: Callable[[A], Any]) -> None:
        self._alike.append((waiting, make))

    def __len__(self) -> int:
        return len(self._each) + sum(len(waiting) for waiting, _ in self._alike)

    def __iter__(self) -> Iterator[Answer]:
        yield from self._each
        for waiting, make in self._alike:
            for reply, about in waiting:
                yield reply, make(about)


class Turn:
    __slots__ = (
        "_put_in_place",
        "answers",
        "chance",
        "config",
        "cost",
        "events",
        "image",
        "now_ms",
        "reply",
        "room_bytes",
        "time_ms",
        "wake_ms",
        "writer",
    )

    def __init__(
        self,
        config: BrokerConfig,
        image: Image,
        chance: Chance,
        now_ms: int,
        time_ms: float,
        reply: Reply = None,
        room_bytes: int | None = None,
    ) -> None:
        self.config = config
        self.image = image
        self.chance = chance
        self.now_ms = now_ms
        """Since 1970, for what is stored."""
        self.time_ms = time_ms
        """Since some moment, never set back: for deadlines."""
        self.reply = reply
        """The request that this turn is for."""
        self.room_bytes = room_bytes
        """For what this turn writes, where the disk is full but for that."""
        self.events: list[Event] = []
        self._put_in_place: Callable[[], None] | None = None
        self.answers = Answers()
        self.wake_ms: float | None = None
        self.writer: Writer | None = None
        """In whose transaction the events are written: then they count once that is committed."""
        self.cost = TURN_COST
        """What this turn takes of the loop, so that whoever runs many knows when to pause."""

    def write(self, key: StoredKey, value: Versioned | None, version: int | None = None) -> None:
        self.events.append(Event(key, value, version))
        self.cost += EVENT_COST

    def write_ready(self, events: Sequence[Event]) -> None:
        self.events += events
        self.cost += READY_COST * len(events)

    def hand_on(self, put_in_place: Callable[[], None]) -> None:
        """What this turn is about becomes another thing, which was made with events that are ready.
        All other events are meant for that, whichever of them is the first."""
        self._put_in_place = put_in_place

    @property
    def hands_on(self) -> bool:
        return self._put_in_place is not None

    def apply(self, apply: Callable[[Event], None]) -> None:
        """To memory, what has been written."""
        if self._put_in_place is not None:
            self._put_in_place()
        for event in self.events:
            if event.ready is None:
                apply(event)

    def check_room(self, size_bytes: int) -> None:
        """Refuse what cannot be written: here, before it has left any traces in memory."""
        if self.room_bytes is not None and size_bytes > self.room_bytes:
            raise Refused(
                ErrorCode.COORDINATOR_NOT_AVAILABLE, "the disk is full; free some space, try again"
            )

    def answer(self, reply: Reply, answer: Any) -> None:
        """To a request that has been waiting. This turn's own is answered by returning it."""
        self.answers.add(reply, answer)
        self.cost += ANSWER_COST

    def answer_alike(self, waiting: Sequence[tuple[Reply, A]], make: Callable[[A], Any]) -> None:
        """To many, each of whom is told of something else."""
        self.answers.add_alike(waiting, make)
        self.cost += len(waiting)

    def spend(self, cost: int) -> None:
        """For what neither events nor answers tell of, such as members that are looked at."""
        self.cost += cost

    def wake_at(self, time_ms: float) -> None:
        """The group is to be looked at by then, in the time of `time_ms`."""
        if self.wake_ms is None or time_ms < self.wake_ms:
            self.wake_ms = time_ms
