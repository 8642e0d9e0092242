"""A group at work: its workers, a flow of messages to them, and waiting for what they do."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka
import confluent_kafka.admin

from tests.group_checks import Run
from tests.group_flow import Flow
from tests.group_journal import Place
from tests.group_process import WAIT_S, WorkerProcess
from tests.group_worker import Settings

rdkafka: Any = confluent_kafka.admin
"""Its types are not all there."""
SESSION_MS = 3000
LIVELY = {"session_timeout_ms": SESSION_MS, "heartbeat_interval_ms": 300}
"""As Python's clients name them; a broker must allow it."""
CLASSIC = {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": 300}
"""As librdkafka names them; with the consumer protocol the broker says."""
QUICK_BROKER = (
    *("--set", "group.min.session.timeout.ms=1000"),
    *("--set", "group.initial.rebalance.delay.ms=100"),
    *("--set", "group.consumer.min.session.timeout.ms=1000"),
    *("--set", f"group.consumer.session.timeout.ms={SESSION_MS}"),
)
"""Settings of a broker that soon notices the death of a consumer."""


def wait_until(holds: Callable[[], Any], what: str, wait_s: float = WAIT_S) -> Any:
    """What is waited for; the deadline is far beyond what it takes."""
    deadline = time.monotonic() + wait_s
    while not (found := holds()):
        assert time.monotonic() < deadline, f"in vain: {what}"
        time.sleep(0.02)
    return found


def administer(address: str, act: Callable[[Any], dict[Any, Any]]) -> Any:
    """The result of the one thing that is asked for.

    By a new client each time: librdkafka's may hang if it has lived through a broker's restart.
    """
    client = rdkafka.AdminClient({"bootstrap.servers": address})
    (future,) = act(client).values()
    return future.result(WAIT_S)


class Stage:
    """One group and its workers."""

    def __init__(self, folder: Path, address: str, group: str) -> None:
        self.workers: dict[str, WorkerProcess] = {}
        self._folder = folder
        self.address = address
        self.group = group
        self.flow: Flow | None = None

    def start(
        self,
        name: str,
        client: str,
        topics: list[str],
        options: dict[str, Any],
        *,
        commits_first: bool = False,
    ) -> WorkerProcess:
        path = str(self._folder / f"{self.group}-{name}.journal")
        settings = Settings(
            client, self.address, name, self.group, topics, path, commits_first, options
        )
        self.workers[name] = WorkerProcess(name, settings)
        return self.workers[name]

    def send(self, topics: dict[str, int], per_second: int = 200) -> Flow:
        """Messages without pause, to so many partitions of each topic."""
        places = [(topic, number) for topic, count in topics.items() for number in range(count)]
        self.flow = Flow(self.address, places, per_second)
        self.flow.start()
        return self.flow

    @property
    def running(self) -> list[WorkerProcess]:
        return [each for each in self.workers.values() if each.runs]

    def follow(self) -> None:
        for each in self.workers.values():
            each.check()
            each.follow()

    def wait_until(self, holds: Callable[[], Any], what: str, wait_s: float = WAIT_S) -> None:
        def look() -> Any:
            self.follow()
            return holds()

        try:
            wait_until(look, what, wait_s)
        except AssertionError as error:
            raise AssertionError(f"{error}; {self}") from None

    def wait_until_shared(self, places: list[Place], *, idle: int = 0) -> None:
        """Every partition has one owner, and all but so many workers have some."""

        def shared() -> bool:
            owned = sorted(place for each in self.running for place in each.owned)
            without = sum(not each.owned for each in self.running)
            return owned == sorted(places) and without == idle

        self.wait_until(shared, f"{places} shared by all but {idle} workers")

    def wait_until_processed(
        self, messages: dict[tuple[Place, int], str], wait_s: float = WAIT_S
    ) -> None:
        def missing() -> set[tuple[Place, int]]:
            return messages.keys() - set().union(
                *(each.processed for each in self.workers.values())
            )

        try:
            self.wait_until(lambda: not missing(), f"{len(messages)} messages processed", wait_s)
        except AssertionError as error:
            raise AssertionError(f"{len(missing())} are missing; {error}") from None

    def wait_until_committed(self, messages: dict[tuple[Place, int], str]) -> None:
        """Whoever did it; the broker knows."""
        wanted: dict[Place, int] = {}
        for place, offset in messages:
            wanted[place] = max(wanted.get(place, 0), offset + 1)
        self.wait_until(lambda: self.committed(list(wanted)) == wanted, f"{wanted} committed")

    def wait_until_known(self, name: str) -> None:
        """The broker has this worker among the members; it need not have partitions yet."""
        self.wait_until(lambda: name in self.members(), f"{name} is a member")

    def members(self) -> list[str]:
        return [each.client_id for each in self.describe().members]

    def describe(self) -> Any:
        return administer(self.address, lambda admin: admin.describe_consumer_groups([self.group]))

    def committed(self, places: list[Place]) -> dict[Place, int]:
        asking = {"bootstrap.servers": self.address, "group.id": self.group}
        consumer = confluent_kafka.Consumer(asking)
        wanted = [confluent_kafka.TopicPartition(*place) for place in places]
        try:
            found = consumer.committed(wanted, WAIT_S)
        finally:
            consumer.close()
        return {(each.topic, each.partition): each.offset for each in found}

    def result(self) -> Run:
        """What the journals say, so far."""
        return Run(
            {name: each.reading.entries for name, each in self.workers.items()},
            {name: each.killed_at for name, each in self.workers.items()},
        )

    def end(self) -> None:
        for each in self.workers.values():
            each.end()
        if self.flow is not None:
            self.flow.abandon()

    def __str__(self) -> str:
        return "; ".join(map(str, self.workers.values()))
