"""Subscriptions to thousands of names, most of which are of no topic."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from tests.coordination.group.consumer.answers import given
from tests.coordination.group.consumer.clients import Client, check_nothing_is_shared, settle
from tests.coordination.group.consumer.stage import NAME, Stage

from penstock.coordination.group.consumer import subscriptions, targets
from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.member import Profile
from penstock.coordination.group.consumer.record_types import TargetKey
from penstock.coordination.group.consumer.subscriptions import subscribed
from penstock.coordination.group.groups import Group
from penstock.coordination.pace import COST_A_SLICE
from penstock.coordination.turn import Turn

MEMBERS = 6
EACH = targets.AT_ONCE_MAX * targets.NAMES_EACH // (MEMBERS - 1)


def names_of(member: int) -> list[str]:
    return ["orders", *(f"{member}-{number}" for number in range(EACH))]


@pytest.fixture
def wordy() -> Stage:
    """A group that is large by its names alone."""
    stage = Stage()
    stage.create("orders", MEMBERS)
    for member in range(MEMBERS):
        stage.join(f"m{member}", *names_of(member))
    return stage


@pytest.fixture
def visited(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that were gone through to make a target."""
    seen: list[str] = []
    topics_of = subscriptions.topics_of

    def counted(draft: Draft, profile: Profile) -> Iterable[str]:
        names = topics_of(draft, profile)
        seen.extend(names)
        return names

    monkeypatch.setattr(subscriptions, "topics_of", counted)
    monkeypatch.setattr(targets, "topics_of", counted)
    return seen


def test_who_joins_or_leaves_has_nobody_else_s_names_gone_through(
    wordy: Stage, visited: list[str]
) -> None:
    wordy.time_ms += 60_000
    wordy.join("another", "orders")
    assert visited == []
    assert not any(isinstance(event.key, TargetKey) for event in wordy.written)
    assert wordy.wake_ms is not None
    assert wordy.wake_ms <= wordy.time_ms, "a turn of its own makes the target, and at once"
    wordy.time_ms += 60_000
    wordy.beat("another", -1)
    assert visited == []


def test_the_more_names_the_more_steps_a_target_takes(wordy: Stage, visited: list[str]) -> None:
    def plan(turn: Turn, group: Group) -> targets.Plan:
        draft = Draft(turn, NAME, wordy.body)
        return targets.Plan(draft, subscribed(draft))

    before, most = 0, 0
    for _ in wordy.run(plan).carry_out():
        before, most = len(visited), max(most, len(visited) - before)
    assert len(visited) == MEMBERS * (EACH + 1)
    assert most < COST_A_SLICE + EACH + 1, "a step ends with the member that makes it full"


def test_the_more_names_the_longer_the_pause_before_the_next_target(wordy: Stage) -> None:
    while wordy.body.is_assigning:
        wordy.pass_ms(1)
    pause_ms = wordy.body.target_due_ms - wordy.time_ms
    assert pause_ms >= targets.PAUSE_MS_EACH * MEMBERS * EACH / targets.NAMES_EACH


def test_such_a_group_shares_what_is_there() -> None:
    stage = Stage()
    stage.create("orders", MEMBERS)
    clients = [Client(stage, f"m{number}", *names_of(number)) for number in range(MEMBERS)]
    settle(stage, clients)
    check_nothing_is_shared(stage, clients)
    assert [client.count for client in clients] == [1] * MEMBERS
    stage.create("0-1", 2)
    settle(stage, clients)
    assert sum(client.count for client in clients) == MEMBERS + 2
    stage.delete("orders")
    settle(stage, clients)
    assert [client.count for client in clients] == [2] + [0] * (MEMBERS - 1)


def test_the_same_names_of_many_members_count_once() -> None:
    stage = Stage()
    topic = stage.create("orders", 1)
    names = ["orders", *(f"none-{number}" for number in range(1_000))]
    assert given(stage.join("m0", *names)) == {topic: {0}}
    for number in range(1, 40):
        stage.time_ms += 60_000
        stage.join(f"m{number}", *names)
        assert not stage.body.is_assigning, "the target is made at once"
