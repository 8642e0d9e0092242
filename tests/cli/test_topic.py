"""Topics made, looked at, changed, cut and deleted through a real broker."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from tests.broker_process import BrokerProcess
from tests.cli.conftest import Penstock

from penstock.cli.main import main

Lines = Callable[..., list[str]]


def described(lines: Lines, topic: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads("".join(lines("topic", "describe", topic, "--json")))
    return found


def test_a_topic_is_created_as_asked(lines: Lines, topic: str) -> None:
    said = lines("topic", "create", topic, "--partitions", "3", "--set", "retention.ms=1000")
    assert said == [f"created topic {topic}: 3 partitions, 1 replica each"]
    found = described(lines, topic)
    assert [each["partition"] for each in found["partitions"]] == [0, 1, 2]
    assert found["configs"] == {"retention.ms": {"value": "1000", "source": "topic"}}


def test_a_topic_without_numbers_has_the_brokers_defaults(lines: Lines, topic: str) -> None:
    said = lines("topic", "create", topic, "--json")
    assert json.loads(said[0]) == {"topic": topic, "partitions": 1, "replication_factor": 1}


def test_a_topic_that_is_there_is_not_created_again(penstock: Penstock, topic: str) -> None:
    penstock("topic", "create", topic)
    again = penstock("topic", "create", topic)
    assert again.exit_code == 1
    assert "already exists; choose another name" in again.stderr


def test_topics_are_listed(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic, "--partitions", "2")
    row = {"topic": topic, "partitions": 2, "replication_factor": 1}
    assert row in json.loads(lines("topic", "list", "--json")[0])
    head, *rows = lines("topic", "list")
    assert head.split() == ["TOPIC", "PARTITIONS", "REPLICAS"]
    assert [topic, "2", "1"] in [each.split() for each in rows]


def test_a_description_tells_where_partitions_begin_and_end(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic)
    lines("produce", topic, "a", "b")
    row = described(lines, topic)["partitions"][0]
    told = {name: row[name] for name in ("leader", "isr", "start", "high_watermark", "end")}
    assert told == {"leader": 1, "isr": [1], "start": 0, "high_watermark": 2, "end": 2}
    assert isinstance(row["size"], int)
    assert row["size"] > 0


def test_a_description_for_eyes_is_a_table(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic, "--set", "retention.bytes=5")
    title, head, row, config = lines("topic", "describe", topic)
    assert title.startswith(f"topic {topic}  id ")
    assert head.split() == [
        "PARTITION",
        "LEADER",
        "REPLICAS",
        "ISR",
        "START",
        "HIGH",
        "WATERMARK",
        "END",
        "SIZE",
    ]
    assert row.split() == ["0", "1", "1", "1", "0", "0", "0", "0", "B"]
    assert config == "retention.bytes=5  (set by topic)"


def test_settings_are_set_and_taken_back(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic, "--set", "retention.ms=1000")
    said = lines("topic", "alter", topic, "--set", "segment.bytes=2048", "--unset", "retention.ms")
    assert said == [f"altered topic {topic}: segment.bytes=2048, retention.ms unset"]
    assert described(lines, topic)["configs"] == {
        "segment.bytes": {"value": "2048", "source": "topic"}
    }


def test_partitions_are_added(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic)
    lines("topic", "alter", topic, "--partitions", "4")
    assert len(described(lines, topic)["partitions"]) == 4


def test_a_setting_that_does_not_exist_is_refused_with_a_hint(
    penstock: Penstock, topic: str
) -> None:
    penstock("topic", "create", topic)
    result = penstock("topic", "alter", topic, "--set", "retenton.ms=1")
    assert result.exit_code == 1
    assert "did you mean retention.ms?" in result.stderr


@pytest.mark.parametrize(
    "arguments", [("delete",), ("truncate", "--before", "1")], ids=["delete", "truncate"]
)
def test_nothing_is_lost_without_a_yes(
    penstock: Penstock, lines: Lines, topic: str, arguments: tuple[str, ...]
) -> None:
    lines("topic", "create", topic)
    lines("produce", topic, "a", "b")
    result = penstock("topic", arguments[0], topic, *arguments[1:])
    assert result.exit_code == 2
    assert "give --yes" in result.stderr
    assert lines("consume", topic) == ["a", "b"]


def test_a_deleted_topic_is_gone(penstock: Penstock, lines: Lines, topic: str) -> None:
    lines("topic", "create", topic)
    assert lines("topic", "delete", topic, "--yes") == [f"deleted topic {topic}"]
    result = penstock("topic", "describe", topic)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no such topic; `penstock topic list`" in result.stderr


def test_a_topic_is_cut_before_an_offset(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic)
    lines("produce", topic, "a", "b", "c")
    said = lines("topic", "truncate", topic, "--before", "2", "--yes", "--json")
    assert json.loads(said[0])["partitions"] == [{"partition": 0, "start": 2}]
    assert lines("consume", topic) == ["c"]


def test_only_the_partitions_asked_for_are_cut(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic, "--partitions", "2")
    for partition in ("0", "1"):
        lines("produce", topic, partition, "--partition", partition)
    lines("topic", "truncate", topic, "--before", "end", "--partition", "1", "--yes")
    assert lines("consume", topic) == ["0"]


def test_a_cut_past_the_end_spares_what_is_yet_to_come(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic)
    lines("produce", topic, "a")
    lines("topic", "truncate", topic, "--before", "100", "--yes")
    lines("produce", topic, "b")
    assert lines("consume", topic) == ["b"]


def test_a_cut_before_the_start_does_nothing(penstock: Penstock, topic: str) -> None:
    penstock("topic", "create", topic)
    result = penstock("topic", "truncate", topic, "--before", "0", "--yes")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "nothing was done" in result.stderr


def test_names_of_topics_complete_themselves(
    lines: Lines, broker: BrokerProcess, topic: str
) -> None:
    lines("topic", "create", f"{topic}-whole")
    shell = ShellComplete(main, {}, "penstock", "_PENSTOCK_COMPLETE")
    found = shell.get_completions(["consume", "--bootstrap", broker.address], f"{topic}-w")
    assert [each.value for each in found] == [f"{topic}-whole"]


def test_without_a_broker_nothing_is_completed() -> None:
    shell = ShellComplete(main, {}, "penstock", "_PENSTOCK_COMPLETE")
    assert not shell.get_completions(["consume", "--bootstrap", "127.0.0.1:1"], "t")


def test_a_topic_whose_retention_waits_shows_what_is_archived(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic, "--set", "retention.hold.for.archive=true")
    lines("produce", topic, "a", "b", "c")
    assert described(lines, topic)["partitions"][0]["archived"] == 0
    group = f"penstock-archive-{topic}"
    lines("group", "reset", group, "--topic", topic, "--to-offset", "1", "--execute")
    assert described(lines, topic)["partitions"][0]["archived"] == 1
    shown = lines("topic", "describe", topic)
    assert shown[1].split()[-1] == "ARCHIVED"
    waits = "retention waits for the archive: 2 messages not archived yet"
    assert any(each.startswith(waits) for each in shown)
    lines("group", "reset", group, "--topic", topic, "--to-latest", "--execute")
    assert not any("retention waits" in each for each in lines("topic", "describe", topic))
