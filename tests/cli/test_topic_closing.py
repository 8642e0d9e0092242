"""A topic that is to have fewer partitions, through a real broker and for eyes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.cli.conftest import Penstock

from penstock import Queue
from penstock.cli.topic_closing import closing_lines
from penstock.client.closing import State

Lines = Callable[..., list[str]]


def closing(lines: Lines, topic: str) -> Any:
    return json.loads("".join(lines("topic", "describe", topic, "--json")))["closing"]


def test_fewer_partitions_are_begun_with_and_cancelled_with_as_many_as_there_are(
    lines: Lines, topic: str
) -> None:
    lines("topic", "create", topic, "--partitions", "4")
    (said,) = lines("topic", "alter", topic, "--partitions", "3", "--max-pause", "2s")
    assert said.startswith(f"altered topic {topic}: 3 partitions of 4 will stay")
    told = closing(lines, topic)
    assert (told["open_partitions"], told["when"], told["groups"]) == (3, "retention", {})
    assert told["due_ms"] - told["since_ms"] == 1_209_600_000
    assert "partition 3 goes at 2" in " ".join(lines("topic", "describe", topic))
    (said,) = lines("topic", "alter", topic, "--partitions", "4")
    assert said == f"altered topic {topic}: all of 4 partitions stay"
    assert closing(lines, topic) is None


def test_our_own_producer_writes_to_open_partitions_only(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic, "--partitions", "4")
    lines("topic", "alter", topic, "--partitions", "1")
    text = "".join(f"key {number}:x\n" for number in range(20))
    lines("produce", topic, "--key-separator", ":", stdin=text)
    rows = json.loads("".join(lines("topic", "describe", topic, "--json")))["partitions"]
    assert [row["end"] for row in rows] == [20, 0, 0, 0]


def test_what_goes_with_fewer_partitions_only_is_refused_elsewhere(
    penstock: Penstock, lines: Lines, topic: str
) -> None:
    lines("topic", "create", topic, "--partitions", "2")
    for rest in (["--set", "flush.ms=5"], ["--partitions", "4"]):
        refused = penstock("topic", "alter", topic, "--when", "drained", *rest)
        assert refused.exit_code == 2
        assert "--when and --max-pause" in refused.output


@pytest.mark.parametrize(
    "words",
    [
        ["--partitions", "1", "--set", "partitions.open=2"],
        ["--partitions", "1", "--when", "drained", "--set", "partitions.close.when=retention"],
        ["--partitions", "1", "--max-pause", "2s", "--set", "partitions.close.max.pause.ms=9000"],
    ],
)
def test_options_and_settings_that_contradict_each_other_change_nothing(
    penstock: Penstock, lines: Lines, topic: str, words: list[str]
) -> None:
    lines("topic", "create", topic, "--partitions", "3")
    refused = penstock("topic", "alter", topic, "--set", "flush.ms=5", *words)
    assert refused.exit_code == 2
    assert "give one of them; nothing was changed" in " ".join(refused.output.split())
    assert closing(lines, topic) is None
    assert "flush.ms" not in "".join(lines("topic", "describe", topic))


def test_what_is_said_twice_may_be_the_same(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic, "--partitions", "3")
    lines("topic", "alter", topic, "--partitions", "1", "--set", "partitions.open=1")
    assert closing(lines, topic)["open_partitions"] == 1


def test_what_cannot_expire_is_refused_with_what_to_do(
    penstock: Penstock, lines: Lines, topic: str
) -> None:
    lines("topic", "create", topic, "--partitions", "2", "--set", "cleanup.policy=compact")
    refused = penstock("topic", "alter", topic, "--partitions", "1")
    assert refused.exit_code == 1
    assert "--when drained" in refused.output


def test_eyes_are_told_what_is_waited_for() -> None:
    state = State(2, 0, None, 5000, "group g has 3 messages to read", "drained", None)
    state.groups = {"g": 3}
    state.writers = {"app": 0}
    told = closing_lines(state, 6)
    assert told[:4] == [
        "closing: 2 of 6 partitions stay, since 1970-01-01T00:00:00.000Z",
        "  partitions 2 to 5 go once every group has read them",
        "  it was tried, and given up at 1970-01-01T00:00:05.000Z: group g has 3 messages to read",
        "  group g has 3 messages of them to read",
    ]
    assert told[4].startswith("  client app wrote to them ")


def test_eyes_are_told_where_all_partitions_have_to_be_read() -> None:
    state = State(3, 0, 1000, None, "", "drained", None, {"g": 1})
    assert closing_lines(state, 4)[1:] == [
        "  partition 3 goes once every group has read all partitions",
        "  writes to all partitions have been refused since 1970-01-01T00:00:01.000Z",
        "  group g has 1 message of all partitions to read",
    ]


def test_eyes_are_told_that_writes_are_refused() -> None:
    told = closing_lines(State(1, 0, 1000, None, "", "retention", 500), 2)
    assert told[1] == (
        "  partition 1 goes at 1970-01-01T00:00:00.500Z, when what is there now has expired"
    )
    assert told[2] == "  writes to them have been refused since 1970-01-01T00:00:01.000Z"


def test_a_share_group_that_is_behind_is_told_too(
    lines: Lines, broker: BrokerProcess, topic: str
) -> None:
    lines("topic", "create", topic, "--partitions", "2")
    with Queue(broker.address, topic) as queue:
        for number in range(20):
            queue.put(str(number), key=str(number))
        queue.get(timeout=60).ack()
    lines("topic", "alter", topic, "--partitions", "1")
    assert closing(lines, topic)["groups"][topic] > 0
