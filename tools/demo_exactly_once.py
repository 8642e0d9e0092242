"""The part of the demo in which a topic is copied exactly once, though the copier is killed.

`python -m tools.demo_exactly_once ADDRESS` is the copier: what it reads, writes and commits is one
transaction after the other.
"""

from __future__ import annotations

import subprocess
import sys
import time

from rich.console import Console

from penstock import Consumer, Producer

SOURCE, TARGET = "sales", "invoices"
MESSAGES = 10_000
EACH = 500
"""Messages of a transaction."""
WAIT_S = 60


def copy(address: str, console: Console) -> bool:
    """Whether every message was copied once, though the copier is killed."""
    with Producer(address) as producer:
        for number in range(MESSAGES):
            producer.send(SOURCE, str(number), key=str(number % 20))
    console.print(f"  {MESSAGES:,} messages in {SOURCE}, to be copied {EACH} in a transaction")
    copier = _start(address)
    try:
        found = _read(address, MESSAGES // 3)
        copier.kill()
        copier.wait()
        console.print(f"  kill -9 of the copier, with {len(found):,} committed; another begins")
        copier = _start(address)
        found = _read(address, MESSAGES)
    finally:
        copier.kill()
        copier.wait()
    doubled = len(found) - len(set(found))
    console.print(f"  {len(set(found)):,} copied, {doubled} of them twice")
    return sorted(found) == list(range(MESSAGES))


def _start(address: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "tools.demo_exactly_once", address])


def _read(address: str, wanted: int) -> list[int]:
    """What readers see who read only what is committed, until it is enough, or a second brings no
    more of it."""
    group, found = f"auditors-{time.monotonic_ns()}", []
    deadline = time.monotonic() + WAIT_S
    with Consumer(
        address, TARGET, group=group, delivery="exactly-once", tune="latency", idle_timeout=1
    ) as reader:
        while len(found) < wanted and time.monotonic() < deadline:
            for message in reader:
                found.append(int(message.value))
                if wanted < MESSAGES and len(found) >= wanted:
                    break
    return found


def main(address: str) -> None:
    producer = Producer(address, delivery="exactly-once", transactional_id="copier")
    consumer = Consumer(address, SOURCE, group="copiers", delivery="exactly-once", tune="latency")
    with producer, consumer:
        for batch in consumer.transactions(producer, max_messages=EACH, max_seconds=0.5):
            with batch:
                for message in batch:
                    producer.send(TARGET, message.value, key=message.key)
            time.sleep(0.1)


if __name__ == "__main__":
    main(sys.argv[1])
