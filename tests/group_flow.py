"""A flow of messages for groups to work on."""

from __future__ import annotations

import threading
from typing import Any

import confluent_kafka

from tests.group_journal import Place

WAIT_S = 60


class Flow(threading.Thread):
    """Sends numbered messages to topics, around their partitions, and notes those acknowledged."""

    def __init__(self, address: str, places: list[Place], per_second: int) -> None:
        super().__init__(daemon=True)
        self.acked: dict[tuple[Place, int], str] = {}
        self.failed: list[str] = []
        self.places = places
        self._pause_s = 1 / per_second
        self._enough = threading.Event()
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": address,
                "enable.idempotence": True,
                "linger.ms": 2,
                "message.timeout.ms": 1000 * WAIT_S,
                "reconnect.backoff.max.ms": 200,
                "retry.backoff.ms": 50,
                "log_level": 0,
            }
        )

    def run(self) -> None:
        number = 0
        while not self._enough.wait(self._pause_s):
            topic, partition = self.places[number % len(self.places)]
            self._producer.produce(
                topic, str(number), partition=partition, on_delivery=self._delivered
            )
            self._producer.poll(0)
            number += 1
        self._producer.flush(WAIT_S)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failed.append(str(error))
            return
        place = message.topic(), message.partition()
        self.acked[place, message.offset()] = message.value().decode()

    def finish(self) -> None:
        """Returns once all that was sent is acknowledged."""
        self._enough.set()
        self.join()
        assert self.failed == []

    def abandon(self) -> None:
        """A test that failed does not care for what was not delivered."""
        self._enough.set()
        self._producer.purge()
        self.join()
