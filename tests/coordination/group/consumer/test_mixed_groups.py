"""Consumers of both protocols come and go in one group, which changes protocol on the way."""

from __future__ import annotations

from math import ceil
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.coordination.group.consumer.classic_clients import ClassicClient, plan
from tests.coordination.group.consumer.clients import Client
from tests.coordination.group.consumer.stage import Stage

from penstock.coordination import pace
from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.consumer import downgrading
from penstock.coordination.group.consumer.embedded import by_id, plan_of, subscription_of
from penstock.coordination.group.consumer.reconciling import together, without
from penstock.coordination.group.consumer.state import Consumer
from penstock.errors import ErrorCode, Refused

PICK = st.integers(0, 1_000)
LOST = (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID)


class Worker(ClassicClient):
    """Goes from one request to the next, as a real consumer does. A cooperative one takes some
    steps to give partitions up, which are its own meanwhile."""

    does = "join"
    slowness = 0
    steps_left = 0
    kept: Assignment

    def step(self) -> None:
        try:
            if self.does == "join":
                self.does = "wait for join"
                self.take_joined(self.ask_to_join())
            elif self.does == "sync":
                self.does = "wait for sync"
                self.take_synced(self.ask_to_sync(self.plans()))
            elif self.does == "work":
                self.take_code(self.beat())
            elif self.does == "give up":
                self.give_up(self.beat())
        except Refused as refused:
            self.take_code(refused.code)

    def take_joined(self, answer: Any) -> None:
        if answer is not None:
            self.take_code(answer.error_code)
            if answer.error_code == ErrorCode.NONE:
                self.joined(answer)
                self.does = "sync"

    def take_synced(self, answer: Any) -> None:
        if answer is not None:
            self.take_code(answer.error_code)
            if answer.error_code == ErrorCode.NONE:
                plan = plan_of(answer.assignment)
                self.take_plan(by_id(self.stage.image, plan.assigned_partitions))

    def take_plan(self, assigned: Assignment) -> None:
        if without(self.owned, assigned):
            self.does, self.steps_left, self.kept = "give up", self.slowness, assigned
            self.owned = together(self.owned, assigned)
        else:
            self.does, self.owned = "work", assigned

    def give_up(self, code: ErrorCode) -> None:
        """It goes on with that when it is told to join, and joins when it is done."""
        self.steps_left -= 1
        if code in LOST:
            self.take_code(code)
        elif self.steps_left < 0:
            self.does, self.owned = "join", self.kept

    def take_code(self, code: ErrorCode) -> None:
        if code == ErrorCode.NONE:
            return
        if code in LOST:
            self.owned, self.generation = {}, -1
            self.id = "" if code == ErrorCode.UNKNOWN_MEMBER_ID else self.id
        elif code != ErrorCode.REBALANCE_IN_PROGRESS:
            raise AssertionError(code)
        self.does = "join"

    def plans(self) -> dict[str, bytes]:
        """As the leader: everyone keeps its share of what it has, and what nobody has goes round.
        What is to be given up is nobody's until it has been."""
        body = self.stage.group.body
        if not isinstance(body, Classic) or body.leader != self.id:
            return {}
        topic = self.stage.image.topics["orders"]
        parts = {
            member.id: set(
                by_id(self.stage.image, subscription_of(member.protocols).owned_partitions).get(
                    topic.id, ()
                )
            )
            for member in body.members.values()
        }
        taken = frozenset().union(*parts.values())
        share = ceil(topic.record.partitions / len(parts))
        parts = {member_id: set(sorted(part)[:share]) for member_id, part in parts.items()}
        for partition in set(range(topic.record.partitions)) - taken:
            min(parts.values(), key=len).add(partition)
        return {member_id: plan(orders=sorted(part)) for member_id, part in parts.items()}


class Mixture(RuleBasedStateMachine):
    @initialize(has_eager=st.booleans(), workers=st.integers(0, 2))
    def begin(self, has_eager: bool, workers: int) -> None:
        self.has_eager = has_eager
        self.stage = Stage()
        self.stage.on_answer = self.answered
        self.topic = self.stage.create("orders", 5)
        self.natives: list[Client] = []
        self.workers: list[Worker] = []
        self.names = 0
        for _ in range(workers):
            self.a_classic_one_joins(is_eager=False, slowness=3)
            self.time_passes(4)

    @staticmethod
    def answered(reply: Any, answer: Any) -> None:
        kind, worker = reply
        if worker.does == f"wait for {kind}":
            worker.take_joined(answer) if kind == "join" else worker.take_synced(answer)

    @property
    def size(self) -> int:
        return len(self.natives) + len(self.workers)

    @rule()
    def a_new_one_joins(self) -> None:
        if self.size < 6:
            self.names += 1
            self.natives.append(Client(self.stage, f"m{self.names}", "orders"))
            self.natives[-1].beat()

    @rule(is_eager=st.booleans(), slowness=st.integers(0, 5))
    def a_classic_one_joins(self, is_eager: bool, slowness: int) -> None:
        if self.size < 6:
            is_eager = is_eager and self.has_eager
            self.workers.append(Worker(self.stage, "orders", is_eager=is_eager))
            self.workers[-1].slowness = slowness
            self.workers[-1].step()

    @precondition(lambda self: self.natives)
    @rule(number=PICK)
    def a_new_one_beats(self, number: int) -> None:
        self.natives[number % len(self.natives)].beat()

    @precondition(lambda self: self.workers)
    @rule(number=PICK)
    def a_classic_one_goes_on(self, number: int) -> None:
        self.workers[number % len(self.workers)].step()

    @precondition(lambda self: self.workers)
    @rule(steps=st.integers(2, 8))
    def the_classic_ones_go_on(self, steps: int) -> None:
        for _ in range(steps):
            for worker in self.workers:
                worker.step()

    @precondition(lambda self: self.natives)
    @rule(number=PICK, is_killed=st.booleans())
    def a_new_one_goes(self, number: int, is_killed: bool) -> None:
        client = self.natives.pop(number % len(self.natives))
        if not is_killed:
            client.leave()

    @precondition(lambda self: self.workers)
    @rule(number=PICK)
    def a_classic_one_is_killed(self, number: int) -> None:
        worker = self.workers.pop(number % len(self.workers))
        worker.does = "nothing"

    @rule()
    def the_topic_grows(self) -> None:
        partitions = self.stage.image.topics["orders"].record.partitions
        if partitions < 8:
            self.stage.grow("orders", partitions + 1)

    @rule(seconds=st.sampled_from([1, 3, 50]))
    def time_passes(self, seconds: int) -> None:
        for _ in range(seconds):
            self.stage.pass_ms(1_000)
            for client in self.natives:
                client.beat()
            for worker in self.workers:
                worker.step()

    @rule(keeps_ends=st.booleans())
    def another_coordinator_takes_over(self, keeps_ends: bool) -> None:
        self.stage.reload(keeps_ends=keeps_ends)
        for worker in self.workers:
            if worker.does.startswith("wait"):
                worker.does = "join"

    @precondition(lambda self: self.natives or self.workers)
    @rule()
    def all_comes_to_rest(self) -> None:
        self.time_passes(100)
        body = self.stage.group.body
        assert isinstance(body, Consumer if self.natives else Classic)
        owned = self.owned()
        partitions = range(self.stage.image.topics["orders"].record.partitions)
        assert sorted(number for each in owned for number in each) == list(partitions)
        if isinstance(body, Consumer):
            assert body.settled[body.epoch] == self.size == len(body.members)

    def owned(self) -> list[frozenset[int]]:
        held = [client.owned for client in self.natives] + [each.owned for each in self.workers]
        return [each.get(self.topic, frozenset()) for each in held]

    @invariant()
    def nothing_is_shared(self) -> None:
        if not hasattr(self, "workers"):
            return
        owned = self.owned()
        assert sum(map(len, owned)) == len(frozenset().union(*owned))


class LargeMixture(Mixture):
    """As if the group were so large that it does not become a classic one in one turn."""

    @initialize(has_eager=st.booleans(), workers=st.integers(0, 2))
    def begin(self, has_eager: bool, workers: int) -> None:
        self.constants = pytest.MonkeyPatch()
        self.constants.setattr(downgrading, "AT_ONCE_MAX", 0)
        self.constants.setattr(pace, "COST_A_SLICE", 1)
        super().begin(has_eager, workers)

    def teardown(self) -> None:
        self.constants.undo()


TestMixture = Mixture.TestCase
TestMixture.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestLargeMixture = LargeMixture.TestCase
TestLargeMixture.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)
