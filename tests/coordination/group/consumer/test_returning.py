"""A large group of KIP-848 whose last members are classic becomes a classic one by and by."""

from __future__ import annotations

import pytest
from tests.coordination.group.consumer.classic_clients import ClassicClient
from tests.coordination.group.consumer.clients import Client
from tests.coordination.group.consumer.stage import Stage
from tests.coordination.group.consumer.test_migration import classic_body, mixed

from penstock.coordination import pace
from penstock.coordination.group import protocols
from penstock.coordination.group.classic.phases import Phase
from penstock.coordination.group.consumer import downgrading
from penstock.errors import ErrorCode

Left = tuple[Stage, list[ClassicClient]]


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> Left:
    """By its last member of the other protocol, just now."""
    stage = Stage()
    stage.create("orders", 4)
    native, classics = mixed(stage)
    monkeypatch.setattr(downgrading, "AT_ONCE_MAX", 0)
    monkeypatch.setattr(pace, "COST_A_SLICE", 1)
    native.leave()
    return stage, classics


def test_its_members_are_made_ready_in_turns_of_their_own(left: Left) -> None:
    stage, classics = left
    epoch = stage.body.epoch
    for _ in classics:
        stage.run(protocols.expire)
        assert not stage.written
        assert [client.beat() for client in classics] == [ErrorCode.NONE] * 2
    stage.run(protocols.expire)
    body = classic_body(stage)
    assert (body.phase, body.generation) == (Phase.JOINING, epoch)
    assert all(member.assignment for member in body.members.values())
    assert [client.beat() for client in classics] == [ErrorCode.REBALANCE_IN_PROGRESS] * 2
    members = body.members.keys()
    stage.reload()
    assert classic_body(stage).members.keys() == members


def test_what_was_made_ready_is_not_made_again(left: Left, monkeypatch: pytest.MonkeyPatch) -> None:
    stage, classics = left
    for _ in classics:
        stage.run(protocols.expire)
    monkeypatch.setattr(downgrading, "_classic_member", None)
    stage.run(protocols.expire)
    assert len(classic_body(stage).members) == 2


@pytest.mark.parametrize("late", [1, 9])
def test_who_joins_meanwhile_is_in_it(left: Left, late: int) -> None:
    """However many they are: in the end it is done in one go."""
    stage, classics = left
    for _ in range(late):
        stage.run(protocols.expire)
        ClassicClient(stage, "orders").ask_to_join()
    stage.pass_ms(1)
    assert len(classic_body(stage).members) == len(classics) + late


def test_a_member_of_the_other_protocol_that_comes_meanwhile_keeps_it_what_it_is(
    left: Left,
) -> None:
    stage, classics = left
    stage.run(protocols.expire)
    Client(stage, "m2", "orders").beat()
    stage.pass_ms(1)
    assert stage.body.members.keys() == {"m2", *(client.id for client in classics)}
    assert stage.body.returning is None


def test_a_coordinator_that_takes_over_meanwhile_goes_on_with_it(left: Left) -> None:
    stage, classics = left
    stage.run(protocols.expire)
    stage.reload()
    stage.pass_ms(1)
    assert classic_body(stage).members.keys() == {client.id for client in classics}
