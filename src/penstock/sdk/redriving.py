"""Dead letters go back to where they came from: each once, whatever happens meanwhile.

They are read by a group of its own, whose offsets are committed in the transaction in which they
are sent back, under one name for each queue: of two who do so at a time, one is shut out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from penstock.sdk.consumer import Consumer
from penstock.sdk.dead_letters import GROUP, NAMES, PARTITION, TOPIC
from penstock.sdk.message import Message
from penstock.sdk.producer import Producer
from penstock.sdk.serializers import raw

IDLE_S = 10.0
"""After which what has not come is not waited for: compaction may have taken the last ones."""


class Letters(NamedTuple):
    """Those of one share group in one topic."""

    dead_letters: str
    topic: str
    group: str

    @property
    def reader(self) -> str:
        """The group that has sent some of them back."""
        return f"{self.dead_letters}.redrive.{self.topic}.{self.group}"


class Redriven(NamedTuple):
    sent: int
    left: int
    """Letters of other groups and topics, and those that hold no copy of their record."""


def redrive(bootstrap: str, letters: Letters, ends: Mapping[int, int], partitions: int) -> Redriven:
    """All that lie before these ends, by partition of the dead letters. `partitions`: of the topic
    that they go back to."""
    sent = left = 0
    open_ends = dict(ends)
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
        for batch in consumer.transactions(producer):
            with batch:
                going = [each for each in batch if _is_of(each, letters)]
                for message in going:
                    _send_back(producer, letters.topic, message, partitions)
            if batch.aborted:
                continue
            sent, left = sent + len(going), left + len(batch) - len(going)
            for message in batch:
                if message.offset + 1 >= open_ends.get(message.partition, 0):
                    open_ends.pop(message.partition, None)
            if not open_ends:
                break
    return Redriven(sent, left)


def _is_of(message: Message[Any], letters: Letters) -> bool:
    told = dict(message.headers)
    is_ours = (_text(told.get(TOPIC)), _text(told.get(GROUP))) == (letters.topic, letters.group)
    return is_ours and not (message.value is None and message.key is None)


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
