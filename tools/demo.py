"""The main job, end to end: three brokers, one killed in the middle, nothing lost, all read.

Then a group of consumers shares a topic, and one of them is killed. Run by `make demo`, and with
STORE=etcd on etcd. Prints what it does; exits 0 only if every acknowledged message was read back
once and in order, and the group has consumed everything.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import confluent_kafka
from rich.console import Console
from rich.progress import Progress

from tools import demo_group
from tools.demo_cluster import BROKERS, Cluster

MESSAGES = 200_000
PARTITIONS = 3
TOPIC = "orders"
KILL_AFTER = (0.25, 0.6)
"""Shares of the messages after which a broker is killed with -9."""

console = Console(highlight=False)


def penstock(cluster: Cluster, *arguments: str) -> None:
    console.print(f"  $ penstock {' '.join(arguments)}", style="bold")
    command = [sys.executable, "-m", "penstock", *arguments]
    subprocess.run([*command, "--bootstrap", cluster.addresses], check=True)


def create(cluster: Cluster, topic: str, partitions: int) -> None:
    """On all brokers."""
    numbers = ("--partitions", str(partitions), "--replication-factor", str(BROKERS))
    penstock(cluster, "topic", "create", topic, *numbers)


@contextmanager
def step(title: str) -> Iterator[None]:
    console.print(f"\n[bold cyan]{title}[/]")
    yield


def produce(cluster: Cluster) -> set[int]:
    """Numbers that were acknowledged, while brokers are killed and started again."""
    acked: set[int] = set()
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": cluster.addresses,
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
                killed = cluster.kill_one(kills.index(number))
                progress.console.print(
                    f"  kill -9 of broker {killed}, with {number + 1 - len(acked):,} messages on "
                    "their way"
                )
        producer.flush(60)
        progress.update(bar, completed=len(acked))
    return acked


def _noting(number: int, acked: set[int]) -> object:
    def delivered(error: object, _: object) -> None:
        if error is None:
            acked.add(number)

    return delivered


def consume(cluster: Cluster) -> list[tuple[str, int]]:
    """(key, number) of every message there is, in the order of each partition."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": cluster.addresses,
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
            raise SystemExit("the brokers sent nothing for 30 s")
        if message.error():
            ended += 1
            continue
        key, value = message.key() or b"", message.value() or b""
        found.append((key.decode(), int(value[10:-1])))
    consumer.close()
    return found


def share(cluster: Cluster, folder: Path) -> bool:
    create(cluster, demo_group.TOPIC, demo_group.PARTITIONS)
    all_consumed = demo_group.share(cluster.addresses, folder, console)
    penstock(cluster, "group", "describe", demo_group.GROUP)
    return all_consumed


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder), console)
        with step(f"Start a cluster of {BROKERS} brokers"):
            cluster.start()
            create(cluster, TOPIC, PARTITIONS)
        with step(f"Produce {MESSAGES:,} messages (idempotent, acks=all), and kill two brokers"):
            acked = produce(cluster)
        with step("Read everything back"):
            found = consume(cluster)
            console.print(f"  {len(acked):,} acknowledged, {len(found):,} read")
            penstock(cluster, "topic", "describe", TOPIC)
        with step(f"Let {demo_group.CONSUMERS} consumers share a topic, and kill one of them"):
            all_consumed = share(cluster, Path(folder))
        cluster.stop()
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
