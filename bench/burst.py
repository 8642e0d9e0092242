"""Ten times the load for a minute, on three brokers, and consumers that are added afterwards."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import confluent_kafka

from bench.measurement import Result
from bench.several_brokers import SeveralBrokers

PARTITIONS = 6
VALUE = bytes(1000)
USUAL_RATE, BURST = 1000, 10
USUAL_S, BURST_S = 10, float(os.environ.get("BURST_S", "60"))
CONSUMER_RATE = 2 * USUAL_RATE
"""What one consumer manages: enough for the usual load, and far too little for the burst."""
MORE_CONSUMERS = 5
RESIDENT_MB_MAX = 250
WAIT_S = 300


class Load(threading.Thread):
    """An idempotent producer, acks=all, that keeps count of what was acknowledged."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self.rate = USUAL_RATE
        self.acked: list[int] = []
        self.failed = 0
        self._over = threading.Event()
        options = {"bootstrap.servers": address, "enable.idempotence": True, "log_level": 0}
        self._producer = confluent_kafka.Producer(options)

    def run(self) -> None:
        number, due = 0, time.monotonic()
        while not self._over.is_set():
            due = max(due + 0.01, time.monotonic())  # what was missed is not made up for
            for _ in range(self.rate // 100):
                self._send(number)
                number += 1
            while (left_s := due - time.monotonic()) > 0:
                self._producer.poll(left_s)  # which ends when something was delivered
        self._producer.flush()

    def _send(self, number: int) -> None:
        while True:
            try:
                self._producer.produce("burst", VALUE, str(number), on_delivery=self._delivered)
                return
            except BufferError:
                self._producer.poll(0.1)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is None:
            self.acked.append(int(message.key()))
        else:
            self.failed += 1

    def finish(self) -> None:
        self._over.set()
        self.join()


class Worker(threading.Thread):
    """A consumer of the group; one that is slow takes its time for each message."""

    def __init__(self, address: str, read: Counter[int], *, is_slow: bool) -> None:
        super().__init__(daemon=True)
        self._read = read
        self._pause_s = 100 / CONSUMER_RATE if is_slow else 0.0
        self._over = threading.Event()
        options = {
            "bootstrap.servers": address,
            "group.id": "workers",
            "log_level": 0,
            "auto.offset.reset": "earliest",
            "partition.assignment.strategy": "cooperative-sticky",
        }
        self._consumer = confluent_kafka.Consumer(options)
        self._consumer.subscribe(["burst"])

    def run(self) -> None:
        while not self._over.is_set():
            messages = self._consumer.consume(100, 0.2)
            self._read.update(int(each.key() or b"") for each in messages if not each.error())
            time.sleep(self._pause_s * len(messages) / 100)
        self._consumer.close()

    def finish(self) -> None:
        self._over.set()
        self.join()


def burst(profile: Path | None = None) -> Result:
    with SeveralBrokers(3) as brokers:
        with brokers.client(1) as client:
            client.create_topic("burst", PARTITIONS, {"min.insync.replicas": "2"}, replicas=3)
        read: Counter[int] = Counter()
        load = Load(brokers.address)
        workers = [Worker(brokers.address, read, is_slow=True)]
        load.start()
        workers[0].start()
        resident = [_passed(brokers, load, 1, USUAL_S), _passed(brokers, load, BURST, BURST_S)]
        behind = len(load.acked) - len(read)
        load.rate = USUAL_RATE
        added = [Worker(brokers.address, read, is_slow=False) for _ in range(MORE_CONSUMERS)]
        began = time.monotonic()
        for each in added:
            each.start()
        caught_up_s = _caught_up(load, read, began, USUAL_RATE // 2)
        load.finish()
        _caught_up(load, read, time.monotonic())
        for each in (*workers, *added):
            each.finish()
    lost = len(set(load.acked) - read.keys())
    return Result(
        f"{BURST} times the load for {BURST_S:.0f} s, resident of the largest broker",
        resident[1],
        "MB",
        f"<= {RESIDENT_MB_MAX}, nothing lost",
        resident[1] <= RESIDENT_MB_MAX and not lost and not load.failed,
        f"{resident[0]:.0f} MB before; {len(load.acked)} acknowledged, {lost} of them lost, "
        f"{load.failed} failed; {behind} behind, {caught_up_s:.0f} s after "
        f"{MORE_CONSUMERS} consumers were added less than half a second",
    )


def _passed(brokers: SeveralBrokers, load: Load, times: int, seconds: float) -> float:
    """The most that a broker had in memory meanwhile, in MB."""
    load.rate = times * USUAL_RATE
    most, until = 0.0, time.monotonic() + seconds
    while time.monotonic() < until:
        most = max(most, *brokers.resident_mb())
        time.sleep(0.2)
    return most


def _caught_up(load: Load, read: Counter[int], began: float, behind: int = 0) -> float:
    while len(read) + behind < len(load.acked):
        assert time.monotonic() < began + WAIT_S, "the consumers do not catch up"
        time.sleep(0.1)
    return time.monotonic() - began
