"""The main job, end to end: start a broker, produce, kill it in the middle, lose nothing, read all.

Then a group of consumers shares a topic, and one of them is killed. Run by `make demo`. Prints what
it does; exits 0 only if every acknowledged message was read back once and in order, and the group
has consumed everything.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import confluent_kafka
from rich.console import Console
from rich.progress import Progress

from tools import demo_group

MESSAGES = 200_000
PARTITIONS = 3
TOPIC = "orders"
KILL_AFTER = (0.25, 0.6)
"""Shares of the messages after which the broker is killed with -9."""

console = Console(highlight=False)


class Broker:
    """`penstock serve` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = "127.0.0.1:0"

    def start(self) -> None:
        began = time.monotonic()
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "penstock", "serve", "--listen", self.address),
                *("--data-dir", str(self.folder), "--set", "log.level=error"),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.fullmatch(r"penstock ready: broker \d+ at (\S+)\n", line)
        if not found:
            raise SystemExit(f"the broker did not start: {line!r}")
        self.address = found[1]
        console.print(f"  {line.strip()}, after {1000 * (time.monotonic() - began):.0f} ms")

    def end(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def penstock(broker: Broker, *arguments: str) -> None:
    console.print(f"  $ penstock {' '.join(arguments)}", style="bold")
    command = [sys.executable, "-m", "penstock", *arguments]
    subprocess.run([*command, "--bootstrap", broker.address], check=True)


@contextmanager
def step(title: str) -> Iterator[None]:
    console.print(f"\n[bold cyan]{title}[/]")
    yield


def produce(broker: Broker) -> set[int]:
    """Numbers that were acknowledged, while the broker is killed and started again."""
    acked: set[int] = set()
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": broker.address,
            "enable.idempotence": True,
            "linger.ms": 5,
            "reconnect.backoff.max.ms": 200,
            "partitioner": "murmur2_random",
            "log_level": 0,
        }
    )
    kills = [int(MESSAGES * share) for share in KILL_AFTER]
    with Progress(console=console) as progress:
        bar = progress.add_task("  acknowledged", total=MESSAGES)
        for number in range(MESSAGES):
            while True:
                try:
                    producer.produce(
                        TOPIC,
                        b'{"order": %d}' % number,
                        b"customer-%d" % (number % 100),
                        on_delivery=_noting(number, acked),
                    )
                    break
                except BufferError:
                    producer.poll(0.1)
            if number % 1000 == 0:
                producer.poll(0)
                progress.update(bar, completed=len(acked))
            if number in kills:
                progress.console.print(
                    f"  kill -9, with {number + 1 - len(acked):,} messages on their way"
                )
                broker.end(signal.SIGKILL)
                broker.start()
        producer.flush(60)
        progress.update(bar, completed=len(acked))
    return acked


def _noting(number: int, acked: set[int]) -> object:
    def delivered(error: object, _: object) -> None:
        if error is None:
            acked.add(number)

    return delivered


def consume(broker: Broker) -> list[tuple[str, int]]:
    """(key, number) of every message there is, in the order of each partition."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "demo",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "check.crcs": True,
        }
    )
    consumer.assign(
        [confluent_kafka.TopicPartition(TOPIC, index, 0) for index in range(PARTITIONS)]
    )
    found: list[tuple[str, int]] = []
    ended = 0
    while ended < PARTITIONS:
        message = consumer.poll(30)
        if message is None:
            raise SystemExit("the broker sent nothing for 30 s")
        if message.error():
            ended += 1
            continue
        key, value = message.key() or b"", message.value() or b""
        found.append((key.decode(), int(value[10:-1])))
    consumer.close()
    return found


def share(broker: Broker, folder: Path) -> bool:
    partitions = str(demo_group.PARTITIONS)
    penstock(broker, "topic", "create", demo_group.TOPIC, "--partitions", partitions)
    all_consumed = demo_group.share(broker.address, folder, console)
    penstock(broker, "group", "describe", demo_group.GROUP)
    return all_consumed


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder) / "data")
        with step("Start a broker"):
            broker.start()
            penstock(broker, "topic", "create", TOPIC, "--partitions", str(PARTITIONS))
        with step(
            f"Produce {MESSAGES:,} messages (idempotent, acks=all), and kill the broker twice"
        ):
            acked = produce(broker)
        with step("Read everything back"):
            found = consume(broker)
            console.print(f"  {len(acked):,} acknowledged, {len(found):,} read")
            penstock(broker, "topic", "describe", TOPIC)
        with step(f"Let {demo_group.CONSUMERS} consumers share a topic, and kill one of them"):
            all_consumed = share(broker, Path(folder))
        broker.end(signal.SIGTERM)
    numbers = [number for _, number in found]
    by_key: dict[str, list[int]] = {}
    for key, number in found:
        by_key.setdefault(key, []).append(number)
    lost, doubled = acked - set(numbers), len(numbers) - len(set(numbers))
    disordered = [key for key, order in by_key.items() if order != sorted(order)]
    good = len(acked) == MESSAGES and not lost and not doubled and not disordered
    verdict = "[bold green]Nothing" if good else "[bold red]Something"
    console.print(
        f"\n{verdict} was lost, doubled or put out of order:[/] "
        f"{len(lost)} lost, {doubled} doubled, {len(disordered)} keys out of order."
    )
    verdict = "[bold green]The group has" if all_consumed else "[bold red]The group has not"
    console.print(f"{verdict} consumed everything.[/]")
    return 0 if good and all_consumed else 1


if __name__ == "__main__":
    sys.exit(main())
