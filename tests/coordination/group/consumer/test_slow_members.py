"""Members that take up later what they are told, as all real clients do, share nothing either."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.coordination.group.consumer.clients import SlowClient, check_nothing_is_shared, settle
from tests.coordination.group.consumer.stage import Stage

PICK = st.integers(0, 2)
PARTITIONS = 4


class SlowLife(RuleBasedStateMachine):
    """Few things happen here, so that all their orders come up."""

    @initialize()
    def begin(self) -> None:
        self.stage = Stage()
        self.topic = self.stage.create("orders", PARTITIONS)
        self.clients: list[SlowClient] = []
        self.names = 0

    def pick(self, number: int) -> SlowClient:
        return self.clients[number % len(self.clients)]

    @precondition(lambda self: len(self.clients) < 3)
    @rule(is_hasty=st.booleans())
    def joins(self, is_hasty: bool) -> None:
        self.names += 1
        client = SlowClient(self.stage, f"m{self.names}", "orders")
        client.is_hasty = is_hasty
        self.clients.append(client)
        self.beats(len(self.clients) - 1)

    @precondition(lambda self: self.clients)
    @rule(number=PICK)
    def beats(self, number: int) -> None:
        self.stage.pass_ms(1)
        self.pick(number).beat()

    @precondition(lambda self: self.clients)
    @rule(number=PICK)
    def takes_up_what_it_was_told(self, number: int) -> None:
        self.pick(number).take_up()

    @precondition(lambda self: self.clients)
    @rule(number=PICK)
    def says_everything_again(self, number: int) -> None:
        self.pick(number).is_unsure = True
        self.beats(number)

    @precondition(lambda self: self.clients)
    @rule(number=PICK)
    def loses_an_answer(self, number: int) -> None:
        self.pick(number).beat(is_lost=True)

    @precondition(lambda self: self.clients)
    @rule(number=PICK)
    def leaves(self, number: int) -> None:
        client = self.pick(number)
        self.clients.remove(client)
        client.leave()

    @precondition(lambda self: self.clients)
    @rule()
    def all_comes_to_rest(self) -> None:
        settle(self.stage, self.clients)
        assert sum(client.count for client in self.clients) == PARTITIONS
        assert len(self.stage.body.members) == len(self.clients)

    @invariant()
    def nothing_is_shared(self) -> None:
        if getattr(self, "clients", None):
            check_nothing_is_shared(self.stage, self.clients)


TestSlowLife = SlowLife.TestCase
TestSlowLife.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)


def test_a_join_that_is_answered_late_gives_nobody_what_its_member_is_about_to_take_up() -> None:
    """librdkafka then says everything at once, while it gets the topic's metadata."""
    stage = Stage()
    topic = stage.create("orders", 6)
    first, second = SlowClient(stage, "n1", "orders"), SlowClient(stage, "n2", "orders")
    first.beat()
    stage.pass_ms(100)
    second.beat()
    first.is_unsure = True
    first.beat()
    second.beat()
    first.take_up()
    second.take_up()
    assert first.owned == {topic: frozenset(range(6))}
    assert not second.owned
    settle(stage, [first, second])
    assert [first.count, second.count] == [3, 3]


def test_a_member_that_never_takes_up_what_it_was_told_loses_its_place_in_time() -> None:
    stage = Stage()
    topic = stage.create("orders", 2)
    first, second = SlowClient(stage, "n1", "orders"), SlowClient(stage, "n2", "orders")
    first.beat()
    stage.pass_ms(100)
    second.beat()
    for _ in range(40):
        first.is_unsure = True
        if first.epoch:
            first.beat()
        stage.pass_ms(1_000)
        second.beat()
        second.take_up()
    assert second.owned == {topic: frozenset({0, 1})}
