"""Share groups, listed and looked at through a real broker, with librdkafka's share consumer."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import ShareConsumer
from tests.broker_process import BrokerProcess
from tests.cli.conftest import Penstock
from tests.cli.groups import WAIT_S, Lines

from penstock import Queue
from penstock.cli.group_shares import show_share_group
from penstock.client.group_members import Member
from penstock.client.groups import GroupDescription
from penstock.client.share_offsets import ShareStart


@pytest.fixture
def group(topic: str) -> str:
    return f"group-of-{topic}"


@pytest.fixture
def orders(lines: Lines, topic: str) -> str:
    lines("topic", "create", topic, "--partitions", "2")
    return topic


def described(lines: Lines, group: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lines("group", "describe", group, "--json")[0])
    return found


@contextmanager
def sharing(broker: BrokerProcess, group: str, topic: str) -> Iterator[Any]:
    settings = {"bootstrap.servers": broker.address, "group.id": group, "client.id": "worker"}
    with ShareConsumer(settings) as member:
        member.subscribe([topic])
        yield member


def wait_for_members(lines: Lines, penstock: Penstock, group: str, count: int) -> dict[str, Any]:
    """Until each of so many has a partition. They poll for themselves, in threads of the client."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        if penstock("group", "describe", group).exit_code == 0:
            found = described(lines, group)
            holders = {each["id"] for part in found["partitions"] for each in part["members"]}
            if len(holders) == count:
                return found
        time.sleep(0.05)
    raise AssertionError(f"not all members of {group} have a partition")


def test_a_running_share_group_is_shown_with_its_members(
    lines: Lines, penstock: Penstock, broker: BrokerProcess, orders: str, group: str
) -> None:
    with sharing(broker, group, orders), sharing(broker, group, orders):
        found = wait_for_members(lines, penstock, group, 2)
        assert (found["type"], found["state"], found["members"]) == ("share", "Stable", 2)
        assert [(part["topic"], part["partition"]) for part in found["partitions"]] == [
            (orders, 0),
            (orders, 1),
        ]
        rows = json.loads(lines("group", "list", "--type", "share", "--json")[0])
        (row,) = [each for each in rows if each["group"] == group]
        assert (row["type"], row["state"], row["members"]) == ("share", "Stable", 2)
        _, head, *shown = lines("group", "members", group)
        assert head.split()[-1] == "EPOCH"
        assert len(shown) == 2
        result = penstock("group", "delete", group, "--yes")
        assert result.exit_code == 1
        assert "it has 2 members" in result.stderr
    result = penstock("group", "describe", group)
    assert "type share  state Empty" in result.stdout
    assert "it has no members" in result.stderr
    lag = json.loads(lines("group", "describe", group, "--json")[0])
    assert [part["partition"] for part in lag["partitions"]] == [0, 1]
    assert not any(part["members"] for part in lag["partitions"])


def test_a_share_group_is_deleted_and_its_name_is_free(
    lines: Lines, penstock: Penstock, broker: BrokerProcess, orders: str, group: str
) -> None:
    with sharing(broker, group, orders):
        wait_for_members(lines, penstock, group, 1)
    assert lines("group", "delete", group, "--yes") == [f"deleted group {group}"]
    result = penstock("group", "describe", group)
    assert result.exit_code == 1
    assert "there is no such group" in result.stderr or "try again" in result.stderr
    with sharing(broker, group, orders):
        wait_for_members(lines, penstock, group, 1)


def test_a_share_group_has_no_offsets_to_be_deleted(
    lines: Lines, penstock: Penstock, broker: BrokerProcess, orders: str, group: str
) -> None:
    with sharing(broker, group, orders):
        wait_for_members(lines, penstock, group, 1)
    result = penstock("group", "delete", group, "--yes", "--topic", orders)
    assert result.exit_code == 1
    assert "is a share group" in result.stderr


def test_a_share_group_that_is_down_is_moved(
    lines: Lines, penstock: Penstock, broker: BrokerProcess, orders: str, group: str
) -> None:
    Queue.ensure(broker.address, orders, group=group)
    with Queue(broker.address, orders, group=group) as queue:
        for number in range(4):
            queue.put(str(number), key="k")
        for job in [queue.get(timeout=60) for _ in range(4)]:
            job.ack()
        result = penstock("group", "reset", group, "--all-topics", "--shift-by", "-1", "--execute")
        assert result.exit_code == 1
        assert "is running" in result.stderr
    shown = penstock("group", "reset", group, "--all-topics", "--shift-by", "-2", "--execute")
    assert f"moved group {group}" in shown.stdout, shown.output
    with Queue(broker.address, orders, group=group) as queue:
        assert [queue.get(timeout=60).value for _ in range(2)] == ["2", "3"]


def test_where_a_share_group_begins_can_be_set_before_it_is_there(lines: Lines, group: str) -> None:
    name = "share.auto.offset.reset"
    said = lines("group", "config", group, "--set", f"{name}=earliest")
    assert said == [f"changed group {group}: {name}=earliest"]
    configs = json.loads(lines("group", "config", group, "--json")[0])["configs"]
    assert configs[name] == {"value": "earliest", "source": "group"}


def test_a_partition_that_several_have_is_shown_once_for_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    members = [
        Member(name, None, f"c{name}", "127.0.0.1", {"orders": [0]}, epoch=3)
        for name in ("m1", "m2")
    ]
    described = GroupDescription("jobs", "share", "Stable", 1, "simple", members)
    starts = {("orders", 0): ShareStart(7, 2), ("orders", 1): ShareStart(None, None)}
    show_share_group(described, starts, as_json=False)
    _, _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split() for row in rows] == [
        ["orders", "0", "7", "2", "m1", "cm1", "127.0.0.1"],
        ["orders", "0", "7", "2", "m2", "cm2", "127.0.0.1"],
        ["orders", "1", "-", "-", "-", "-", "-"],
    ]


def test_members_without_partitions_are_said_to_have_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    members = [Member("m1", None, "c", "127.0.0.1", {})]
    show_share_group(
        GroupDescription("jobs", "share", "Stable", 1, "simple", members), {}, as_json=False
    )
    assert "none of its members has a partition yet" in capsys.readouterr().err
