"""Groups listed and looked at, up and down, through a real broker."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from click.shell_completion import ShellComplete
from confluent_kafka import TopicPartition
from tests.broker_process import BrokerProcess
from tests.cli.conftest import Penstock, run
from tests.cli.groups import WAIT_S, Lines, commit, committed, described, running

from penstock.cli.main import main


@pytest.fixture
def group(topic: str) -> str:
    return f"group-of-{topic}"


@pytest.fixture
def orders(lines: Lines, topic: str) -> str:
    """A topic of two partitions with three records in each."""
    lines("topic", "create", topic, "--partitions", "2")
    for partition in ("0", "1"):
        lines("produce", topic, "--partition", partition, "a", "b", "c")
    return topic


def listed(lines: Lines, *options: str) -> dict[str, dict[str, object]]:
    rows = json.loads(lines("group", "list", *options, "--json")[0])
    return {row["group"]: row for row in rows}


# list


def test_groups_are_listed(lines: Lines, broker: BrokerProcess, orders: str, group: str) -> None:
    commit(broker, group, orders, 1)
    row = {"group": group, "type": "classic", "state": "Empty", "members": 0, "coordinator": 1}
    assert listed(lines)[group] == row
    head, *rows = lines("group", "list")
    assert head.split() == ["GROUP", "TYPE", "STATE", "MEMBERS", "COORDINATOR"]
    assert [group, "classic", "Empty", "0", "1"] in [each.split() for each in rows]


def test_groups_are_chosen_by_state_and_type(
    lines: Lines, broker: BrokerProcess, orders: str, group: str
) -> None:
    commit(broker, f"{group}-down", orders, 1)
    with running(broker, group, orders):
        stable = listed(lines, "--state", "stable")
        assert stable[group]["members"] == 1
        assert f"{group}-down" not in stable
        assert {group, f"{group}-down"} <= listed(lines, "--type", "classic").keys()
        assert group not in listed(lines, "--type", "consumer")


def test_where_there_are_no_such_groups_it_is_said(penstock: Penstock) -> None:
    result = penstock("group", "list", "--state", "assigning")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "there are no such groups" in result.stderr


@pytest.mark.parametrize(
    ("option", "possible"), [("--state", "CompletingRebalance"), ("--type", "consumer")]
)
def test_what_no_group_can_be_is_a_wrong_use(offline: Penstock, option: str, possible: str) -> None:
    result = offline("group", "list", option, "bogus")
    assert result.exit_code == 2
    assert "bogus" in result.stderr
    assert possible.lower() in result.stderr.lower()


def test_names_of_groups_complete_themselves(
    broker: BrokerProcess, orders: str, group: str
) -> None:
    commit(broker, group, orders, 1)
    shell = ShellComplete(main, {}, "penstock", "_PENSTOCK_COMPLETE")
    found = shell.get_completions(["group", "describe", "--bootstrap", broker.address], group[:-1])
    assert group in [each.value for each in found]


# describe


def test_a_group_that_is_down_is_described_with_its_lag(
    lines: Lines, broker: BrokerProcess, orders: str, group: str
) -> None:
    commit(broker, group, orders, 1, 3)
    found = described(lines, group)
    behind, done = found.pop("partitions")
    assert behind["lag_ms"] == found.pop("lag_ms") > 0
    assert found == {
        "group": group,
        "type": "classic",
        "state": "Empty",
        "assignor": None,
        "coordinator": 1,
        "members": 0,
        "lag": 2,
        "lag_unknown": 0,
        "lag_ms_unknown": 0,
    }
    del behind["lag_ms"]
    place = {"topic": orders, "metadata": "", "member": None, "end": 3, "past_end": False}
    assert behind == {**place, "partition": 0, "committed": 1, "lag": 2}
    assert done == {**place, "partition": 1, "committed": 3, "lag": 0, "lag_ms": 0}


def test_a_running_group_is_described_with_its_members(
    lines: Lines, broker: BrokerProcess, orders: str, group: str
) -> None:
    commit(broker, group, orders, 2)
    with running(broker, group, orders) as member:
        found = described(lines, group)
        owner = {"id": member.memberid(), "client_id": "worker", "host": "127.0.0.1"}
    assert (found["state"], found["assignor"], found["members"]) == ("Stable", "range", 1)
    at_two, nowhere = found["partitions"]
    assert (at_two["committed"], at_two["lag"], at_two["member"]) == (2, 1, owner)
    assert (nowhere["committed"], nowhere["lag"], nowhere["lag_ms"]) == (None, None, None)
    assert (nowhere["end"], nowhere["member"]) == (3, owner)


def test_a_description_for_eyes_is_a_table_and_a_total(
    lines: Lines, broker: BrokerProcess, orders: str, group: str
) -> None:
    commit(broker, group, orders, 3, 3)
    title, head, *rows, total = lines("group", "describe", group)
    assert title.startswith(f"group {group}  type classic  state Empty  assignor -  coordinator 1")
    assert head.split()[:6] == ["TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "WAITING"]
    assert [row.split()[:7] for row in rows] == [
        [orders, index, "3", "3", "0", "0", "ms"] for index in ("0", "1")
    ]
    assert total == "total lag 0 messages, the longest wait 0 ms"


def test_an_offset_past_the_end_is_told_from_one_at_the_end(
    lines: Lines, broker: BrokerProcess, orders: str, group: str
) -> None:
    commit(broker, group, orders, 99, 3)
    _, _, past, at_the_end, total = lines("group", "describe", group)
    assert past.split()[:7] == [orders, "0", "99", "3", "past", "the", "end"]
    assert at_the_end.split()[:5] == [orders, "1", "3", "3", "0"]
    assert total.endswith("; 1 partition past the end")


def test_partitions_of_which_no_lag_is_known_are_counted(
    lines: Lines, broker: BrokerProcess, orders: str, group: str
) -> None:
    with running(broker, group, orders):
        total = lines("group", "describe", group)[-1]
    assert total == "total lag -; 2 partitions without a known lag"


def test_what_was_truncated_is_no_lag(
    lines: Lines, broker: BrokerProcess, orders: str, group: str
) -> None:
    commit(broker, group, orders, 0)
    lines("topic", "truncate", orders, "--before", "2", "--yes")
    (row,) = described(lines, group)["partitions"]
    assert (row["committed"], row["end"], row["lag"]) == (0, 3, 1)


def test_what_retention_has_removed_is_no_lag(
    own_broker: Callable[..., BrokerProcess], topic: str, group: str
) -> None:
    broker = own_broker("--set", "log.retention.check.interval.ms=50").start()

    def lines(*arguments: str) -> list[str]:
        return run(broker.address, *arguments).stdout.splitlines()

    lines("topic", "create", topic, "--set", "segment.bytes=1024")
    lines("produce", topic, "a" * 900)
    lines("produce", topic, "b" * 900)
    commit(broker, group, topic, 0)
    assert described(lines, group)["lag"] == 2
    lines("topic", "alter", topic, "--set", "retention.bytes=900")
    until = time.monotonic() + WAIT_S
    while described(lines, group)["lag"] == 2 and time.monotonic() < until:
        time.sleep(0.05)
    (row,) = described(lines, group)["partitions"]
    assert (row["committed"], row["end"], row["lag"]) == (0, 2, 1)


def test_an_empty_topic_has_no_lag(
    lines: Lines, broker: BrokerProcess, topic: str, group: str
) -> None:
    lines("topic", "create", topic)
    commit(broker, group, topic, 0)
    (row,) = described(lines, group)["partitions"]
    assert (row["committed"], row["end"], row["lag"], row["lag_ms"]) == (0, 0, 0, 0)


def test_a_deleted_topic_is_not_described(
    lines: Lines, broker: BrokerProcess, orders: str, group: str
) -> None:
    lines("topic", "create", f"{orders}-other")
    commit(broker, group, orders, 1)
    commit(broker, group, f"{orders}-other", 0)
    lines("topic", "delete", orders, "--yes")
    assert committed(lines, group) == {(f"{orders}-other", 0): 0}


@pytest.mark.parametrize("verb", ["describe", "members"])
def test_a_group_that_is_not_there_is_said_so(penstock: Penstock, verb: str, group: str) -> None:
    result = penstock("group", verb, group)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        f"Error: group {group}: there is no such group; `penstock group list` shows what there is\n"
    )


def test_a_group_without_a_name_is_refused(penstock: Penstock) -> None:
    result = penstock("group", "describe", "")
    assert result.exit_code == 1
    assert "a group has a name" in result.stderr


# members


def test_members_are_shown_with_their_partitions(
    lines: Lines, broker: BrokerProcess, orders: str, group: str
) -> None:
    with running(broker, group, orders, group_instance_id="one") as member:
        name = member.memberid()
        (row,) = json.loads(lines("group", "members", group, "--json")[0])["members"]
        head, shown = lines("group", "members", group)
    assert row == {
        "id": name,
        "instance_id": "one",
        "client_id": "worker",
        "host": "127.0.0.1",
        "topics": [orders],
        "regex": None,
        "assignment": {orders: [0, 1]},
        "epoch": None,
        "target": None,
    }
    assert head.split() == ["MEMBER", "INSTANCE", "CLIENT", "HOST", "PARTITIONS", "ASSIGNMENT"]
    assert shown.split() == [name, "one", "worker", "127.0.0.1", "2", f"{orders}:0,1"]


def test_members_of_the_new_protocol_are_shown_with_their_epochs(
    lines: Lines, broker: BrokerProcess, orders: str, group: str
) -> None:
    with running(broker, group, orders, group_protocol="consumer") as member:
        name = member.memberid()
        found = json.loads(lines("group", "members", group, "--json")[0])
        epochs, head, shown = lines("group", "members", group)
        (row,) = found["members"]
    assert (found["type"], row["id"], row["topics"]) == ("consumer", name, [orders])
    assert row["assignment"] == row["target"] == {orders: [0, 1]}
    assert row["epoch"] == found["epoch"] == found["assignment_epoch"]
    assert epochs == f"group epoch {row['epoch']}  assignment epoch {row['epoch']}"
    assert head.split()[-2:] == ["EPOCH", "TARGET"]
    assert shown.split()[-3:] == [f"{orders}:0,1", str(row["epoch"]), f"{orders}:0,1"]


def test_a_group_of_the_new_protocol_is_described_with_its_lag(
    lines: Lines, broker: BrokerProcess, orders: str, group: str
) -> None:
    with running(broker, group, orders, group_protocol="consumer") as member:
        member.commit(offsets=[TopicPartition(orders, 0, 1)], asynchronous=False)
        assert listed(lines, "--type", "consumer")[group]["members"] == 1
        running_lag = described(lines, group)["lag"]
    found = described(lines, group)
    assert (found["type"], found["state"], found["assignor"]) == ("consumer", "Empty", "uniform")
    assert found["lag"] == running_lag == 2


def test_a_group_that_is_down_has_no_members(
    penstock: Penstock, broker: BrokerProcess, orders: str, group: str
) -> None:
    commit(broker, group, orders, 1)
    result = penstock("group", "members", group)
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"group {group} has no members; its state is Empty" in result.stderr


# config


def test_settings_of_a_group_are_shown_set_and_taken_back(lines: Lines, group: str) -> None:
    name = "consumer.session.timeout.ms"

    def shown() -> dict[str, str]:
        found: dict[str, dict[str, str]] = json.loads(lines("group", "config", group, "--json")[0])[
            "configs"
        ]
        return found[name]

    default = shown()
    assert default["source"] == "default"
    said = lines("group", "config", group, "--set", f"{name}=50000")
    assert said == [f"changed group {group}: {name}=50000"]
    assert shown() == {"value": "50000", "source": "group"}
    assert [name, "50000", "group"] in [each.split() for each in lines("group", "config", group)]
    said = lines("group", "config", group, "--unset", name, "--json")
    assert json.loads(said[0]) == {"group": group, "set": {}, "unset": [name]}
    assert shown() == default


def test_a_setting_that_no_group_has_is_refused(penstock: Penstock, group: str) -> None:
    result = penstock("group", "config", group, "--set", "consumer.session.timeout=1")
    assert result.exit_code == 1
    assert "did you mean consumer.session.timeout.ms?" in result.stderr
