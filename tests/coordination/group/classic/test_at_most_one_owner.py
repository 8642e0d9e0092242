"""Whatever consumers, clock and disk do, no partition has two owners and nobody waits for ever."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from tests.coordination.group.classic.clients import PARTITIONS, Client
from tests.coordination.group.classic.stage import Stage

from penstock.coordination.group.classic.phases import MOVES, Phase

LONG_MS = 700_000
"""Until everything has run out that a member can be waited for."""


class ManyConsumers(RuleBasedStateMachine):
    clients = Bundle("clients")

    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage()
        self.there: list[Client] = []

    @rule(
        target=clients,
        instance=st.sampled_from([None, None, "i", "j"]),
        session_ms=st.sampled_from([6_000, 30_000]),
    )
    def start(self, instance: str | None, session_ms: int) -> Client:
        """A static one takes the place of whoever has its name; that one does not know yet."""
        client = Client(self.stage, instance, session_ms)
        self.there.append(client)
        return client

    @rule(client=clients)
    def step(self, client: Client) -> None:
        if not client.is_fenced:
            client.step()

    @rule(client=consumes(clients))
    def leave(self, client: Client) -> None:
        client.leave()
        self.there.remove(client)

    @rule(client=consumes(clients))
    def crash(self, client: Client) -> None:
        self.there.remove(client)

    @rule(ms=st.sampled_from([1, 500, 3_000, 7_000, 31_000]))
    def pass_time(self, ms: int) -> None:
        self.stage.wait(ms)

    @rule(turns=st.integers(1, 5))
    def everyone_goes_on(self, turns: int) -> None:
        for _ in range(turns):
            self.stage.wait(500)
            for client in self.there:
                self.step(client)

    @rule()
    def coordinator_is_lost(self) -> None:
        self.stage.phases.clear()
        self.stage.reload()

    @rule()
    def disk_fails(self) -> None:
        self.stage.disk_fails = True

    @invariant()
    def nobody_shares_a_partition(self) -> None:
        generation = self.stage.body.generation
        owned = [each.owned for each in self.there if each.generation == generation]
        assert sum(map(len, owned)) == len(frozenset().union(*owned))

    @invariant()
    def counts_are_true(self) -> None:
        body = self.stage.body
        assert body.joined == sum(each.join is not None for each in body.members.values())
        assert body.unsynced <= body.members.keys()
        assert set(body.static.values()) <= body.members.keys()
        assert body.leader in body.members or not body.members
        assert (body.phase is Phase.EMPTY) <= (not body.members)

    @invariant()
    def phases_follow_the_table(self) -> None:
        """A turn may go through several, but never a way that the table does not have."""
        reachable = {(a, b) for a, following in MOVES.items() for b in following}
        for _ in Phase:
            reachable |= {(a, d) for a, b in reachable for c, d in reachable if b is c}
        for before, after in pairwise(self.stage.phases):
            assert before == after or (Phase[before], Phase[after]) in reachable
        self.stage.phases = self.stage.phases[-1:]

    def teardown(self) -> None:
        self._everyone_has_work()
        self.stage.wait(LONG_MS)
        assert not self.stage.waiting
        assert self.stage.body.phase is Phase.EMPTY
        assert not self.stage.body.members

    def _everyone_has_work(self) -> None:
        """Left in peace, those who are there share all of it."""
        self.stage.disk_fails = False
        self.there = [each for each in self.there if not each.is_fenced]
        newest = {each.instance: each for each in self.there}
        self.there = [
            each for each in self.there if each.instance is None or each in newest.values()
        ]
        for _ in range(300):
            self.everyone_goes_on(1)
        assert not self.there or self.stage.body.phase is Phase.STABLE
        owned = sorted(partition for each in self.there for partition in each.owned)
        assert owned == (list(PARTITIONS) if self.there else [])


TestManyConsumers = ManyConsumers.TestCase
TestManyConsumers.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
