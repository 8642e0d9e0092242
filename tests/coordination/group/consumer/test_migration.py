"""Groups that change protocol, while they run or while they are empty."""

from __future__ import annotations

import pytest
from tests.coordination.group.consumer.answers import given, refusal
from tests.coordination.group.consumer.classic_clients import ClassicClient, plan, running
from tests.coordination.group.consumer.clients import Client, settle
from tests.coordination.group.consumer.stage import NAME, Stage
from tests.coordination.group.consumer.test_classic_members import rest

from penstock.coordination.group import offsets, protocols
from penstock.coordination.group.aging import Aging
from penstock.coordination.group.classic.phases import Phase
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.consumer import downgrading
from penstock.coordination.group.offsets import Committed
from penstock.errors import ErrorCode


def pair(stage: Stage, *, is_eager: bool = True) -> list[ClassicClient]:
    clients = [ClassicClient(stage, "orders", is_eager=is_eager) for _ in range(2)]
    running(stage, clients, [plan(orders=[0, 1]), plan(orders=[2, 3])])
    return clients


def classic_body(stage: Stage) -> Classic:
    assert isinstance(stage.group.body, Classic)
    return stage.group.body


@pytest.mark.parametrize("is_eager", [True, False])
@pytest.mark.parametrize("is_reloaded", [True, False])
def test_a_running_group_is_upgraded_by_the_first_new_member(
    is_eager: bool, is_reloaded: bool
) -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    classics = pair(stage, is_eager=is_eager)
    held = [client.owned for client in classics]
    assert held == [{topic: {0, 1}}, {topic: {2, 3}}]
    generation = classic_body(stage).generation
    native = Client(stage, "m1", "orders")
    native.beat()
    assert native.epoch == generation + 1
    assert native.owned == {}
    for client, before in zip(classics, held, strict=True):
        assert stage.body.members[client.id].holding.assigned == before
        assert stage.body.members[client.id].epoch == generation
    if is_reloaded:
        stage.reload()
    assert classics[0].beat() == ErrorCode.REBALANCE_IN_PROGRESS
    rest(stage, [native], classics)
    owned = [native.owned[topic], *(client.owned[topic] for client in classics)]
    assert sorted(map(len, owned)) == [1, 1, 2]
    assert frozenset().union(*owned) == {0, 1, 2, 3}


def test_who_waits_in_a_round_is_told_that_there_is_another_one() -> None:
    stage = Stage()
    stage.create("orders", 4)
    pair(stage)
    late = ClassicClient(stage, "orders")
    assert late.ask_to_join() is None
    Client(stage, "m1", "orders").beat()
    assert [(reply, answer.error_code) for reply, answer in stage.answers] == [
        (("join", late), ErrorCode.REBALANCE_IN_PROGRESS)
    ]
    late.join()


def test_members_that_wait_for_a_plan_keep_what_they_say_they_have() -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    classics = pair(stage, is_eager=False)
    for client in classics:
        client.metadata = client.subscription()
        client.topics = ("orders",)
    stage.run(lambda turn, group: protocols.topics_changed(turn, group, ["orders"]))
    for client in classics:
        client.ask_to_join()
    for (_, client), answer in stage.answers:  # type: ignore[misc]
        client.joined(answer)
    assert classic_body(stage).phase is Phase.SYNCING
    Client(stage, "m1", "orders").beat()
    assert [stage.body.members[client.id].holding.assigned for client in classics] == [
        {topic: {0, 1}},
        {topic: {2, 3}},
    ]


def test_members_that_were_classic_have_their_sessions_watched() -> None:
    stage = Stage()
    stage.create("orders", 4)
    pair(stage)
    native = Client(stage, "m1", "orders")
    native.beat()
    stage.pass_ms(10_100)
    assert list(stage.body.members) == ["m1"]


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_the_policy_can_forbid_an_upgrade(policy: str) -> None:
    stage = Stage(group_consumer_migration_policy=policy)
    stage.create("orders", 4)
    pair(stage)
    assert refusal(stage.join, "m1", "orders") == ErrorCode.GROUP_ID_NOT_FOUND
    assert classic_body(stage).phase is Phase.STABLE


def test_a_group_that_cannot_be_understood_is_not_upgraded() -> None:
    stage = Stage()
    connect = ClassicClient(stage, "orders", protocol_type="connect")
    running(stage, [connect], [plan()])
    assert refusal(stage.join, "m1", "orders") == ErrorCode.GROUP_ID_NOT_FOUND
    stage = Stage()
    broken = ClassicClient(stage, "orders")
    broken.metadata = b"?"
    running(stage, [broken], [b""])
    assert refusal(stage.join, "m1", "orders") == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_refused_upgrade_leaves_who_waits_waiting() -> None:
    stage = Stage(group_consumer_max_size=2)
    stage.create("orders", 4)
    classics = pair(stage)
    stage.run(lambda turn, group: protocols.topics_changed(turn, group, ["orders"]))
    assert classics[0].ask_to_join() is None
    assert refusal(stage.join, "m1", "orders") == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert classics[1].ask_to_join() is None
    assert len(stage.answers) == 2


def test_an_empty_classic_group_becomes_one_of_the_new_protocol_and_keeps_its_offsets() -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    classics = pair(stage)
    stage.run(lambda turn, group: offsets.write_commit(turn, group.name, "orders", 0, Committed(7)))
    stage.pass_ms(60_000)
    generation = classic_body(stage).generation
    assert not classic_body(stage).members
    answer = stage.join("m1", "orders")
    assert answer.member_epoch == generation + 1
    assert given(answer) == {topic: {0, 1, 2, 3}}
    assert stage.group.offsets["orders"][0].offset == 7
    stage.reload()
    assert list(stage.body.members) == ["m1"]
    assert classics[0].beat() == ErrorCode.UNKNOWN_MEMBER_ID


def mixed(stage: Stage) -> tuple[Client, list[ClassicClient]]:
    classics = pair(stage)
    native = Client(stage, "m1", "orders")
    native.beat()
    rest(stage, [native], classics)
    return native, classics


def test_a_group_is_classic_again_when_the_last_new_member_leaves() -> None:
    stage = Stage()
    topic = stage.create("orders", 4)
    native, classics = mixed(stage)
    epoch = stage.body.epoch
    native.leave()
    body = classic_body(stage)
    assert (body.phase, body.generation, body.protocol) == (Phase.JOINING, epoch, "range")
    assert [client.beat() for client in classics] == [ErrorCode.REBALANCE_IN_PROGRESS] * 2
    for client in classics:
        client.ask_to_join()
    for (_, client), answer in stage.answers:  # type: ignore[misc]
        client.joined(answer)
    plans = {client.id: plan(orders=[number]) for number, client in enumerate(classics)}
    leader = next(client for client in classics if client.id == body.leader)
    leader.sync(plans)
    assert classics[0].sync() == {topic: {0}}
    assert body.phase is Phase.STABLE


def test_a_group_is_classic_again_when_the_last_new_member_is_found_dead() -> None:
    stage = Stage()
    stage.create("orders", 4)
    _, classics = mixed(stage)
    for _ in range(46):
        stage.pass_ms(1_000)
        for client in classics:
            client.beat()
    assert classic_body(stage).members.keys() == {client.id for client in classics}


def test_a_group_that_is_classic_again_is_loaded_as_such() -> None:
    stage = Stage()
    stage.create("orders", 4)
    native, classics = mixed(stage)
    native.leave()
    stage.reload()
    body = classic_body(stage)
    assert body.members.keys() == {client.id for client in classics}
    assert body.phase is Phase.JOINING, "or nobody would get what the one that left had"


def test_a_plan_that_is_too_large_to_be_stored_and_not_going_to_last_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(downgrading, "PLAN_BYTES_MAX", 10)
    stage = Stage()
    stage.create("orders", 4)
    native, classics = mixed(stage)
    native.leave()
    assert any(member.assignment for member in classic_body(stage).members.values())
    stage.reload()
    assert classic_body(stage).members.keys() == {client.id for client in classics}
    assert not any(member.assignment for member in classic_body(stage).members.values())


def test_members_without_a_protocol_in_common_do_not_keep_a_group_from_becoming_classic() -> None:
    """They may have been let in by an earlier release."""
    stage = Stage()
    stage.create("orders", 4)
    native = Client(stage, "m1", "orders")
    native.beat()
    one = ClassicClient(stage, "orders", protocol="range")
    one.join()
    stage.body.classic_votes["sticky"] += 1
    stage.is_tampered_with = True
    ClassicClient(stage, "orders", protocol="sticky").join()
    native.leave()
    assert classic_body(stage).phase is Phase.JOINING
    assert classic_body(stage).protocol in ("range", "sticky")


@pytest.mark.parametrize("policy", ["disabled", "upgrade"])
def test_the_policy_can_forbid_a_downgrade(policy: str) -> None:
    stage = Stage()
    stage.create("orders", 4)
    native, classics = mixed(stage)
    stage.config = Stage(group_consumer_migration_policy=policy).config
    native.leave()
    rest(stage, [], classics)
    assert len(stage.body.members) == 2
    assert sum(len(each) for client in classics for each in client.owned.values()) == 4


def test_a_classic_member_that_takes_the_place_of_the_last_new_one_makes_the_group_classic() -> (
    None
):
    stage = Stage()
    stage.create("orders", 4)
    native = Client(stage, "m1", "orders")
    native.instance_id = "i1"
    native.beat()
    classic = ClassicClient(stage, "orders", instance_id="i1")
    classic.join()
    stage.pass_ms(1)
    assert classic_body(stage).members.keys() == {classic.id}
    assert classic.beat() == ErrorCode.REBALANCE_IN_PROGRESS


def test_an_empty_group_of_the_new_protocol_can_be_joined_by_a_classic_member() -> None:
    stage = Stage()
    stage.create("orders", 4)
    native = Client(stage, "m1", "orders")
    settle(stage, [native])
    native.leave()
    epoch = stage.body.epoch
    classic = ClassicClient(stage, "orders")
    assert classic.ask_to_join() is None
    assert classic_body(stage).generation == epoch
    stage.pass_ms(1_000)
    [(_, answer)] = stage.answers
    assert answer.generation_id == epoch + 1
    classic.joined(answer)
    classic.sync({classic.id: plan(orders=[0])})
    stage.reload()
    assert classic_body(stage).members.keys() == {classic.id}


def left_by_all(stage: Stage) -> None:
    stage.create("orders", 4)
    stage.join("m1", "orders")
    stage.run(lambda turn, group: offsets.write_commit(turn, group.name, "orders", 0, Committed(7)))
    stage.beat("m1", -1)


def test_a_classic_member_that_asks_for_an_id_does_not_change_an_empty_group() -> None:
    stage = Stage()
    left_by_all(stage)
    asked = ClassicClient(stage, "orders").ask_for_id()
    assert asked.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert asked.member_id
    assert not stage.written
    assert stage.body.epoch


def test_an_empty_group_that_becomes_classic_says_since_when_it_is_empty() -> None:
    stage = Stage()
    left_by_all(stage)
    assert ClassicClient(stage, "orders").ask_to_join() is None
    assert len(classic_body(stage).members) == 1
    now_ms = stage.group.emptied_ms
    stage.reload()
    assert not classic_body(stage).members
    assert stage.group.emptied_ms == now_ms > 0
    stage.run(Aging(stage.group).go_on)
    assert stage.group.offsets["orders"][0].offset == 7


def test_a_refused_join_does_not_change_an_empty_group() -> None:
    stage = Stage()
    stage.join("m1", "orders")
    stage.beat("m1", -1)
    stranger = ClassicClient(stage, "orders", protocol_type="")
    code = refusal(stranger.ask_to_join)
    assert code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert stage.body.epoch
    stage.run(protocols.delete)
    assert stage.groups.get(NAME) is None
