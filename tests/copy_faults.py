"""What becomes of brokers and processes that copy, while a transaction of theirs is open.

That one was open at that moment is asserted each time.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.cluster_faults import leads
from tests.cluster_process import Cluster, Member
from tests.copying import WAIT_S, CopyProcess
from tests.group_stage import administer, wait_until


@dataclass(frozen=True)
class Crew:
    """Who copies, and where."""

    cluster: Cluster
    source: str
    target: str
    copiers: list[CopyProcess]
    spare: CopyProcess
    """Joins them now and then."""

    def members(self) -> int:
        """Of the group, as its coordinator knows it."""
        group = f"copies-{self.source}"
        found = administer(
            self.cluster.address, lambda admin: admin.describe_consumer_groups([group])
        )
        return len(found.members)

    def end(self) -> None:
        for each in (*self.copiers, self.spare):
            each.kill()


CopyFault = Callable[[Crew, random.Random], None]


def kill_copier(crew: Crew, chance: random.Random) -> None:
    victim = chance.choice(crew.copiers)
    victim.kill_at_work()
    victim.start()


def kill_broker(crew: Crew, chance: random.Random) -> None:
    """It is back before anybody has noticed."""
    _kill_at_work(crew, chance).start()


def lose_broker(crew: Crew, chance: random.Random) -> None:
    """It comes back when others lead what it led."""
    victim = _kill_at_work(crew, chance)
    crew.cluster.wait(lambda: not leads(crew.cluster, victim, crew.target), "others lead")
    victim.start()


def _kill_at_work(crew: Crew, chance: random.Random) -> Member:
    victim, copier = chance.choice([*crew.cluster.members.values()]), chance.choice(crew.copiers)
    while True:
        copier.wait_open()
        said = copier.lines
        victim.kill()
        if copier.lines == said:
            return victim
        victim.start()


def join_and_leave(crew: Crew, chance: random.Random) -> None:
    """One more joins in the middle of a batch of another, takes over partitions, and leaves in the
    middle of a batch of the next."""
    one, two = chance.sample(crew.copiers, 2)
    one.pause_at_work()
    _work_beside(crew, one)
    one.wake()
    two.pause_at_work()
    crew.spare.leave()
    assert two.is_open
    two.wake()


def sleep_through(crew: Crew, chance: random.Random) -> None:
    """One sleeps until the group has given its partitions to others, and wakes up with its
    transaction open, which must not count."""
    one = chance.choice(crew.copiers)
    one.pause_at_work()
    _work_beside(crew, one)
    wait_until(lambda: crew.members() == len(crew.copiers), "the group has forgotten it", WAIT_S)
    one.wake()
    crew.spare.leave()


def _work_beside(crew: Crew, paused: CopyProcess) -> None:
    before = crew.spare.committed
    crew.spare.start()
    wait_until(lambda: crew.spare.committed > before, f"it copies: {crew.spare}", WAIT_S)
    assert paused.is_open
