"""Messages that are copied while there are faults: in the end each is there once."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence

from tests.cluster_process import Cluster
from tests.cluster_traffic import Read, Traffic, read_all
from tests.copy_faults import CopyFault, Crew
from tests.copying import CopyProcess
from tests.group_stage import wait_until

PARTITIONS = 4
"""Each has some of the keys."""
COPIERS = 2
WAIT_S = 180


def hire(cluster: Cluster, topic: str, build: Callable[..., CopyProcess]) -> Crew:
    """Two that copy, and one who could; `build` is given a name, the address and the topics."""
    source, target = f"{topic}-in", f"{topic}-out"
    for name in (source, target):
        cluster.create(name, PARTITIONS)
    made = [
        build(f"{topic}-{each}", cluster.address, source, target) for each in range(COPIERS + 1)
    ]
    return Crew(cluster, source, target, made[:COPIERS], made[COPIERS])


def check_copied(
    crew: Crew,
    faults: Sequence[CopyFault],
    messages: int,
    per_second: int,
    chance: random.Random,
) -> list[Read]:
    """Messages are fed all the time. The copies, by a reader of what is committed."""
    traffic = Traffic(crew.cluster.address, crew.source, per_second=per_second)
    try:
        for each in crew.copiers:
            each.start()
        for number, fault in enumerate(faults):
            share = messages * (number + 1) // (len(faults) + 1)
            wait_until(lambda: traffic.sent >= share, f"{share} are sent", WAIT_S)  # noqa: B023
            sys.stdout.write(f"{fault.__name__} at {traffic.sent}\n")
            fault(crew, chance)
        wait_until(lambda: traffic.sent >= messages, "all are sent", WAIT_S)
        acked = traffic.finish()
        assert not traffic.failed
        found = wait_for_copies(crew, len(acked))
    finally:
        traffic.abandon()
        crew.end()
    check_copies([(ack.key, ack.number) for ack in acked], found)
    crew.cluster.check_lines()
    return found


def wait_for_copies(crew: Crew, count: int) -> list[Read]:
    """All that readers of what is committed see, once it is as much as there should be."""
    found: list[Read] = []

    def are_all_there() -> bool:
        found[:] = read_all(crew.cluster.address, crew.target, range(PARTITIONS))
        return len(found) >= count

    wait_until(are_all_there, f"{count} copies", WAIT_S)
    return found


def check_copies(sent: list[tuple[int, int]], found: list[Read]) -> None:
    """Each once, and those of a key in order."""
    wanted, there = Counter(sent), Counter((each.key, each.number) for each in found)
    lost, doubled = wanted - there, there - wanted
    assert (lost, doubled) == (Counter(), Counter()), f"{len(lost)} lost, {len(doubled)} doubled"
    last: dict[int, int] = {}
    for each in found:
        assert last.get(each.key, -1) < each.number, f"{each} after {last[each.key]}"
        last[each.key] = each.number
