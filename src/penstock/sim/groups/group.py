"""One simulated group: its members, and whether it has come to rest."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.sim.client import SimClient
from penstock.sim.cluster import Cluster
from penstock.sim.groups.classic import ClassicMember
from penstock.sim.groups.consumer import ConsumerMember
from penstock.sim.groups.history import GroupHistory
from penstock.sim.groups.member import Member
from penstock.sim.groups.onlooker import Onlooker

KINDS: Sequence[type[Member]] = (ClassicMember, ConsumerMember)
MEMBERS = 2


class SimGroup:
    def __init__(
        self, cluster: Cluster, history: GroupHistory, kind: type[Member], topic: str, count: int
    ) -> None:
        self.name = f"{kind.__name__} group"
        self._cluster = cluster
        self._history = history
        self._topic, self._count = topic, count
        self._steady_s = 0.0
        self.members = [
            kind(SimClient(cluster, f"member {number}"), history, self.name, topic, count)
            for number in range(MEMBERS)
        ]

    def calm_down(self) -> None:
        """From now on nobody comes or goes by itself."""
        self._steady_s = self._cluster.scheduler.now_s
        for member in self.members:
            member.is_steady = True

    def is_settled(self) -> bool:
        """Every partition has one owner, which has committed since."""
        owned = [index for member in self.members for index in member.terms]
        if sorted(owned) != list(range(self._count)):
            return False
        since = self._steady_s
        done = {each.term for each in self._history.commits if each.is_acknowledged_after(since)}
        return all(term in done for member in self.members for term in member.terms.values())

    def last_look(self) -> Onlooker:
        """By one who has never been a member."""
        client = SimClient(self._cluster, "onlooker")
        return Onlooker(client, self._history, self.name, self._topic, self._count)
