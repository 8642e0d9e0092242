"""Transactions of librdkafka against a running broker, which may be killed in the middle of one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaException, TopicPartition
from tests.broker_process import BrokerProcess
from tests.cli.conftest import run
from tests.group_stage import administer, wait_until

from penstock.wire.batch import Offset, stamp
from penstock.wire.batch_builder import build_batch
from penstock.wire.records import Record

rdkafka: Any = confluent_kafka
WAIT_S = 30


def producer(address: str, name: str, **options: Any) -> Any:
    made = rdkafka.Producer(
        {
            "bootstrap.servers": address,
            "transactional.id": name,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
            **{key.replace("_", "."): value for key, value in options.items()},
        }
    )
    made.init_transactions(WAIT_S)
    return made


def read(address: str, topic: str, isolation: str = "read_committed") -> list[str]:
    """Up to the end, as a reader of that kind sees it."""
    consumer = rdkafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "reader",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[str] = []
    deadline = time.monotonic() + WAIT_S
    try:
        while time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is not None and message.error():
                return values
            if message is not None:
                values.append(message.value().decode())
    finally:
        consumer.close()
    raise AssertionError(f"{topic} has no end: {values}")


def write(made: Any, topic: str, *values: str) -> None:
    for value in values:
        made.produce(topic, value, partition=0)
    made.flush(WAIT_S)


@pytest.fixture
def made_topic(broker: BrokerProcess, topic: str) -> str:
    new = rdkafka.admin.NewTopic(topic, 1, 1)
    administer(broker.address, lambda admin: admin.create_topics([new]))
    return topic


def test_what_is_committed_is_seen_and_what_is_aborted_is_not(
    broker: BrokerProcess, made_topic: str
) -> None:
    made = producer(broker.address, made_topic)
    for turn in range(4):
        made.begin_transaction()
        write(made, made_topic, f"{turn} a", f"{turn} b")
        (made.abort_transaction if turn % 2 else made.commit_transaction)(WAIT_S)
    assert read(broker.address, made_topic) == ["0 a", "0 b", "2 a", "2 b"]
    assert len(read(broker.address, made_topic, "read_uncommitted")) == 8


def test_what_is_open_is_hidden_with_all_that_comes_after_it(
    broker: BrokerProcess, made_topic: str
) -> None:
    made = producer(broker.address, made_topic)
    made.begin_transaction()
    write(made, made_topic, "held")
    plain = rdkafka.Producer({"bootstrap.servers": broker.address})
    write(plain, made_topic, "after")
    assert read(broker.address, made_topic) == []
    assert read(broker.address, made_topic, "read_uncommitted") == ["held", "after"]
    made.commit_transaction(WAIT_S)
    wait_until(lambda: read(broker.address, made_topic) == ["held", "after"], "both are seen")


def test_a_producer_that_begins_anew_shuts_out_the_one_before_and_aborts_what_it_left(
    broker: BrokerProcess, made_topic: str
) -> None:
    zombie = producer(broker.address, made_topic)
    zombie.begin_transaction()
    write(zombie, made_topic, "of a zombie")
    heir = producer(broker.address, made_topic)
    with pytest.raises(KafkaException) as caught:
        zombie.commit_transaction(WAIT_S)
    assert caught.value.args[0].fatal()
    heir.begin_transaction()
    write(heir, made_topic, "of the heir")
    heir.commit_transaction(WAIT_S)
    assert read(broker.address, made_topic) == ["of the heir"]


def test_a_transaction_that_is_left_open_is_aborted_in_time(
    broker: BrokerProcess, made_topic: str
) -> None:
    made = producer(broker.address, made_topic, transaction_timeout_ms=1000)
    made.begin_transaction()
    write(made, made_topic, "left")
    plain = rdkafka.Producer({"bootstrap.servers": broker.address})
    write(plain, made_topic, "after")
    wait_until(lambda: read(broker.address, made_topic) == ["after"], "it is aborted")


def test_a_broker_that_is_killed_goes_on_with_the_transaction_that_was_open(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    broker = own_broker().start()
    made = producer(broker.address, topic)
    for turn in range(3):
        made.begin_transaction()
        write(made, topic, f"{turn} before")
        broker.kill()
        broker.start()
        write(made, topic, f"{turn} after")
        made.commit_transaction(WAIT_S)
    expected = [f"{turn} {when}" for turn in range(3) for when in ("before", "after")]
    wait_until(lambda: read(broker.address, topic) == expected, "all are seen")


def test_offsets_are_committed_with_the_transaction_or_not_at_all(
    broker: BrokerProcess, made_topic: str
) -> None:
    consumer = rdkafka.Consumer(
        {"bootstrap.servers": broker.address, "group.id": made_topic, "enable.auto.commit": False}
    )
    made = producer(broker.address, made_topic)
    place = TopicPartition(made_topic, 0)

    def committed() -> int:
        found: int = consumer.committed([place], WAIT_S)[0].offset
        return found

    for offset, is_committed, expected in ((5, False, -1001), (6, True, 6), (7, False, 6)):
        made.begin_transaction()
        write(made, made_topic, "value")
        at = [TopicPartition(made_topic, 0, offset)]
        made.send_offsets_to_transaction(at, consumer.consumer_group_metadata(), WAIT_S)
        (made.commit_transaction if is_committed else made.abort_transaction)(WAIT_S)
        assert committed() == expected
    consumer.close()


def test_the_command_line_shows_transactions_and_ends_one(
    broker: BrokerProcess, made_topic: str
) -> None:
    def penstock(*arguments: str) -> Any:
        done = run(broker.address, *arguments, "--json")
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    made = producer(broker.address, made_topic)
    made.begin_transaction()
    write(made, made_topic, "open")
    listed = penstock("txn", "list", "--state", "Ongoing")
    assert made_topic in [each["transactional_id"] for each in listed]
    described = penstock("txn", "describe", made_topic)
    assert (described["state"], described["partitions"]) == ("Ongoing", {made_topic: [0]})
    assert penstock("txn", "list", "--hanging", "--idle-for", "0s") == []
    assert "does not hang" in refused_to_abort(broker.address, made_topic, described["producer_id"])
    penstock("txn", "abort", made_topic, "--yes")
    assert penstock("txn", "describe", made_topic)["partitions"] == {}
    assert read(broker.address, made_topic) == []
    with pytest.raises(KafkaException):
        made.commit_transaction(WAIT_S)
    missing = run(broker.address, "txn", "describe", f"{made_topic}-none")
    assert missing.exit_code == 1
    assert "penstock txn list" in missing.output
    assert run(broker.address, "txn", "abort", "--yes").exit_code == 2


def refused_to_abort(address: str, topic: str, producer_id: int) -> str:
    """What is said of one that is healthy."""
    place = ("--topic", topic, "--partition", "0", "--producer", str(producer_id))
    done = run(address, "txn", "abort", *place, "--yes", "--idle-for", "0s")
    assert done.exit_code == 1
    return done.output


def test_a_transaction_that_no_coordinator_knows_of_is_found_and_ended(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    """Such as records that another broker has written, in a folder that was put in place."""
    broker = own_broker().start()
    write(rdkafka.Producer({"bootstrap.servers": broker.address}), topic, "before")
    assert broker.stop() == 0
    foreign = build_batch(
        [Record(1, int(time.time() * 1000), None, b"foreign")],
        producer_id=4711,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    stamp(foreign, Offset(1), 0)
    (broker.data_dir / ".kafka_cleanshutdown").unlink()
    with (broker.data_dir / f"{topic}-0" / f"{0:020}.log").open("ab") as log:
        log.write(foreign)
    broker.start()
    write(rdkafka.Producer({"bootstrap.servers": broker.address}), topic, "after")
    assert read(broker.address, topic) == ["before"]
    assert "no transaction hangs" in run(broker.address, "txn", "list", "--hanging").output
    found = run(broker.address, "txn", "list", "--hanging", "--idle-for", "0s")
    assert "4711" in found.output
    place = ("--topic", topic, "--partition", "0", "--producer", "4711")
    early = run(broker.address, "txn", "abort", *place, "--yes")
    assert early.exit_code == 1
    assert "--idle-for" in early.output
    done = run(broker.address, "txn", "abort", *place, "--yes", "--idle-for", "0s")
    assert done.exit_code == 0, done.output
    wait_until(lambda: read(broker.address, topic) == ["before", "after"], "it is ended")
    left = run(broker.address, "txn", "list", "--hanging", "--idle-for", "0s")
    assert "no transaction hangs" in left.output
