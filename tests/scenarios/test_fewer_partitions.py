"""A topic loses partitions under idempotent producers and groups of both protocols."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka
import pytest
from tests.broker_process import BrokerProcess
from tests.cluster_traffic import Traffic, read_all
from tests.group_stage import QUICK_BROKER, wait_until
from tests.reduction_stage import (
    Groups,
    Reader,
    check_failures,
    check_order,
    closing,
    create,
    penstock,
    reduce,
    topics,
    wait_reduced,
)

QUICK = ("--set", "log.retention.check.interval.ms=200")
MakeTraffic = Callable[..., Traffic]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    folder = tmp_path_factory.mktemp("fewer") / "data"
    running = BrokerProcess(folder, *QUICK_BROKER, *QUICK).start()
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.log


def test_clients_go_on_while_a_topic_loses_partitions(
    broker: BrokerProcess, traffic: MakeTraffic, groups: Callable[[str, str], Groups]
) -> None:
    create(broker.address, "busy")
    sending, reading = traffic(broker, "busy"), groups(broker.address, "busy")
    reading.wait_ready()
    sending.go_on(300)
    reduce(broker.address, "busy", 2)
    wait_reduced(broker.address, "busy", 2)
    sending.go_on(300)
    reading.wait_shared(2)
    acked = sending.finish()
    check_failures(sending)
    reading.check(acked)
    left = read_all(broker.address, "busy", range(2))
    sealed = read_all(broker.address, "busy.sealed-1", range(4))
    there = {(each.key, each.number) for each in (*left, *sealed)}
    assert {(ack.key, ack.number) for ack in acked} == there
    assert len(left) + len(sealed) == len(acked)


def test_a_key_that_moves_between_partitions_that_stay_is_read_in_order(
    broker: BrokerProcess, traffic: MakeTraffic, reader: Callable[..., Reader]
) -> None:
    """3 does not divide 4. So a group that has read all of the partition that goes, and not all of
    the others, is waited for. That the controller has looked is seen by a topic that it is to look
    at later."""
    create(broker.address, "odd", 4)
    create(broker.address, "later", 2)
    slow = reader(broker.address, "odd-group", "odd")
    slow.leaves = {0, 1, 2}
    assert slow.has_partitions.wait(60)
    sending = traffic(broker, "odd")
    sending.go_on(200)
    acked = sending.finish()
    wait_until(lambda: _lag(broker, "odd", 3) == 0, "the group has read the last partition")
    reduce(broker.address, "odd", 3)
    reduce(broker.address, "later", 1)
    wait_reduced(broker.address, "later", 1)
    assert topics(broker.address)["odd"] == 4
    assert list(closing(broker.address, "odd")["groups"]) == ["odd-group"]
    slow.leaves = set()
    wait_reduced(broker.address, "odd", 3)
    again = traffic(broker, "odd", first=sending.sent)
    again.go_on(200)
    acked += again.finish()
    assert again.failed == []
    wanted = {(ack.key, ack.number) for ack in acked}
    wait_until(lambda: wanted == {seen[1:] for seen in list(slow.seen)}, "all is read")
    check_order("odd", slow.seen)


def _lag(broker: BrokerProcess, topic: str, index: int) -> int | None:
    rows = penstock(broker.address, "group", "describe", f"{topic}-group")["partitions"]
    return {row["partition"]: row["lag"] for row in rows}.get(index)


def test_clients_go_on_where_all_partitions_are_closed_for_a_moment(
    broker: BrokerProcess, traffic: MakeTraffic, groups: Callable[[str, str], Groups]
) -> None:
    """What a producer holds at that moment goes where the old number has put it, so the order of
    its keys is not looked at."""
    create(broker.address, "thirds", 4)
    sending, reading = traffic(broker, "thirds"), groups(broker.address, "thirds")
    reading.wait_ready()
    sending.go_on(200)
    reduce(broker.address, "thirds", 3)
    wait_reduced(broker.address, "thirds", 3)
    sending.go_on(200)
    reading.wait_shared(3)
    acked = sending.finish()
    check_failures(sending)
    reading.check(acked, in_order=False)


def test_partitions_open_again_if_a_group_does_not_read_them_in_time(
    broker: BrokerProcess, traffic: MakeTraffic, reader: Callable[..., Reader]
) -> None:
    create(broker.address, "slow", 2)
    sending, slow = traffic(broker, "slow"), reader(broker.address, "slow-group", "slow")
    slow.holds_back = True
    assert slow.has_partitions.wait(60)
    sending.go_on()
    reduce(broker.address, "slow", 1, "--max-pause", "500ms")
    told = wait_until(
        lambda: (
            (closing(broker.address, "slow") or {}).get("reopened_ms")
            and closing(broker.address, "slow")
        ),
        "the partitions are open again",
    )
    assert told["reopened_reason"] == "group slow-group has 1 messages to read"
    assert topics(broker.address)["slow"] == 2
    assert list(told["writers"]) == ["rdkafka"]
    sending.go_on()
    assert sending.failed == [], "they were tried again"
    slow.holds_back = False
    wait_reduced(broker.address, "slow", 1)
    wait_until(lambda: slow.owned == {0}, "the group has what is left")
    sending.finish()
    check_failures(sending)


def test_closing_can_be_cancelled(broker: BrokerProcess) -> None:
    create(broker.address, "kept", 3)
    penstock(broker.address, "topic", "alter", "kept", "--partitions", "1")
    told = closing(broker.address, "kept")
    assert (told["open_partitions"], told["when"], told["closed_ms"]) == (1, "retention", None)
    assert told["due_ms"] > time.time() * 1000
    penstock(broker.address, "topic", "alter", "kept", "--partitions", "3")
    assert closing(broker.address, "kept") is None
    assert topics(broker.address)["kept"] == 3


def test_partitions_go_when_their_records_have_expired(
    broker: BrokerProcess, traffic: MakeTraffic
) -> None:
    create(broker.address, "short", 3, "--set", "retention.ms=1500")
    sending = traffic(broker, "short")
    sending.go_on()
    sending.finish()
    penstock(broker.address, "topic", "alter", "short", "--partitions", "1")
    wait_reduced(broker.address, "short", 1)
    wait_until(
        lambda: "short.sealed-1" not in topics(broker.address),
        "nothing is left in the sealed topic",
    )


def test_partitions_that_are_added_later_begin_with_nothing(
    broker: BrokerProcess, traffic: MakeTraffic
) -> None:
    create(broker.address, "regrown", 4)
    sending = traffic(broker, "regrown")
    sending.go_on()
    sending.finish()
    reduce(broker.address, "regrown", 2)
    wait_reduced(broker.address, "regrown", 2)
    penstock(broker.address, "topic", "alter", "regrown", "--partitions", "4")
    rows = penstock(broker.address, "topic", "describe", "regrown")["partitions"]
    assert [row["end"] for row in rows[2:]] == [0, 0]
    again = traffic(broker, "regrown")
    again.go_on()
    acked = again.finish()
    assert {ack.partition for ack in acked} == {0, 1, 2, 3}
    assert min(ack.offset for ack in acked if ack.partition == 3) == 0


def test_what_was_told_to_go_is_gone_after_a_crash(tmp_path: Path, traffic: MakeTraffic) -> None:
    """A broker that is killed finds the sealed logs, whatever their folders are called."""
    broker = BrokerProcess(tmp_path / "data", *QUICK_BROKER, *QUICK).start()
    create(broker.address, "orders", 4)
    sending = traffic(broker, "orders")
    sending.go_on(200)
    acked = sending.finish()
    reduce(broker.address, "orders", 2)
    wait_reduced(broker.address, "orders", 2)
    broker.kill()
    (tmp_path / "data" / "orders.sealed-1-0").rename(tmp_path / "data" / "orders-2")
    broker.start()
    left = read_all(broker.address, "orders", range(2))
    sealed = read_all(broker.address, "orders.sealed-1", range(2))
    assert len(left) + len(sealed) == len(acked)
    assert (tmp_path / "data" / "orders.sealed-1-0").exists()
    assert broker.stop() == 0
    assert "Traceback" not in broker.log


def test_a_group_that_did_not_run_goes_on_in_the_sealed_topic_where_it_was(tmp_path: Path) -> None:
    """Its offset in a partition that went is found there, also after a crash in that moment."""
    broker = BrokerProcess(tmp_path / "data", *QUICK_BROKER, *QUICK).start()
    create(broker.address, "idle", 2, "--set", "retention.ms=1000")
    _produce_ahead(broker.address, "idle", 1, 10)
    idle = {"bootstrap.servers": broker.address, "group.id": "away", "log_level": 0}
    consumer = confluent_kafka.Consumer(idle)
    place = confluent_kafka.TopicPartition("idle", 1, 4)
    consumer.commit(offsets=[place], asynchronous=False)
    consumer.close()
    penstock(broker.address, "topic", "alter", "idle", "--partitions", "1")
    wait_reduced(broker.address, "idle", 1)
    broker.kill()
    broker.start()
    again = confluent_kafka.Consumer({**idle, "auto.offset.reset": "latest"})
    again.subscribe(["idle.sealed-1"])
    message = wait_until(lambda: again.poll(0.2), "something is read")
    assert (message.error(), message.offset(), message.value()) == (None, 4, b"4")
    again.close()
    assert broker.stop() == 0
    assert "Traceback" not in broker.log


def _produce_ahead(address: str, topic: str, partition: int, count: int) -> None:
    """Of a time to come, so that nothing of it expires."""
    producer = confluent_kafka.Producer({"bootstrap.servers": address, "log_level": 0})
    later_ms = int(time.time() * 1000) + 1_800_000
    for number in range(count):
        producer.produce(topic, f"{number}", partition=partition, timestamp=later_ms)
    assert producer.flush(30) == 0


def test_a_topic_is_deleted_while_its_partitions_are_closing(broker: BrokerProcess) -> None:
    create(broker.address, "dropped", 3)
    reduce(broker.address, "dropped", 1)
    penstock(broker.address, "topic", "delete", "dropped", "--yes")
    create(broker.address, "dropped", 3)
    assert closing(broker.address, "dropped") is None
    assert topics(broker.address)["dropped"] == 3
    assert "dropped.sealed-1" not in topics(broker.address)


def test_who_commits_behind_its_last_message_has_read_what_transactions_wrote(
    broker: BrokerProcess,
) -> None:
    """Markers, and what was aborted, lie between that and the end."""
    create(broker.address, "written", 4)
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": broker.address, "transactional.id": "writer", "log_level": 0}
    )
    producer.init_transactions(60)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for partition in range(4):
            producer.produce("written", b"value", partition=partition)
        end(60)
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "one-behind",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["written"])
    read = 0
    while read < 4:
        message = consumer.poll(60)
        assert message is not None
        if message.error() is None:
            consumer.commit(message=message, asynchronous=False)
            read += 1
    reduce(broker.address, "written", 2, "--when", "drained")
    wait_reduced(broker.address, "written", 2)
    consumer.close()
