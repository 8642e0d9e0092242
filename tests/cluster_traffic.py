"""Messages that are sent to a cluster while it is harmed, and what must have become of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import confluent_kafka

WAIT_S = 60
KEYS = 8


@dataclass(frozen=True)
class Ack:
    at: float
    key: int
    number: int
    partition: int
    offset: int

    @property
    def turn(self) -> int:
        """Which of all messages it was that were sent."""
        return self.number * KEYS + self.key


@dataclass(frozen=True)
class Read:
    key: int
    number: int
    partition: int
    offset: int


@dataclass(frozen=True)
class Moment:
    """A time, and how many messages had been sent by then."""

    at: float
    sent: int


class Sending(Protocol):
    """A producer at work, whatever its client."""

    topic: str
    sent: int
    acked: list[Ack]
    failed: list[str]

    def go_on(self, count: int = 60) -> None: ...

    def finish(self) -> list[Ack]: ...


class Traffic(threading.Thread):
    """Sends without pause, by a producer that retries as producers do; notes what is acked."""

    def __init__(
        self, address: str, topic: str, *, per_second: int = 300, first: int = 0, **options: Any
    ) -> None:
        """`first`: how many messages others have sent before."""
        super().__init__(daemon=True)
        self.topic = topic
        self.acked: list[Ack] = []
        self.failed: list[str] = []
        self.sent = first
        self._pause_s = 1 / per_second
        self._enough = threading.Event()
        self._one_at_a_time = threading.Lock()
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": address,
                "enable.idempotence": True,
                "linger.ms": 2,
                "socket.timeout.ms": 3000,
                "message.timeout.ms": 1000 * WAIT_S,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 200,
                "retry.backoff.ms": 20,
                "log_level": 0,
                **{name.replace("_", "."): value for name, value in options.items()},
            }
        )
        self.start()

    def run(self) -> None:
        while not self._enough.wait(self._pause_s):
            with self._one_at_a_time:
                self._send()
            self._producer.poll(0)
        while len(self._producer) and self._producer.flush(0.1):
            pass

    def _send(self) -> None:
        key, number = self.sent % KEYS, self.sent // KEYS
        self._producer.produce(self.topic, f"{number}", key=f"{key}", on_delivery=self._delivered)
        self.sent += 1

    def pile_up(self, count: int = 200) -> Moment:
        """Sends so many at once: they are under way at the moment that is returned."""
        with self._one_at_a_time:
            for _ in range(count):
                self._send()
            return Moment(time.monotonic(), self.sent)

    def check_under_way(self, moment: Moment) -> None:
        """What was sent before the moment was acked after it; to be asked once all is acked."""
        late = [ack for ack in self.acked if ack.turn < moment.sent and ack.at > moment.at]
        assert late, f"nothing was under way at {moment}"

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failed.append(f"{error.name()} of {message.key()}:{message.value()}")
            return
        ack = Ack(
            time.monotonic(),
            int(message.key()),
            int(message.value()),
            message.partition(),
            message.offset(),
        )
        self.acked.append(ack)

    def go_on(self, count: int = 60) -> None:
        """Returns once so many messages that are sent from now on were acked."""
        first = self.sent
        deadline = time.monotonic() + WAIT_S
        seen, more = len(self.acked), 0
        while more < count:
            assert time.monotonic() < deadline, f"{more} were acked, then none; {self.failed[-3:]}"
            time.sleep(0.01)
            news = self.acked[seen:]
            seen += len(news)
            more += sum(ack.turn >= first for ack in news)

    def finish(self) -> list[Ack]:
        """All that was sent is acked, or has failed."""
        self._enough.set()
        self.join(WAIT_S)
        assert not self.is_alive(), f"not all is acked yet; {len(self._producer)} are under way"
        return self.acked

    def abandon(self) -> None:
        self._enough.set()
        self._producer.purge()
        self.join(WAIT_S)

    def longest_gap_s(self, since: float, until: float) -> float:
        """Without an acknowledgement, in a span of time."""
        times = [since, *(ack.at for ack in self.acked if since <= ack.at <= until), until]
        return max(after - before for before, after in pairwise(times))


def read_all(address: str, topic: str, partitions: Iterable[int]) -> list[Read]:
    """Everything that is committed, by a consumer that starts anew.

    A leader that was just started tells of an end that it knew of before, until it has looked. So
    it is asked for the end, which it tells only once it knows.
    """
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": f"reader-of-{topic}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    places = [confluent_kafka.TopicPartition(topic, index, 0) for index in partitions]
    deadline = time.monotonic() + WAIT_S
    ends = {place.partition: _end(consumer, place, deadline) for place in places}
    consumer.assign(places)
    found: list[Read] = []
    ended: set[int] = set()

    def take(message: Any) -> None:
        if message.error() is None:
            found.append(_read(message))
        elif (
            message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF
            and message.offset() >= ends[message.partition()]
        ):
            ended.add(message.partition())

    try:
        while len(ended) < len(places):
            assert time.monotonic() < deadline, f"{topic} cannot be read to its end: {ended}"
            for message in consumer.consume(1000, 0.2):
                take(message)
    finally:
        consumer.close()
    return found


def _end(consumer: Any, place: Any, deadline: float) -> int:
    while True:
        try:
            return int(consumer.get_watermark_offsets(place, timeout=5)[1])
        except confluent_kafka.KafkaException:
            assert time.monotonic() < deadline, f"nobody knows where {place} ends"
            time.sleep(0.1)


def _read(message: Any) -> Read:
    key, number = message.key().decode(), message.value().decode()
    is_ours = key.isdecimal() and number.isdecimal()
    return Read(
        int(key) if is_ours else -1,
        int(number) if is_ours else message.offset(),
        message.partition(),
        message.offset(),
    )


def check_exactly_once(acked: list[Ack], found: list[Read], *, in_order: bool = True) -> None:
    """Every message that was acked is where the producer was told, nothing is there twice, and what
    one key was sent is in order."""
    at = {(each.partition, each.offset): (each.key, each.number) for each in found}
    lost = [ack for ack in acked if at.get((ack.partition, ack.offset)) != (ack.key, ack.number)]
    assert not lost, f"{len(lost)} of {len(acked)} acked messages are lost: {lost[:5]}"
    times: dict[tuple[int, int], list[Read]] = {}
    for each in found:
        times.setdefault((each.key, each.number), []).append(each)
    twice = [places for places in times.values() if len(places) > 1]
    assert not twice, f"{len(twice)} messages are there more than once: {twice[:5]}"
    last: dict[int, int] = {}
    for each in sorted(found, key=lambda each: (each.partition, each.offset)):
        assert not in_order or last.get(each.key, -1) < each.number, f"out of order: {each}"
        last[each.key] = each.number
