"""Targets of large groups: made in many short turns, while the group goes on."""

from __future__ import annotations

import pytest
from tests.coordination.group.consumer.clients import Client, check_nothing_is_shared, settle
from tests.coordination.group.consumer.stage import NAME, Stage

from penstock.coordination.group import protocols
from penstock.coordination.group.assignors import MEMBER_COST
from penstock.coordination.group.consumer import making, targets
from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.record_types import TargetEpochKey, TargetKey
from penstock.coordination.group.consumer.subscriptions import subscribed
from penstock.coordination.group.consumer.targets import Plan
from penstock.coordination.group.groups import Group
from penstock.coordination.pace import COST_A_SLICE
from penstock.coordination.turn import Turn

MANY = targets.AT_ONCE_MAX + 500


def crowd(partitions: int = 10, members: int = MANY) -> Stage:
    """A group that so many have joined in one moment."""
    stage = Stage()
    stage.create("orders", partitions)
    for number in range(members):
        stage.join(f"m{number}", "orders")
    return stage


def turns_until_made(stage: Stage) -> list[int]:
    """How many events each turn wrote until there was a target for everyone."""
    counts = []
    while stage.body.is_assigning:
        stage.time_ms = max(stage.time_ms, stage.wake_ms or 0.0)
        stage.wake_ms = None
        stage.run(protocols.expire)
        counts.append(len(stage.written))
    return counts


def steps_of_a_target(stage: Stage) -> int:
    def plan(turn: Turn, group: Group) -> Plan:
        draft = Draft(turn, NAME, stage.body)
        return Plan(draft, subscribed(draft))

    return sum(1 for _ in stage.run(plan).carry_out())


def test_joins_in_a_large_group_make_no_target_and_look_at_no_other_member() -> None:
    stage = crowd()
    target_epoch = stage.body.target_epoch
    stage.pass_ms(1_000)
    made_epoch = stage.body.target_epoch
    assert made_epoch > target_epoch
    stage.time_ms += 60_000
    answer = stage.join("another", "orders")
    assert answer.member_epoch == made_epoch == stage.body.target_epoch
    assert not any(isinstance(event.key, TargetKey) for event in stage.written)
    assert len(stage.written) == 3, "the member, the group's epoch, what the member has"
    assert stage.wake_ms is not None
    assert stage.wake_ms <= stage.time_ms, "a turn of its own makes the target, and at once"


def test_thousands_that_join_at_once_cost_a_target_or_two() -> None:
    stage = crowd()
    before = stage.body.target_epoch
    turns_until_made(stage)
    assert stage.body.target_epoch - before <= 2
    assert (
        sum(len(part.get(topic, ())) for part in stage.body.target.values() for topic in part) == 10
    )


def test_a_large_target_is_written_in_many_turns_and_its_epoch_with_the_last() -> None:
    stage = crowd(partitions=MANY)
    stage.run(protocols.expire)  # it may be that the first ones have a target of their own
    counts = turns_until_made(stage)
    assert max(counts) <= making.PARTS_A_TURN + 2, "and the group's epoch, and the target's"
    assert len(counts) > MANY / making.PARTS_A_TURN
    assert isinstance(stage.written[-1].key, TargetEpochKey)


def test_the_more_members_the_more_steps_a_target_takes() -> None:
    """Those that look at each member, to ask what it wants and to say what it gets."""
    stage = crowd()
    assert steps_of_a_target(stage) >= 2 * MANY * MEMBER_COST // COST_A_SLICE + 5


def test_the_first_member_of_a_large_group_is_told_of_an_epoch() -> None:
    stage = Stage()
    stage.create("orders", MANY)
    client = Client(stage, "m1", "orders")
    client.beat()
    assert (client.epoch, client.count) == (1, 0)
    settle(stage, [client])
    assert (client.epoch, client.count) == (2, MANY)


@pytest.fixture
def under_way(monkeypatch: pytest.MonkeyPatch) -> tuple[Stage, list[Client]]:
    """A group whose next target is being made."""
    monkeypatch.setattr(targets, "AT_ONCE_MAX", 0)
    monkeypatch.setattr(making, "PARTS_A_TURN", 1)
    stage = Stage()
    stage.create("orders", 12)
    clients = [Client(stage, f"m{number}", "orders") for number in range(3)]
    clients[0].instance_id = "i0"
    settle(stage, clients)
    clients.append(Client(stage, "m3", "orders"))
    clients[-1].beat()
    stage.run(protocols.expire)
    assert stage.body.making is not None
    return stage, clients


def check_settles(stage: Stage, clients: list[Client]) -> None:
    settle(stage, clients)
    check_nothing_is_shared(stage, clients)
    assert sum(client.count for client in clients) == stage.image.topics["orders"].record.partitions
    assert max(client.count for client in clients) - min(client.count for client in clients) <= 1


def test_who_joins_meanwhile_is_in_the_next_target(under_way: tuple[Stage, list[Client]]) -> None:
    stage, clients = under_way
    epoch = stage.body.epoch
    clients.append(Client(stage, "m4", "orders"))
    clients[-1].beat()
    assert stage.body.epoch == epoch + 1
    check_settles(stage, clients)


def test_who_leaves_meanwhile_gets_no_part(under_way: tuple[Stage, list[Client]]) -> None:
    stage, clients = under_way
    clients.pop().leave()
    turns_until_made(stage)
    assert stage.body.target.keys() == {client.id for client in clients}
    check_settles(stage, clients)


def test_a_static_member_that_is_restarted_meanwhile_gets_its_part(
    under_way: tuple[Stage, list[Client]],
) -> None:
    stage, clients = under_way
    stage.beat(clients[0].id, -2, instance_id="i0")
    clients[0].id, clients[0].epoch, clients[0].owned = "again", 0, {}
    clients[0].beat()
    check_settles(stage, clients)


def test_a_topic_that_grows_meanwhile_is_noticed(under_way: tuple[Stage, list[Client]]) -> None:
    stage, clients = under_way
    stage.grow("orders", 14)
    check_settles(stage, clients)


def test_a_topic_that_comes_and_goes_meanwhile_leaves_nothing_behind(
    under_way: tuple[Stage, list[Client]],
) -> None:
    stage, clients = under_way
    clients[0].topics, clients[0].is_unsure = ("extra", "orders"), True
    check_settles(stage, clients)
    before = stage.body.metadata_hash
    stage.create("extra", 3)
    stage.run(protocols.expire)
    assert stage.body.making is not None
    stage.delete("extra")
    check_settles(stage, clients)
    assert stage.body.metadata_hash == before


@pytest.mark.parametrize("turns", range(8))
def test_a_coordinator_that_takes_over_makes_it_anew(
    under_way: tuple[Stage, list[Client]], turns: int
) -> None:
    stage, clients = under_way
    for _ in range(turns):
        stage.run(protocols.expire)
    stage.reload()
    assert stage.body.making is None
    check_settles(stage, clients)
