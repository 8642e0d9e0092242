"""The part of the demo in which three consumers share a topic, and one of them is killed.

`python -m tools.demo_group ADDRESS FILE` is one of these consumers: it writes the number of each
message to the file, and commits after that.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import confluent_kafka
from rich.console import Console

TOPIC = "payments"
GROUP = "cashiers"
PARTITIONS = 6
CONSUMERS = 3
MESSAGES = 30_000
PER_SECOND = 5000
KILL_AT = 0.4
"""The share of the messages after which a consumer is killed."""
WAIT_S = 60


def share(address: str, folder: Path, console: Console) -> bool:
    """Whether every message was consumed, though a consumer is killed."""
    files = [folder / f"consumer-{number}" for number in range(CONSUMERS)]
    consumers = [_start(address, file) for file in files]

    def kill() -> bool:
        """One of them, once all are at work."""
        if not all(file.stat().st_size for file in files):
            return False
        console.print("  kill -9 of a consumer; its share goes to the others after 6 s")
        consumers[0].kill()
        return True

    try:
        _produce(address, kill)
        wanted = set(range(MESSAGES))
        deadline = time.monotonic() + WAIT_S
        while not wanted <= {number for file in files for number in _read(file)}:
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
    finally:
        for each in consumers:
            each.send_signal(signal.SIGTERM)
            each.wait()
    counts = [len(_read(file)) for file in files]
    seen = {number for file in files for number in _read(file)}
    console.print(
        f"  {MESSAGES:,} sent, {len(seen):,} consumed: "
        f"{' + '.join(f'{count:,}' for count in counts)}, "
        f"of which {sum(counts) - len(seen):,} twice, being on their way at the kill"
    )
    return seen == wanted


def _start(address: str, file: Path) -> subprocess.Popen[bytes]:
    file.touch()
    return subprocess.Popen([sys.executable, "-m", "tools.demo_group", address, str(file)])


def _read(file: Path) -> list[int]:
    """Whole lines only: the last one may be on its way."""
    return [int(line) for line in file.read_text().split("\n")[:-1]]


def _produce(address: str, kill: Callable[[], bool]) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": address, "linger.ms": 5})
    killed = False
    for number in range(MESSAGES):
        producer.produce(TOPIC, str(number), partition=number % PARTITIONS)
        if number % (PER_SECOND // 100) == 0:
            producer.poll(0)
            time.sleep(0.01)
            killed = killed or (number > MESSAGES * KILL_AT and kill())
    if producer.flush(WAIT_S):
        raise SystemExit("the broker did not take all messages")
    if not killed:
        raise SystemExit("the consumers did not all get to work")


def consume(address: str, path: str) -> None:
    enough: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: enough.append(number))
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": GROUP,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 500,
        }
    )
    consumer.subscribe([TOPIC])
    with Path(path).open("a") as file:
        uncommitted = False
        while uncommitted or not enough:
            messages = consumer.consume(500, 0.1)
            values = [each.value() for each in messages if each.error() is None]
            file.write("".join(f"{int(value or b'')}\n" for value in values))
            file.flush()
            uncommitted = (uncommitted or bool(values)) and not _commit(consumer)
    consumer.close()


def _commit(consumer: confluent_kafka.Consumer) -> bool:
    """In the middle of a rebalance it may fail, and is tried again."""
    try:
        consumer.commit(asynchronous=False)
    except confluent_kafka.KafkaException as problem:
        error = problem.args[0]
        return bool(error.code() == confluent_kafka.KafkaError._NO_OFFSET)
    return True


if __name__ == "__main__":
    consume(*sys.argv[1:])
