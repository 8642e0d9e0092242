"""Records in and out again through a real broker."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.cli.conftest import Penstock

from penstock.client.partitioning import partition_for_key

Lines = Callable[..., list[str]]


def records(lines: Lines, topic: str, *options: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines("consume", topic, "--json", *options)]


def test_arguments_become_records(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic)
    said = lines("produce", topic, "a", "b")
    assert said[0].startswith(f"sent 2 records to {topic} (1 partition), ")
    assert lines("consume", topic) == ["a", "b"]


def test_lines_of_standard_input_become_records(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic)
    lines("produce", topic, stdin="one\ntwo\r\n\nlast")
    assert lines("consume", topic) == ["one", "two", "", "last"]


def test_lines_of_a_file_become_records(lines: Lines, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo\n")
    lines("topic", "create", topic)
    lines("produce", topic, "--file", str(path))
    assert lines("consume", topic) == ["one", "two"]


def test_a_file_that_is_not_there_is_named(penstock: Penstock, topic: str) -> None:
    result = penstock("produce", topic, "--file", "/nowhere")
    assert (result.exit_code, result.stderr) == (
        1,
        "Error: cannot read /nowhere: No such file or directory\n",
    )


def test_a_topic_that_is_not_there_is_made_by_producing(lines: Lines, topic: str) -> None:
    lines("produce", topic, "a")
    assert lines("consume", topic) == ["a"]


def test_a_topic_that_is_not_there_is_not_made_by_consuming(penstock: Penstock, topic: str) -> None:
    assert penstock("consume", topic).exit_code == 1
    assert penstock("consume", topic).exit_code == 1


def test_keys_decide_the_partition(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic, "--partitions", "5")
    lines("produce", topic, "--key-separator", ":", stdin="k1:a\nk2:b:c\n")
    found = {each["key"]: (each["value"], each["partition"]) for each in records(lines, topic)}
    assert found == {
        "k1": ("a", partition_for_key(b"k1", 5)),
        "k2": ("b:c", partition_for_key(b"k2", 5)),
    }


def test_a_line_without_its_separator_is_told_by_number(penstock: Penstock, topic: str) -> None:
    result = penstock("produce", topic, "--key-separator", ":", stdin="k:a\nb\n")
    assert result.exit_code == 1
    assert "line 2 has no ':' after a key; before it, 1 record went out" in result.stderr
    assert penstock("consume", topic).stdout == "a\n"


def test_json_shows_all_that_a_record_has(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic)
    lines("produce", topic, "v", "--key", "k", "--header", "a=1", "--header", "b=2")
    (found,) = records(lines, topic)
    assert abs(found.pop("timestamp") - time.time_ns() // 1_000_000) < 600_000
    assert found.pop("crc") > 0
    assert found.pop("batch_size") > 61
    assert found == {
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "key": "k",
        "value": "v",
        "headers": [{"key": "a", "value": "1"}, {"key": "b", "value": "2"}],
        "size": 6,
    }


def test_a_copy_may_have_fewer_partitions_or_keep_them(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic, "--partitions", "3")
    for number in range(3):
        lines("produce", topic, f"v{number}", "--key", f"k{number}", "--partition", str(number))
    told = "\n".join(lines("consume", topic, "--json"))
    lines("produce", f"{topic}-copy", "--json", stdin=told)
    assert {each["key"]: each["partition"] for each in records(lines, f"{topic}-copy")} == {
        f"k{number}": 0 for number in range(3)
    }
    lines("topic", "create", f"{topic}-same", "--partitions", "3")
    lines("produce", f"{topic}-same", "--json", "--keep-partitions", stdin=told)
    assert {each["key"]: each["partition"] for each in records(lines, f"{topic}-same")} == {
        f"k{number}": number for number in range(3)
    }


def test_json_lines_say_everything_about_a_record(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic, "--partitions", "3")
    given = {"key": None, "value": {"x": 1}, "headers": {"h": None}, "partition": 2}
    stamp_ms = time.time_ns() // 1_000_000 - 5000
    said = lines("produce", topic, "--json", stdin=json.dumps({**given, "timestamp": stamp_ms}))
    assert json.loads(said[0])["last_offsets"] == {"2": 0}
    (found,) = records(lines, topic)
    assert (found["key"], found["value"], found["partition"]) == (None, '{"x":1}', 2)
    assert (found["timestamp"], found["headers"]) == (stamp_ms, [{"key": "h", "value": None}])


def test_what_was_consumed_as_json_can_be_produced_again(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic)
    lines("produce", topic, "--header", "h=1", stdin=b"text\n\xff\xfe\n")
    first = lines("consume", topic, "--json")
    assert "value_base64" in first[1]
    lines("produce", f"{topic}-copy", "--json", stdin="\n".join(first))
    again = records(lines, f"{topic}-copy")
    kept = ("value", "value_base64", "key", "headers", "timestamp")
    assert [[each.get(name) for name in kept] for each in again] == [
        [json.loads(line).get(name) for name in kept] for line in first
    ]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_gives_back_what_was_put_in(lines: Lines, topic: str, codec: str) -> None:
    lines("topic", "create", topic)
    lines("produce", topic, "--compression", codec, stdin="a\n" * 1000)
    assert lines("consume", topic) == ["a"] * 1000


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_records_arrive_whatever_is_waited_for(lines: Lines, topic: str, acks: str) -> None:
    lines("topic", "create", topic)
    lines("produce", topic, "--acks", acks, "a")
    assert lines("consume", topic, "--follow", "--count", "1") == ["a"]


def test_a_topic_with_small_batches_still_takes_many_records(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic, "--set", "max.message.bytes=1000")
    values = [f"{number:050}" for number in range(100)]
    lines("produce", topic, stdin="\n".join(values))
    assert lines("consume", topic) == values


def test_reading_begins_where_it_is_told_to(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic)
    start_ms = time.time_ns() // 1_000_000 - 60_000
    given = [json.dumps({"value": str(n), "timestamp": start_ms + n * 1000}) for n in range(4)]
    lines("produce", topic, "--json", stdin="\n".join(given))
    assert lines("consume", topic, "--from", "beginning") == ["0", "1", "2", "3"]
    assert lines("consume", topic, "--from", "2") == ["2", "3"]
    assert lines("consume", topic, "--from", str(start_ms + 1500)) == ["2", "3"]
    assert lines("consume", topic, "--from", str(start_ms + 99_000)) == []
    assert lines("consume", topic, "--from", "2001-09-10T00:00:00Z", "--count", "1") == ["0"]
    assert lines("consume", topic, "--from", "end") == []


def test_an_offset_past_the_end_is_refused(penstock: Penstock, topic: str) -> None:
    penstock("topic", "create", topic)
    result = penstock("consume", topic, "--from", "7")
    assert (result.exit_code, result.stderr) == (1, "Error: offset 7 is past the end, 0\n")


def test_only_the_partitions_asked_for_are_read(
    penstock: Penstock, lines: Lines, topic: str
) -> None:
    lines("topic", "create", topic, "--partitions", "2")
    lines("produce", topic, "a", "--partition", "0")
    lines("produce", topic, "b", "--partition", "1")
    assert lines("consume", topic, "--partition", "1") == ["b"]
    assert "only 0 to 1" in penstock("consume", topic, "--partition", "2").stderr


def test_a_template_chooses_what_is_shown(lines: Lines, topic: str) -> None:
    lines("topic", "create", topic)
    lines("produce", topic, "v", "--key", "k", "--header", "h=1")
    template = "{topic}/{partition}/{offset}\\t{key}={value} {{{headers}}} {size}"
    assert lines("consume", topic, "--format", template) == [f"{topic}/0/0\tk=v {{h=1}} 4"]


def start(broker: BrokerProcess, *arguments: str, **pipes: Any) -> subprocess.Popen[bytes]:
    """As in a terminal: a job in the background ignores SIGINT, and hands that down."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "penstock", *arguments, "--bootstrap", broker.address],
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **pipes,
        )
    finally:
        signal.signal(signal.SIGINT, before)


def test_following_shows_what_comes_and_stops_cleanly(
    broker: BrokerProcess, lines: Lines, topic: str
) -> None:
    lines("topic", "create", topic)
    lines("produce", topic, "before")
    with start(broker, "consume", topic, "--follow") as reading:
        assert reading.stdout is not None
        assert reading.stdout.readline() == b"before\n"
        lines("produce", topic, "after")
        assert reading.stdout.readline() == b"after\n"
        reading.send_signal(signal.SIGINT)
        rest, errors = reading.communicate(timeout=30)
    assert (reading.returncode, rest, errors) == (0, b"", b"")


def test_reading_stops_cleanly_when_nobody_listens_any_more(
    broker: BrokerProcess, lines: Lines, topic: str
) -> None:
    lines("topic", "create", topic)
    lines("produce", topic, stdin="a long line of text\n" * 20_000)
    with start(broker, "consume", topic) as reading:
        assert reading.stdout is not None
        assert reading.stderr is not None
        reading.stdout.readline()
        reading.stdout.close()
        errors = reading.stderr.read()
    assert (reading.returncode, errors) == (0, b"")


def test_a_line_is_sent_as_soon_as_no_other_follows(
    broker: BrokerProcess, lines: Lines, topic: str
) -> None:
    lines("topic", "create", topic)
    with start(broker, "produce", topic, stdin=subprocess.PIPE) as writing:
        assert writing.stdin is not None
        writing.stdin.write(b"now\n")
        writing.stdin.flush()
        assert lines("consume", topic, "--follow", "--count", "1") == ["now"]
        said, errors = writing.communicate(timeout=30)
    assert (writing.returncode, errors) == (0, b"")
    assert said.startswith(b"sent 1 record ")


def test_producing_that_is_interrupted_says_how_far_it_came(
    broker: BrokerProcess, lines: Lines, topic: str
) -> None:
    lines("topic", "create", topic)
    with start(broker, "produce", topic, stdin=subprocess.PIPE) as writing:
        assert writing.stdin is not None
        writing.stdin.write(b"now\n")
        writing.stdin.flush()
        assert lines("consume", topic, "--follow", "--count", "1") == ["now"]
        writing.send_signal(signal.SIGINT)
        writing.wait(timeout=30)
        said, errors = writing.communicate(timeout=30)
    # Interrupted between the record's arrival and its acknowledgement, it does not claim it.
    assert (writing.returncode, said) == (1, b"")
    assert re.fullmatch(rb"Error: stopped with (0 records|1 record) acknowledged\n", errors)
