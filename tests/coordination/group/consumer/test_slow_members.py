"""Members that take up later what they are told, as all real clients do, share nothing either."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.coordination.group.consumer.clients import SlowClient, check_nothing_is_shared, settle
from tests.coordination.group.consumer.stage import Stage

from penstock.coordination.group.consumer.reconciling import without

PICK = st.integers(0, 2)
KIND = st.sampled_from(["hasty", "patient", "wordy"])
PARTITIONS = 4


class Slow(RuleBasedStateMachine):
    """Few things happen here, so that all their orders come up."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage()
        self.topic = self.stage.create("orders", PARTITIONS)
        self.clients: list[SlowClient] = []
        self.names = 0

    def pick(self, number: int) -> SlowClient:
        return self.clients[number % len(self.clients)]

    def comes(self, kind: str) -> None:
        self.names += 1
        client = SlowClient(self.stage, f"m{self.names}", "orders")
        client.is_hasty, client.is_wordy = kind == "hasty", kind == "wordy"
        self.clients.append(client)
        self.hears(client)

    def goes(self, client: SlowClient) -> None:
        self.clients.remove(client)
        client.leave()

    def hears(self, client: SlowClient) -> None:
        self.stage.pass_ms(1)
        client.beat()

    def rests(self) -> None:
        settle(self.stage, self.clients)
        assert sum(client.count for client in self.clients) == PARTITIONS
        assert len(self.stage.body.members) == len(self.clients)

    @precondition(lambda self: self.clients)
    @rule(number=PICK)
    def takes_up_what_it_was_told(self, number: int) -> None:
        self.pick(number).take_up()

    @precondition(lambda self: self.clients)
    @rule(number=PICK)
    def says_everything_again(self, number: int) -> None:
        client = self.pick(number)
        client.is_unsure = True
        self.hears(client)

    @invariant()
    def nothing_is_shared(self) -> None:
        if self.clients:
            check_nothing_is_shared(self.stage, self.clients)


class SlowLife(Slow):
    @precondition(lambda self: len(self.clients) < 3)
    @rule(kind=KIND)
    def joins(self, kind: str) -> None:
        self.comes(kind)

    @precondition(lambda self: self.clients)
    @rule(number=PICK)
    def beats(self, number: int) -> None:
        self.hears(self.pick(number))

    @precondition(lambda self: self.clients)
    @rule(number=PICK)
    def loses_an_answer(self, number: int) -> None:
        self.pick(number).beat(is_lost=True)

    @precondition(lambda self: self.clients)
    @rule(number=PICK)
    def leaves(self, number: int) -> None:
        self.goes(self.pick(number))

    @precondition(lambda self: self.clients)
    @rule()
    def all_comes_to_rest(self) -> None:
        self.rests()


class Turnover(Slow):
    """Members of a group that was at rest come and go, and the others hear of it at once."""

    @initialize(kinds=st.tuples(KIND, KIND))
    def begin(self, kinds: tuple[str, str]) -> None:
        for kind in kinds:
            self.comes(kind)
        self.rests()

    @rule(number=PICK, kind=KIND)
    def one_comes_after_another_has_gone(self, number: int, kind: str) -> None:
        self.goes(self.pick(number))
        self.all_hear()
        self.comes(kind)
        self.all_hear()

    @rule()
    def another_coordinator_takes_over(self) -> None:
        """The Java client then says everything again."""
        self.stage.reload()
        for client in self.clients:
            client.is_unsure = client.is_unsure or client.is_hasty
        self.all_hear()

    def all_hear(self) -> None:
        for client in self.clients:
            self.hears(client)

    def teardown(self) -> None:
        self.rests()


TestSlowLife = SlowLife.TestCase
TestSlowLife.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)
TestTurnover = Turnover.TestCase
TestTurnover.settings = settings(max_examples=200, stateful_step_count=8, deadline=None)


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


def taken_away_before_it_was_taken_up(stage: Stage) -> tuple[SlowClient, SlowClient, bytes]:
    """The first has been told of everything, is busy, and is told to give half of it up."""
    topic = stage.create("orders", 4)
    first, second, third = (SlowClient(stage, name, "orders") for name in ("n1", "n2", "n3"))
    first.is_hasty = True
    first.beat()
    second.beat()
    settle(stage, [first, second])
    second.leave()
    for client in (first, third, first):
        client.beat()
        stage.pass_ms(10)
    assert first.claimed == {topic: frozenset(range(4))}
    assert stage.body.members["n1"].holding.revoking
    return first, third, topic


@pytest.mark.parametrize("is_lost", [False, True])
def test_one_that_says_everything_keeps_what_it_was_told_until_it_has_taken_it_up(
    is_lost: bool,
) -> None:
    """It has just what it is to keep, and may have given up the rest, or be about to take it up."""
    stage = Stage()
    first, third, topic = taken_away_before_it_was_taken_up(stage)
    if is_lost:
        stage.reload()
    first.is_unsure = True
    first.beat()
    third.beat()
    third.take_up()
    first.take_up()
    assert first.owned == {topic: frozenset(range(4))}
    assert not third.owned
    settle(stage, [first, third])
    assert [first.count, third.count] == [2, 2]


def test_one_that_has_named_what_it_gives_up_need_not_take_it_up_again() -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    first, second = SlowClient(stage, "n1", "orders"), SlowClient(stage, "n2", "orders")
    first.beat()
    settle(stage, [first])
    second.beat()
    stage.pass_ms(100)
    first.beat()
    first.take_up()
    assert first.count == 2
    first.is_unsure = True
    first.beat()
    assert stage.body.members["n1"].holding.assigned == first.owned
    second.beat()
    second.take_up()
    assert second.owned == {topic: frozenset(range(4)) - first.owned[topic]}


def test_one_that_is_told_the_same_back_and_forth_has_no_more_time_for_it() -> None:
    stage = Stage()
    first, third, topic = taken_away_before_it_was_taken_up(stage)
    for second in range(40):
        first.is_unsure = second % 2 == 0
        if first.epoch:
            first.beat()
        stage.pass_ms(1_000)
        third.beat()
        third.take_up()
    assert third.owned == {topic: frozenset(range(4))}


def test_one_that_cannot_name_what_was_deleted_goes_on_all_the_same() -> None:
    stage = Stage()
    topic, gone = stage.create("orders", 4), stage.create("returns", 4)
    first, second = (SlowClient(stage, name, "orders", "returns") for name in ("n1", "n2"))
    first.beat()
    settle(stage, [first])
    second.beat()
    stage.pass_ms(100)
    first.beat()
    first.take_up()
    stage.delete("returns")
    first.owned = without(first.owned, {gone: frozenset(range(4))})
    first.is_unsure = True
    first.beat()
    second.beat()
    second.take_up()
    assert second.owned == {topic: frozenset(range(4)) - first.owned[topic]}
