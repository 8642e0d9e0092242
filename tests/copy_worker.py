"""A process that copies a topic in transactions: what it has read, written and committed is one.

It says on standard output when a transaction is open, and when it is over. After an error that its
client cannot go on from, it begins anew. On SIGTERM it aborts the next one, and leaves its group.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module

from confluent_kafka import KafkaException

from penstock import PenstockError
from tests.group_worker import end_with_the_test

FED_PER_SECOND = 150
"""What a worker may count on at least."""
TRANSACTION_MS = 10_000
"""What a worker leaves open that never comes back is aborted after that."""


@dataclass(frozen=True)
class Job:
    client: str
    """The module that works with the client: tests.copy_worker_CLIENT."""
    address: str
    source: str
    target: str
    name: str
    """Its transactional id."""
    size: int
    """Messages of one transaction, at most."""
    leaving: threading.Event = field(default_factory=threading.Event)

    def leave_if_told(self) -> None:
        """In the middle of a batch."""
        if self.leaving.is_set():
            sys.exit()

    @property
    def group(self) -> str:
        return f"copies-{self.source}"

    @property
    def gather_s(self) -> float:
        """So long it waits for them."""
        return self.size / FED_PER_SECOND


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def main(*arguments: str) -> None:
    threading.Thread(target=end_with_the_test, args=[os.getppid()], daemon=True).start()
    client, address, source, target, name, size = arguments
    job = Job(client, address, source, target, name, int(size))
    signal.signal(signal.SIGTERM, lambda *_: job.leaving.set())
    copy: Callable[[Job], None] = import_module(f"tests.copy_worker_{job.client}").copy
    while True:
        try:
            copy(job)
        except (KafkaException, PenstockError) as problem:
            say(f"begins anew: {problem}")


if __name__ == "__main__":
    main(*sys.argv[1:])
