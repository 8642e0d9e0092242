"""A topic is copied in transactions, while brokers and the processes that copy are killed.

`make chaos` copies a hundred thousand messages in transactions of 750, with twenty kills.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from tests.cluster_faults import SECONDS
from tests.cluster_process import Cluster
from tests.cluster_traffic import Read, Traffic, read_all
from tests.copying import CopyProcess
from tests.group_stage import wait_until

IS_LONG = SECONDS > 0
MESSAGES = 100_000 if IS_LONG else 4_000
KILLS = 20 if IS_LONG else 4
SIZE = 750 if IS_LONG else 100
PER_SECOND = 800 if IS_LONG else 400
PARTITIONS = 6
WAIT_S = 180


def kill_one(cluster: Cluster, copiers: list[CopyProcess], chance: random.Random) -> str:
    """A process that copies, or a broker, while a transaction is open."""
    if chance.random() < 0.5:
        victim = chance.choice(copiers)
        victim.kill_at_work()
        victim.start()
        return "a process that copies"
    broker = chance.choice(list(cluster.members.values()))
    worker = chance.choice(copiers)
    was_open = False
    while not was_open:
        wait_until(lambda: worker.is_open, "a transaction is open", WAIT_S)
        said = len(worker.lines)
        broker.kill()
        was_open = len(worker.lines) == said
        broker.start()
    return f"broker {broker.node_id}"


@pytest.mark.timeout(900)
def test_a_topic_is_copied_exactly_once_whoever_is_killed_meanwhile(
    own_cluster: Callable[..., Cluster], topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, chance = own_cluster().start(3), random.Random(5)
    source, target = f"{topic}-in", f"{topic}-out"
    for name in (source, target):
        cluster.create(name, PARTITIONS)
    arguments = (cluster.address, source, target, str(SIZE))
    copiers = [CopyProcess(f"{topic}-{each}", *arguments).start() for each in range(2)]
    traffic = Traffic(cluster.address, source, per_second=PER_SECOND)
    try:
        for number in range(KILLS):
            share = MESSAGES * (number + 1) // (KILLS + 1)
            wait_until(lambda: traffic.sent >= share, "messages are sent", WAIT_S)  # noqa: B023
            killed = kill_one(cluster, copiers, chance)
            with capsys.disabled():
                print(f"killed {killed} at {traffic.sent}", flush=True)  # noqa: T201
        wait_until(lambda: traffic.sent >= MESSAGES, "all are sent", WAIT_S)
        acked = traffic.finish()
        assert not traffic.failed
        found = wait_for_copies(cluster, target, len(acked))
    finally:
        for each in copiers:
            each.kill()
    check_copies([(ack.key, ack.number) for ack in acked], found)
    cluster.check_lines()


def wait_for_copies(cluster: Cluster, topic: str, count: int) -> list[Read]:
    """All that readers of what is committed see, once it is as much as there should be."""
    found: list[Read] = []

    def are_all_there() -> bool:
        found[:] = read_all(cluster.address, topic, range(PARTITIONS))
        return len(found) >= count

    wait_until(are_all_there, f"{count} copies", WAIT_S)
    return found


def check_copies(sent: list[tuple[int, int]], found: list[Read]) -> None:
    """Each once, and those of a key in order."""
    assert sorted((each.key, each.number) for each in found) == sorted(sent)
    last: dict[int, int] = {}
    for each in found:
        assert last.get(each.key, -1) < each.number, f"{each} after {last[each.key]}"
        last[each.key] = each.number
