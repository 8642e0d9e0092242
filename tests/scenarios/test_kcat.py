"""What users of kcat do with a broker: produce, consume, list, and ask for offsets."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from tests.broker_process import BrokerProcess
from tests.cli.conftest import run as penstock

WAIT_S = 30
QUICK = ("-X", "fetch.wait.max.ms=10")
"""So that a consumer soon knows that it is at the end."""
STEADY = ("-E", "-X", "reconnect.backoff.max.ms=100", "-X", "retry.backoff.ms=50")
"""It would end itself, as it is, when the only broker is away."""
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
RESTARTS = pytest.mark.parametrize("end", [BrokerProcess.stop, BrokerProcess.kill])


def ran(broker: BrokerProcess, *options: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["kcat", "-b", broker.address, *options],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )


def kcat(broker: BrokerProcess, *options: str, stdin: str = "") -> str:
    """What it printed; it must succeed."""
    done = ran(broker, *options, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


def produce(broker: BrokerProcess, topic: str, values: list[str]) -> None:
    """A record each, in one batch, in partition 0."""
    lines = "".join(f"{value}\n" for value in values)
    kcat(broker, "-P", "-t", topic, "-p", "0", "-X", "linger.ms=50", stdin=lines)


def consume(broker: BrokerProcess, topic: str, *options: str, form: str = "%s") -> list[str]:
    """Everything up to the end, a line a record."""
    return kcat(
        broker, "-C", "-t", topic, "-e", "-q", *QUICK, "-f", form + "\n", *options
    ).splitlines()


def objects(broker: BrokerProcess, topic: str, *options: str) -> list[dict[str, Any]]:
    printed = kcat(broker, "-C", "-t", topic, "-e", "-q", "-J", *QUICK, *options)
    return [json.loads(line) for line in printed.splitlines()]


def create(broker: BrokerProcess, topic: str, partitions: int = 1, **settings: str) -> None:
    named = [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
    options = [word for each in named for word in ("--set", each)]
    done = penstock(
        broker.address, "topic", "create", topic, "--partitions", str(partitions), *options
    )
    assert done.exit_code == 0, done.output


@contextmanager
def running(
    broker: BrokerProcess, *options: str, stdin: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A kcat that goes on until the test is done with it."""
    process = subprocess.Popen(
        ["kcat", "-b", broker.address, "-u", *options],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def lines_of(stream: IO[str] | None, count: int) -> list[str]:
    """The next lines; the test's timeout is the limit."""
    assert stream is not None
    return [stream.readline().rstrip("\n") for _ in range(count)]


def test_the_listing_shows_brokers_topics_and_partitions(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic, partitions=3)
    listing = json.loads(kcat(broker, "-L", "-J"))
    assert listing["controllerid"] == 1
    assert listing["brokers"] == [{"id": 1, "name": broker.address}]
    (found,) = [each for each in listing["topics"] if each["topic"] == topic]
    assert [(each["partition"], each["leader"]) for each in found["partitions"]] == [
        (0, 1),
        (1, 1),
        (2, 1),
    ]
    assert all(each["isrs"] == [{"id": 1}] for each in found["partitions"])


def test_keys_and_headers_come_back_as_they_went_in(broker: BrokerProcess, topic: str) -> None:
    headers = ("-H", "kind=first", "-H", "kind=second", "-H", "empty=")
    kcat(broker, "-P", "-t", topic, "-K", ":", *headers, stdin="k:v\nno key\n")
    first, second = objects(broker, topic)
    assert (first["key"], first["payload"]) == ("k", "v")
    assert (second["key"], second["payload"]) == (None, "no key")
    for each in (first, second):
        assert each["headers"] == ["kind", "first", "kind", "second", "empty", ""]


def test_nulls_and_empty_values_stay_apart(broker: BrokerProcess, topic: str) -> None:
    kcat(broker, "-P", "-t", topic, "-K", ":", stdin="empty:\n")
    kcat(broker, "-P", "-t", topic, "-K", ":", "-Z", stdin="tombstone:\n:keyless\n")
    found = [(each["key"], each["payload"]) for each in objects(broker, topic)]
    assert found == [("empty", ""), ("tombstone", None), (None, "keyless")]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acknowledgement_delivers(
    broker: BrokerProcess, topic: str, acks: str
) -> None:
    create(broker, topic)
    kcat(broker, "-P", "-t", topic, "-X", f"acks={acks}", stdin="a\nb\nc\n")
    # Without an acknowledgement nobody says when the records are there: wait for the last one.
    with running(broker, "-C", "-t", topic) as reading:
        assert lines_of(reading.stdout, 3) == ["a", "b", "c"]


def test_an_idempotent_producer_delivers(broker: BrokerProcess, topic: str) -> None:
    kcat(broker, "-P", "-t", topic, "-X", "enable.idempotence=true", stdin="a\nb\n")
    kcat(broker, "-P", "-t", topic, "-X", "enable.idempotence=true", stdin="c\n")
    assert consume(broker, topic) == ["a", "b", "c"]


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_is_read_back(broker: BrokerProcess, topic: str, codec: str) -> None:
    values = [f"value {number} " + "x" * 100 for number in range(100)]
    lines = "".join(f"{value}\n" for value in values)
    kcat(broker, "-P", "-t", topic, "-z", codec, "-X", "linger.ms=50", stdin=lines)
    assert consume(broker, topic, "-X", "check.crcs=true") == values


def test_partitions_are_written_and_read_one_by_one_and_together(
    broker: BrokerProcess, topic: str
) -> None:
    create(broker, topic, partitions=3)
    for partition in range(3):
        stdin = f"{partition}a\n{partition}b\n"
        kcat(broker, "-P", "-t", topic, "-p", str(partition), stdin=stdin)
    for partition in range(3):
        found = consume(broker, topic, "-p", str(partition), form="%p %o %s")
        assert found == [f"{partition} 0 {partition}a", f"{partition} 1 {partition}b"]
    assert sorted(consume(broker, topic)) == ["0a", "0b", "1a", "1b", "2a", "2b"]


def test_a_consumer_starts_where_it_is_told(broker: BrokerProcess, topic: str) -> None:
    produce(broker, topic, [f"{number}" for number in range(10)])
    every = [f"{number}" for number in range(10)]
    assert consume(broker, topic, "-o", "beginning") == every
    assert consume(broker, topic, "-o", "4") == every[4:], "the middle of the only batch"
    assert consume(broker, topic, "-o", "-3") == every[-3:]
    assert consume(broker, topic, "-o", "end") == []
    assert consume(broker, topic, "-o", "2", "-c", "3") == every[2:5]


def test_a_point_in_time_has_an_offset(broker: BrokerProcess, topic: str) -> None:
    produce(broker, topic, ["old"])
    (old_ms,) = (int(line) for line in consume(broker, topic, form="%T"))
    written = {"value": "late", "timestamp": old_ms + 60_000, "partition": 0}
    sent = penstock(broker.address, "produce", topic, "--json", stdin=json.dumps(written))
    assert sent.exit_code == 0, sent.output

    def asked(timestamp: int) -> str:
        return kcat(broker, "-Q", "-t", f"{topic}:0:{timestamp}").strip()

    assert asked(old_ms) == f"{topic} [0] offset 0"
    assert asked(old_ms + 1) == f"{topic} [0] offset 1"
    assert asked(old_ms + 60_000) == f"{topic} [0] offset 1"
    assert asked(old_ms + 60_001) == f"{topic} [0] offset -1", "nothing is so late"
    assert asked(-2) == f"{topic} [0] offset 0", "the start"
    assert asked(-1) == f"{topic} [0] offset 2", "the end"
    assert consume(broker, topic, "-o", f"s@{old_ms + 1}") == ["late"]
    assert consume(broker, topic, "-o", "s@0", "-o", f"e@{old_ms + 1}") == ["old"]


def test_whose_time_it_is_is_told(broker: BrokerProcess, topic: str) -> None:
    produce(broker, topic, ["a"])
    (by_producer,) = objects(broker, topic)
    assert by_producer["tstype"] == "create"
    create(broker, topic + "-log", message_timestamp_type="LogAppendTime")
    produce(broker, topic + "-log", ["a"])
    (by_broker,) = objects(broker, topic + "-log")
    assert by_broker["tstype"] == "logappend"
    assert by_broker["ts"] >= by_producer["ts"]


def test_the_largest_message_goes_through_and_a_larger_one_is_refused(
    broker: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    create(broker, topic, max_message_bytes="100000")
    fits, too_large = tmp_path / "fits", tmp_path / "too_large"
    fits.write_text("x" * 99_900)
    too_large.write_text("x" * 100_000)
    kcat(broker, "-P", "-t", topic, str(fits))
    refused = ran(broker, "-P", "-t", topic, str(too_large))
    assert refused.returncode == 1
    assert "Message size too large" in refused.stderr
    assert consume(broker, topic, form="%S") == ["99900"]


def test_a_topic_is_made_by_producing_and_not_by_consuming(
    broker: BrokerProcess, topic: str
) -> None:
    refused = ran(broker, "-C", "-t", topic, "-e")
    assert refused.returncode == 1
    assert "Unknown topic or partition" in refused.stderr
    kcat(broker, "-P", "-t", topic, stdin="a\n")
    assert consume(broker, topic) == ["a"]


def test_a_consumer_that_waits_gets_what_is_produced_later(
    broker: BrokerProcess, topic: str
) -> None:
    produce(broker, topic, ["before"])
    patient = ("-X", "fetch.wait.max.ms=250000", "-X", "socket.timeout.ms=300000")
    with running(broker, "-C", "-t", topic, *patient) as waiting:
        assert lines_of(waiting.stdout, 1) == ["before"]
        for value in ("one", "two", "three"):
            produce(broker, topic, [value])
            assert lines_of(waiting.stdout, 1) == [value]


def test_a_gone_offset_is_reset_as_the_consumer_wishes(broker: BrokerProcess, topic: str) -> None:
    produce(broker, topic, ["a", "b", "c"])
    done = penstock(broker.address, "topic", "truncate", topic, "--before", "2", "--yes")
    assert done.exit_code == 0, done.output
    assert consume(broker, topic, "-o", "beginning", form="%o") == ["2"]
    assert consume(broker, topic, "-o", "0", "-X", "auto.offset.reset=earliest") == ["c"]
    assert consume(broker, topic, "-o", "0", "-X", "auto.offset.reset=latest") == []
    failed = ran(broker, "-C", "-t", topic, "-e", "-o", "0", "-X", "auto.offset.reset=error")
    assert failed.returncode == 1
    assert "Offset out of range" in failed.stderr


def test_a_consumer_is_told_that_its_topic_was_deleted(broker: BrokerProcess, topic: str) -> None:
    produce(broker, topic, ["a"])
    with running(broker, "-C", "-t", topic) as reading:
        assert lines_of(reading.stdout, 1) == ["a"]
        done = penstock(broker.address, "topic", "delete", topic, "--yes")
        assert done.exit_code == 0, done.output
        _, complaint = reading.communicate(timeout=WAIT_S)
        assert reading.returncode == 1
        assert "partition is no longer available" in complaint


@RESTARTS
def test_a_producer_goes_on_after_a_restart(
    own_broker: Callable[..., BrokerProcess], topic: str, end: Callable[[BrokerProcess], Any]
) -> None:
    server = own_broker().start()
    create(server, topic)
    safely = ("-X", "enable.idempotence=true", "-X", "linger.ms=1", *STEADY)
    with running(server, "-P", "-t", topic, *safely, stdin=subprocess.PIPE) as sending:
        assert sending.stdin is not None
        lines = (f"{number}\n" for number in range(2000))

        def send(count: int) -> None:
            assert sending.stdin is not None
            sending.stdin.writelines(itertools.islice(lines, count))
            sending.stdin.flush()

        send(500)
        while kcat(server, "-Q", "-t", f"{topic}:0:-1") == f"{topic} [0] offset 0\n":
            assert sending.poll() is None
        send(500)
        end(server)
        send(500)
        server.start()
        send(500)
        _, complaints = sending.communicate(timeout=WAIT_S)
        assert sending.returncode == 0, complaints
        assert "Delivery failed" not in complaints
    assert consume(server, topic) == [f"{number}" for number in range(2000)]
    assert "Traceback" not in server.log


@RESTARTS
def test_a_consumer_goes_on_after_a_restart(
    own_broker: Callable[..., BrokerProcess], topic: str, end: Callable[[BrokerProcess], Any]
) -> None:
    server = own_broker().start()
    produce(server, topic, [f"{number}" for number in range(100)])
    with running(server, "-C", "-t", topic, *STEADY) as reading:
        before = lines_of(reading.stdout, 100)
        end(server)
        server.start()
        produce(server, topic, [f"{number}" for number in range(100, 200)])
        after = lines_of(reading.stdout, 100)
    assert before + after == [f"{number}" for number in range(200)]
    assert "Traceback" not in server.log
