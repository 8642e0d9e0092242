"""Dead letters go back to where they came from: each once, whatever happens meanwhile.

They are read by a group of its own, whose offsets are committed in the transaction in which they
are sent back, under one name for each queue: of two who do so at a time, one is shut out.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from penstock.sdk.consumer import Consumer
from penstock.sdk.dead_letters import GROUP, NAMES, PARTITION, TOPIC
from penstock.sdk.message import Message
from penstock.sdk.producer import Producer
from penstock.sdk.serializers import raw

IDLE_S = 10.0
"""After which what has not come is not waited for: compaction may have taken the last ones."""
TAKEN_S_MAX = 60.0
"""How long partitions are waited for that another has: of one that was killed they are to be had
when its session has ended."""


class Letters(NamedTuple):
    """Those of one share group in one topic."""

    dead_letters: str
    topic: str
    group: str

    @property
    def reader(self) -> str:
        """The group that has sent some of them back."""
        return f"{self.dead_letters}.redrive.{self.topic}.{self.group}"

    def have(
        self, headers: Iterable[tuple[str, bytes | None]], key: bytes | None, value: bytes | None
    ) -> bool:
        """Whether it is one of them, with a copy of its record."""
        told = dict(headers)
        is_ours = (_text(told.get(TOPIC)), _text(told.get(GROUP))) == (self.topic, self.group)
        return is_ours and not (value is None and key is None)


class Redriven(NamedTuple):
    sent: int
    left: int
    """Letters of other groups and topics, and those that hold no copy of their record."""
    taken: frozenset[int]
    """Partitions that another has, so that not all of their letters have come."""


def redrive(bootstrap: str, letters: Letters, ends: Mapping[int, int], partitions: int) -> Redriven:
    """All that lie before these ends, by partition of the dead letters. `partitions`: of the topic
    that they go back to."""
    going = _Going(letters, ends, partitions)
    taken_until_s = time.monotonic() + TAKEN_S_MAX
    with (
        Consumer(
            bootstrap,
            letters.dead_letters,
            group=letters.reader,
            delivery="exactly-once",
            deserializer=raw,
            key_deserializer=raw,
            idle_timeout=IDLE_S,
        ) as consumer,
        Producer(
            bootstrap,
            delivery="exactly-once",
            transactional_id=letters.reader,
            serializer=raw,
        ) as producer,
    ):
        while True:
            had = {each.partition for each in consumer.assignment}  # all the time that follows
            going.go_on(consumer, producer)
            taken = going.open_ends.keys() - had
            if not taken or time.monotonic() >= taken_until_s:
                return Redriven(going.sent, going.left, frozenset(taken))


class _Going:
    """How far it is."""

    def __init__(self, letters: Letters, ends: Mapping[int, int], partitions: int) -> None:
        self._letters = letters
        self._partitions = partitions
        self.open_ends = dict(ends)
        """Of partitions with letters that have not come yet."""
        self.sent = self.left = 0

    def go_on(self, consumer: Consumer[bytes], producer: Producer[bytes]) -> None:
        """Until all have come, or none does any more."""
        for batch in consumer.transactions(producer):
            with batch:
                going = [each for each in batch if self._is_ours(each)]
                for message in going:
                    _send_back(producer, self._letters.topic, message, self._partitions)
            if batch.aborted:
                continue
            self.sent, self.left = self.sent + len(going), self.left + len(batch) - len(going)
            for message in batch:
                if message.offset + 1 >= self.open_ends.get(message.partition, 0):
                    self.open_ends.pop(message.partition, None)
            if not self.open_ends:
                return

    def _is_ours(self, message: Message[Any]) -> bool:
        return self._letters.have(message.headers, message.key, message.value)


def _send_back(producer: Producer, topic: str, message: Message[Any], partitions: int) -> None:
    """To its own partition, if there still is one of that number."""
    told = dict(message.headers)
    number = _text(told.get(PARTITION))
    index = int(number) if number.isdecimal() else partitions
    producer.send(
        topic,
        message.value,
        key=message.key,
        headers=[each for each in message.headers if each[0] not in NAMES],
        partition=index if index < partitions else None,
    )


def _text(data: bytes | None) -> str:
    return (data or b"").decode(errors="replace")
