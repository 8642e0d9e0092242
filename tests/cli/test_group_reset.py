"""Groups moved to other places; and those that are not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.cli.conftest import Penstock
from tests.cli.groups import Lines, both_protocols, commit, committed, consumed, running

from penstock.cli import group_reset
from penstock.client.cluster import WireClient

OLD_MS = 1_700_000_000_000


@pytest.fixture
def group(topic: str) -> str:
    return f"group-of-{topic}"


@pytest.fixture
def orders(lines: Lines, topic: str) -> str:
    """Two partitions with four records each, a second apart; the first of them is gone."""
    lines("topic", "create", topic, "--partitions", "2", "--set", "retention.ms=-1")
    records = [
        {"value": str(number), "partition": partition, "timestamp": OLD_MS + 1000 * number}
        for partition in (0, 1)
        for number in range(4)
    ]
    lines("produce", topic, "--json", stdin="\n".join(map(json.dumps, records)))
    lines("topic", "truncate", topic, "--before", "1", "--yes")
    return topic


@pytest.fixture
def down(broker: BrokerProcess, orders: str, group: str) -> str:
    """A group that is at 2 in the first partition, and nowhere in the second."""
    commit(broker, group, orders, 2)
    return group


def planned(lines: Lines, *arguments: str) -> list[dict[str, Any]]:
    document = json.loads(lines("group", "reset", *arguments, "--json")[0])
    assert document["executed"] is ("--execute" in arguments)
    rows: list[dict[str, Any]] = document["partitions"]
    return rows


@pytest.mark.parametrize(
    ("aim", "to", "lag"),
    [
        (("--to-earliest",), 1, 3),
        (("--to-latest",), 4, 0),
        (("--to-offset", "3"), 3, 1),
        (("--to-timestamp", str(OLD_MS + 1500)), 2, 2),
        (("--to-timestamp", "2023-11-14T22:13:23Z"), 3, 1),
        (("--to-timestamp", "2099-01-01"), 4, 0),
        (("--by-duration", "1m"), 4, 0),
        (("--by-duration", "P36500D"), 1, 3),
        (("--shift-by", "1"), 3, 1),
        (("--shift-by", "-1"), 1, 3),
    ],
)
def test_a_group_is_moved(
    lines: Lines, orders: str, down: str, aim: tuple[str, ...], to: int, lag: int
) -> None:
    (row,) = planned(lines, down, "--topic", f"{orders}:0", *aim, "--execute")
    assert row == {
        "topic": orders,
        "partition": 0,
        "from": 2,
        "to": to,
        "lag": lag,
        "note": None,
    }
    assert committed(lines, down) == {(orders, 0): to}


def test_nothing_is_changed_without_execute(penstock: Penstock, lines: Lines, down: str) -> None:
    result = penstock("group", "reset", down, "--all-topics", "--to-latest")
    assert result.exit_code == 0
    head, row = result.stdout.splitlines()
    assert head.split() == ["TOPIC", "PARTITION", "FROM", "TO", "LAG", "AFTER", "NOTE"]
    assert row.split()[1:] == ["0", "2", "4", "0", "-"]
    assert result.stderr == "nothing was changed: add --execute to move it in 1 partition\n"
    assert list(committed(lines, down).values()) == [2]


def test_what_was_moved_is_said(lines: Lines, orders: str, down: str) -> None:
    said = lines("group", "reset", down, "--topic", orders, "--to-latest", "--execute")
    assert said[-1] == f"moved group {down} in 2 partitions"
    assert committed(lines, down) == {(orders, 0): 4, (orders, 1): 4}


@pytest.mark.parametrize(
    ("aim", "to", "note"),
    [
        (("--to-offset", "0"), 1, "0 is before the start"),
        (("--to-offset", "99"), 4, "99 is past the end"),
        (("--shift-by", "-9"), 1, "-7 is before the start"),
        (("--shift-by", "9"), 4, "11 is past the end"),
    ],
)
def test_places_outside_a_partition_stand_for_its_ends(
    lines: Lines, down: str, aim: tuple[str, ...], to: int, note: str
) -> None:
    (row,) = planned(lines, down, "--all-topics", *aim, "--execute")
    assert (row["to"], row["note"]) == (to, note)
    assert list(committed(lines, down).values()) == [to]


def test_a_partition_without_an_offset_is_not_shifted(lines: Lines, orders: str, down: str) -> None:
    rows = planned(lines, down, "--topic", orders, "--shift-by", "1", "--execute")
    assert [(each["to"], each["note"]) for each in rows] == [
        (3, None),
        (None, "nothing was committed to shift from"),
    ]
    assert committed(lines, down) == {(orders, 0): 3}


def test_several_topics_are_moved_at_once(
    lines: Lines, broker: BrokerProcess, orders: str, down: str
) -> None:
    lines("topic", "create", f"{orders}-more")
    lines("produce", f"{orders}-more", "a")
    commit(broker, down, f"{orders}-more", 0)
    planned(lines, down, "--all-topics", "--to-latest", "--execute")
    assert committed(lines, down) == {(orders, 0): 4, (f"{orders}-more", 0): 1}
    some = ("--topic", f"{orders}:1", "--topic", f"{orders}-more")
    planned(lines, down, *some, "--to-earliest", "--execute")
    assert committed(lines, down) == {(orders, 0): 4, (orders, 1): 1, (f"{orders}-more", 0): 0}


def test_a_moved_group_goes_on_from_there(
    lines: Lines, broker: BrokerProcess, orders: str, down: str
) -> None:
    lines("group", "reset", down, "--topic", orders, "--to-offset", "3", "--execute")
    assert consumed(broker, down, orders, count=2) == [b"3", b"3"]


def test_a_new_group_can_be_given_a_place(
    penstock: Penstock, lines: Lines, orders: str, group: str
) -> None:
    arguments = ("group", "reset", group, "--topic", orders, "--to-latest")
    result = penstock(*arguments)
    assert result.exit_code == 0
    assert f"there is no group {group} yet, and this would make it" in result.stderr
    assert penstock("group", "describe", group).exit_code == 1
    lines(*arguments, "--execute")
    assert committed(lines, group) == {(orders, 0): 4, (orders, 1): 4}


def test_a_new_group_has_no_topics_of_its_own(penstock: Penstock, group: str) -> None:
    result = penstock("group", "reset", group, "--all-topics", "--to-latest")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "has committed no offsets; say with --topic where it is to begin" in result.stderr


@both_protocols
@pytest.mark.parametrize("execute", [(), ("--execute",)])
def test_a_running_group_is_not_moved(
    penstock: Penstock,
    lines: Lines,
    broker: BrokerProcess,
    orders: str,
    down: str,
    execute: tuple[str, ...],
    protocol: str,
) -> None:
    with running(broker, down, orders, group_protocol=protocol) as member:
        result = penstock("group", "reset", down, "--topic", orders, "--to-latest", *execute)
        who = f"it has 1 member ({member.memberid()} at 127.0.0.1); stop all its members first"
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr == f"Error: group {down} is running: {who}\n"
        assert committed(lines, down)[orders, 0] == 2


@both_protocols
def test_a_group_whose_members_come_in_meanwhile_is_not_moved(
    penstock: Penstock,
    lines: Lines,
    broker: BrokerProcess,
    orders: str,
    down: str,
    monkeypatch: pytest.MonkeyPatch,
    protocol: str,
) -> None:
    """The first look sees none; the broker does."""
    looks: list[str] = []
    look = group_reset._kind_if_down

    def look_too_early(client: WireClient, group: str) -> str | None:
        looks.append(group)
        return protocol if len(looks) == 1 else look(client, group)

    monkeypatch.setattr(group_reset, "_kind_if_down", look_too_early)
    with running(broker, down, orders, group_protocol=protocol):
        result = penstock("group", "reset", down, "--topic", orders, "--to-latest", "--execute")
        assert result.exit_code == 1
        assert f"group {down} is running: it has 1 member" in result.stderr
        assert committed(lines, down)[orders, 0] == 2


@pytest.mark.parametrize(
    ("place", "said"),
    [("{}:7", "has no partition 7, only 0 to 1"), ("{}-none", "there is no such topic")],
)
def test_a_place_that_is_not_there_is_refused(
    penstock: Penstock, orders: str, down: str, place: str, said: str
) -> None:
    result = penstock("group", "reset", down, "--topic", place.format(orders), "--to-latest")
    assert (result.exit_code, result.stdout) == (1, "")
    assert said in result.stderr
