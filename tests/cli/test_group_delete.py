"""Groups and offsets that go, and those that stay."""

from __future__ import annotations

import json

import pytest
from tests.broker_process import BrokerProcess
from tests.cli.conftest import Penstock
from tests.cli.groups import Lines, both_protocols, commit, committed, running


@pytest.fixture
def orders(lines: Lines, topic: str) -> str:
    lines("topic", "create", topic, "--partitions", "2")
    return topic


@pytest.fixture
def group(broker: BrokerProcess, orders: str) -> str:
    """Down, with an offset in both partitions."""
    name = f"group-of-{orders}"
    commit(broker, name, orders, 0, 0)
    return name


def test_a_deleted_group_is_gone(penstock: Penstock, lines: Lines, group: str) -> None:
    assert lines("group", "delete", group, "--yes") == [f"deleted group {group}"]
    assert penstock("group", "describe", group).exit_code == 1


def test_several_groups_go_and_the_others_say_why_they_stay(
    penstock: Penstock, broker: BrokerProcess, orders: str, group: str
) -> None:
    commit(broker, f"{group}-2", orders, 0)
    result = penstock("group", "delete", group, f"{group}-none", f"{group}-2", "--yes")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [f"deleted group {group}", f"deleted group {group}-2"]
    assert result.stderr.startswith(f"Error: group {group}-none: there is no such group")


def test_what_was_deleted_is_told_as_json(penstock: Penstock, group: str) -> None:
    result = penstock("group", "delete", group, f"{group}-none", "--yes", "--json")
    gone, missing = json.loads(result.stdout)
    assert result.exit_code == 1
    assert gone == {"group": group, "deleted": True, "error": None}
    assert (missing["group"], missing["deleted"]) == (f"{group}-none", False)
    assert "there is no such group" in missing["error"]


@both_protocols
@pytest.mark.parametrize("options", [(), ("--topic", "{}")])
def test_a_running_group_is_not_deleted(
    penstock: Penstock,
    lines: Lines,
    broker: BrokerProcess,
    orders: str,
    group: str,
    options: tuple[str, ...],
    protocol: str,
) -> None:
    with running(broker, group, orders, group_protocol=protocol) as member:
        given = [each.format(orders) for each in options]
        result = penstock("group", "delete", group, *given, "--yes")
        who = f"it has 1 member ({member.memberid()} at 127.0.0.1)"
        assert (result.exit_code, result.stdout) == (1, "")
        assert f"group {group} is running: {who}; stop all its members first" in result.stderr
        assert committed(lines, group) == {(orders, 0): 0, (orders, 1): 0}


def test_offsets_of_a_topic_go_alone(
    lines: Lines, broker: BrokerProcess, orders: str, group: str
) -> None:
    lines("topic", "create", f"{orders}-more")
    commit(broker, group, f"{orders}-more", 0)
    said = lines("group", "delete", group, "--topic", f"{orders}:1", "--yes")
    assert said == [f"deleted offsets in {orders} of group {group}"]
    assert committed(lines, group) == {(orders, 0): 0, (f"{orders}-more", 0): 0}
    lines("group", "delete", group, "--topic", orders, "--yes")
    assert committed(lines, group) == {(f"{orders}-more", 0): 0}


def test_a_running_group_gives_up_offsets_that_its_members_do_not_use(
    lines: Lines, broker: BrokerProcess, orders: str, group: str
) -> None:
    lines("topic", "create", f"{orders}-old")
    commit(broker, group, f"{orders}-old", 0)
    with running(broker, group, orders):
        lines("group", "delete", group, "--topic", f"{orders}-old", "--yes")
        assert (f"{orders}-old", 0) not in committed(lines, group)


@pytest.mark.parametrize(
    ("name", "place", "said"),
    [
        ("{0}", "{1}:7", "has no offsets there in {1}; `penstock group describe {0}`"),
        ("{0}", "{1}-none", "has no offsets there in {1}-none"),
        ("{0}-none", "{1}", "there is no such group"),
    ],
)
def test_offsets_that_are_not_there_are_not_deleted(
    penstock: Penstock, orders: str, group: str, name: str, place: str, said: str
) -> None:
    where = ("--topic", place.format(group, orders))
    result = penstock("group", "delete", name.format(group), *where, "--yes")
    assert (result.exit_code, result.stdout) == (1, "")
    assert said.format(group, orders) in result.stderr


def test_nothing_is_deleted_without_a_yes(penstock: Penstock, lines: Lines, group: str) -> None:
    result = penstock("group", "delete", group)
    assert result.exit_code == 2
    assert "give --yes" in result.stderr
    assert committed(lines, group)
