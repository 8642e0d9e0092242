"""The main job, end to end: three brokers, one killed in the middle, nothing lost, all read.

Then a group of consumers shares a topic, and one of them is killed; the topic gets fewer
partitions, of another a part is read through a view, workers share the jobs of a queue and one of
them is killed, a message waits for its time, one topic is copied in transactions by a process that
is killed, another becomes a table that Spark is asked about, and the metadata of the cluster is
kept in a file. Run by `make demo`, and with STORE=etcd on etcd. Prints what it does; exits 0 only
if every acknowledged message was read back once and in order, the group has consumed everything,
the topic has fewer partitions in the end, the view shows what matches, every job was done, what
waited came when it was due, and the copy and the table have every message once.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import confluent_kafka
from rich.console import Console
from rich.progress import Progress

from tools import (
    demo_delay,
    demo_exactly_once,
    demo_group,
    demo_growth,
    demo_queue,
    demo_table,
    demo_view,
)
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


def create(cluster: Cluster, topic: str, partitions: int, *options: str) -> None:
    """On all brokers."""
    numbers = ("--partitions", str(partitions), "--replication-factor", str(BROKERS))
    penstock(cluster, "topic", "create", topic, *numbers, *options)


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


def shrink(cluster: Cluster) -> bool:
    left = demo_group.PARTITIONS // 2
    return demo_growth.reduce(
        cluster.addresses, demo_group.TOPIC, left, lambda *words: penstock(cluster, *words)
    )


def view(cluster: Cluster) -> bool:
    create(cluster, demo_view.TOPIC, demo_view.PARTITIONS)
    return demo_view.view(cluster.addresses, lambda *words: penstock(cluster, *words), console)


def queue(cluster: Cluster, folder: Path) -> bool:
    return demo_queue.queue(
        cluster.addresses, BROKERS, folder, lambda *words: penstock(cluster, *words), console
    )


def delay(cluster: Cluster) -> bool:
    create(cluster, demo_delay.TOPIC, demo_delay.PARTITIONS, "--set", demo_delay.SETTING)
    return demo_delay.delay(cluster.addresses, lambda *words: penstock(cluster, *words), console)


def keep(cluster: Cluster, folder: Path) -> None:
    file = str(folder / "backup")
    console.print(f"  $ penstock backup create {file}", style="bold")
    command = [sys.executable, "-m", "penstock", "backup", "create", file]
    subprocess.run([*command, "--store", cluster.store], check=True)


def copy(cluster: Cluster) -> bool:
    for topic in (demo_exactly_once.SOURCE, demo_exactly_once.TARGET):
        create(cluster, topic, PARTITIONS)
    is_exact = demo_exactly_once.copy(cluster.addresses, console)
    penstock(cluster, "txn", "list")
    return is_exact


def tabulate(cluster: Cluster, folder: Path) -> bool:
    table = folder / "orders-table"
    penstock(cluster, "pipeline", "archive", TOPIC, "--to", str(table), "--once")
    return demo_table.ask(table, MESSAGES, console)


class Played(NamedTuple):
    acked: set[int]
    found: list[tuple[str, int]]
    all_consumed: bool
    is_smaller: bool
    is_part: bool
    is_done: bool
    is_punctual: bool
    is_exact: bool
    is_table: bool


def play(cluster: Cluster, folder: Path) -> Played:
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
        all_consumed = share(cluster, folder)
    with step("Halve the topic's partitions, now that the group has read them"):
        is_smaller = shrink(cluster)
    with step("Read a part of a topic through a view, with a client that knows nothing of views"):
        is_part = view(cluster)
    with step("Give jobs to workers, and kill one of them"):
        is_done = queue(cluster, folder)
    with step("Send messages that are delivered later, and take one of them back"):
        is_punctual = delay(cluster)
    with step("Copy a topic exactly once, and kill the process that copies"):
        is_exact = copy(cluster)
    with step("Turn the first topic into a table, and ask Spark about it"):
        is_table = tabulate(cluster, folder)
    with step("Keep a copy of the cluster's metadata"):
        keep(cluster, folder)
    done = is_part, is_done, is_punctual, is_exact, is_table
    return Played(acked, found, all_consumed, is_smaller, *done)


def is_intact(played: Played) -> bool:
    """Every acknowledged message is there once, and those of a key are in order."""
    numbers = [number for _, number in played.found]
    by_key: dict[str, list[int]] = {}
    for key, number in played.found:
        by_key.setdefault(key, []).append(number)
    lost, doubled = played.acked - set(numbers), len(numbers) - len(set(numbers))
    disordered = [key for key, order in by_key.items() if order != sorted(order)]
    good = len(played.acked) == MESSAGES and not lost and not doubled and not disordered
    verdict = "[bold green]Nothing" if good else "[bold red]Something"
    console.print(
        f"\n{verdict} was lost, doubled or put out of order:[/] "
        f"{len(lost)} lost, {doubled} doubled, {len(disordered)} keys out of order."
    )
    return good


def has_gone_well(played: Played) -> bool:
    good = is_intact(played)
    verdict = "[bold green]The group has" if played.all_consumed else "[bold red]The group has not"
    console.print(f"{verdict} consumed everything.[/]")
    verdict = "[bold green]The topic has" if played.is_smaller else "[bold red]The topic has not"
    console.print(f"{verdict} fewer partitions now.[/]")
    verdict = "[bold green]The view shows" if played.is_part else "[bold red]The view shows not"
    console.print(f"{verdict} what matches, and nothing else.[/]")
    verdict = "[bold green]Every job was" if played.is_done else "[bold red]Not every job was"
    console.print(f"{verdict} done.[/]")
    verdict = "[bold green]What waited" if played.is_punctual else "[bold red]Not all that waited"
    console.print(f"{verdict} came when it was due, and not at all where it was taken back.[/]")
    verdict = "[bold green]Every sale has" if played.is_exact else "[bold red]Not every sale has"
    console.print(f"{verdict} one invoice.[/]")
    verdict = "[bold green]The table has" if played.is_table else "[bold red]The table has not"
    console.print(f"{verdict} every message once.[/]")
    return good and all(played[2:])


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder), console)
        try:
            played = play(cluster, Path(folder))
        finally:
            cluster.stop()
    return 0 if has_gone_well(played) else 1


if __name__ == "__main__":
    sys.exit(main())
