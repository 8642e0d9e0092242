"""Clients at work while a topic loses partitions: what they read, and how the topic is asked."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import confluent_kafka
from click.testing import CliRunner

from penstock.cli.main import main
from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from tests.cluster_traffic import WAIT_S, Ack, Traffic
from tests.group_stage import CLASSIC, wait_until

CLOSE_S = 10
PROTOCOLS = ("classic", "consumer")
VANISHED = ("_UNKNOWN_PARTITION", "_DESTROY")
"""What librdkafka says of messages for a partition that its topic has no more: the latter of those
that it was about to send again."""
Seen = tuple[float, int, int]
"""When a message was read, its key and its number."""


class Reader(threading.Thread):
    """One member of a group. With `holds_back` it never commits the last message it has read, and
    with `leaves` it does not read these partitions for now."""

    def __init__(self, address: str, group: str, topic: str, protocol: str = "classic") -> None:
        super().__init__(daemon=True)
        self.seen: list[Seen] = []
        self.holds_back = False
        self.leaves: set[int] = set()
        self.has_partitions = threading.Event()
        self._topic = topic
        self.owned: set[int] = set()
        self._places: dict[tuple[str, int], int] = {}
        self._enough = threading.Event()
        self._consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": address,
                "group.id": group,
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
                **(CLASSIC if protocol == "classic" else {}),
            }
        )
        self._left: set[int] = set()
        self._consumer.subscribe([topic], on_assign=self._assigned, on_revoke=self._revoked)
        self.start()

    def _assigned(self, consumer: Any, places: Sequence[Any]) -> None:
        self.owned.update(each.partition for each in places)
        if places:
            self.has_partitions.set()

    def _revoked(self, consumer: Any, places: Sequence[Any]) -> None:
        self._commit()
        for each in places:
            self._places.pop((each.topic, each.partition), None)
            self.owned.discard(each.partition)
            self._left.discard(each.partition)

    def run(self) -> None:
        while not self._enough.is_set():
            self._leave()
            for message in self._consumer.consume(200, 0.05):
                if message.error() is None:
                    self._take(message)
            self._commit()
        self._consumer.close()

    def _leave(self) -> None:
        for change, wanted in (
            (self._consumer.pause, (self.leaves & self.owned) - self._left),
            (self._consumer.resume, self._left - self.leaves),
        ):
            if wanted:
                change([confluent_kafka.TopicPartition(self._topic, index) for index in wanted])
        self._left = self.leaves & self.owned

    def _take(self, message: Any) -> None:
        self.seen.append((time.monotonic(), int(message.key()), int(message.value())))
        self._places[message.topic(), message.partition()] = message.offset() + 1

    def _commit(self) -> None:
        """What cannot be committed for the moment is so the next time."""
        back = int(self.holds_back)
        offsets = [
            confluent_kafka.TopicPartition(*place, offset - back)
            for place, offset in self._places.items()
        ]
        if offsets:
            try:
                self._consumer.commit(offsets=offsets, asynchronous=False)
            except confluent_kafka.KafkaException:
                return

    def finish(self) -> None:
        self._enough.set()
        self.join(CLOSE_S)


class Groups:
    """A group of each protocol, with two members."""

    def __init__(self, address: str, topic: str) -> None:
        self.readers = {
            protocol: [Reader(address, f"{topic}-{protocol}", topic, protocol) for _ in range(2)]
            for protocol in PROTOCOLS
        }

    @property
    def members(self) -> list[Reader]:
        return [each for group in self.readers.values() for each in group]

    def wait_ready(self) -> None:
        for each in self.members:
            assert each.has_partitions.wait(WAIT_S)

    def wait_shared(self, partitions: int) -> None:
        """Each group shares these and no others. Before that, librdkafka should not be closed: it
        may hang while it lets go of partitions that are gone."""
        wanted = list(range(partitions))
        for protocol, readers in self.readers.items():
            wait_until(
                lambda readers=readers: sorted(n for each in readers for n in each.owned) == wanted,  # type: ignore[misc]
                f"{protocol} group shares {wanted}",
            )

    def check(self, acked: Sequence[Ack], *, again: int = 0, in_order: bool = True) -> None:
        """Each group has read each acked message once, those of a key in the order of sending.

        `again`: so many may come twice, where a commit was under way when its coordinator died.
        """
        wanted = {(ack.key, ack.number) for ack in acked}
        for protocol, readers in self.readers.items():
            wait_until(
                lambda readers=readers: wanted <= _ids(readers).keys(),  # type: ignore[misc]
                f"{protocol} group reads {len(wanted)} messages",
            )
            twice = [each for each, count in _ids(readers).items() if count > 1]
            told = f"{protocol}: {len(twice)} were read more than once: {twice[:5]}"
            assert len(twice) <= again, told
            if in_order:
                check_order(protocol, sorted(each for reader in readers for each in reader.seen))

    def finish(self) -> None:
        for each in self.members:
            each.finish()


def _ids(readers: Sequence[Reader]) -> Counter[tuple[int, int]]:
    return Counter((key, number) for reader in readers for _, key, number in list(reader.seen))


def check_order(name: str, seen: Sequence[Seen]) -> None:
    """Of when each was read for the first time."""
    last: dict[int, int] = {}
    known: set[tuple[int, int]] = set()
    for _, key, number in seen:
        if (key, number) not in known:
            assert last.get(key, -1) < number, f"{name}: {key}:{number} came after {last[key]}"
            last[key] = number
        known.add((key, number))


def penstock(address: str, *words: str) -> Any:
    """What a command prints as JSON."""
    runner = CliRunner(env={"PENSTOCK_BOOTSTRAP": address})
    done = runner.invoke(main, [*words, "--json"], prog_name="penstock")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def topics(addresses: str) -> dict[str, int]:
    """The number of partitions of each, as the first broker knows it that can be reached."""
    for address in addresses.split(","):
        try:
            with WireClient(address, timeout_s=5) as client:
                found = client.metadata().topics.values()
        except ClientError:
            continue
        return {each.name: len(each.partitions) for each in found}
    return {}


def create(address: str, name: str, partitions: int = 6, *options: str) -> None:
    penstock(address, "topic", "create", name, "--partitions", str(partitions), *options)


def reduce(address: str, name: str, partitions: int, *options: str) -> None:
    words = ("--partitions", str(partitions), "--when", "drained", "--max-pause", "2s", *options)
    penstock(address, "topic", "alter", name, *words)


def wait_reduced(address: str, name: str, partitions: int) -> None:
    wait_until(lambda: topics(address).get(name) == partitions, f"{name} has {partitions}")


def closing(address: str, name: str) -> Any:
    return penstock(address, "topic", "describe", name)["closing"]


def check_failures(sending: Traffic) -> None:
    """What a producer still held for a vanished partition fails, and visibly so."""
    others = [each for each in sending.failed if not each.startswith(VANISHED)]
    assert not others, f"{len(others)} of {len(sending.failed)} failed with {others[:5]}"
    assert len(sending.acked) + len(sending.failed) == sending.sent
