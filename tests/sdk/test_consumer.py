"""Reading, against a broker: what is handed out, and what counts as read when."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.group_stage import wait_until
from tests.sdk.reading import SOON_S, WAIT_S, read, values

from penstock import Consumer, Producer
from penstock.client.admin import create_topic
from penstock.client.cluster import WireClient
from penstock.client.group_offsets import committed_offsets
from penstock.sdk import (
    Int64,
    Json,
    Misconfigured,
    NotDeserializable,
    PenstockError,
    TimedOut,
    TopicPartition,
)
from penstock.sdk.semantics import COMMIT_INTERVAL_S, Tune

Make = Callable[..., Any]


def fill(producer: Producer, topic: str, count: int, partition: int = 0) -> None:
    for number in range(count):
        producer.send(topic, str(number), key="k", partition=partition)
    producer.flush()


def take(consumer: Consumer[Any], count: int) -> list[Any]:
    """So many, however long the first takes: it has to join its group before."""
    idle_s, consumer.idle_timeout = consumer.idle_timeout, WAIT_S
    found = []
    for message in consumer:
        found.append(message.value)
        if len(found) == count:
            consumer.idle_timeout = idle_s
            return found
    raise AssertionError(f"only {found} came")


def committed(broker: BrokerProcess, topic: str, group: str = "readers") -> int | None:
    """In partition 0."""
    with WireClient(broker.address) as client:
        found = committed_offsets(client, f"{group}-of-{topic}").get((topic, 0))
    return found.offset if found else None


def numbers(first: int, last: int) -> list[str]:
    return [str(number) for number in range(first, last)]


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_iteration_gives_all_messages_in_order(
    producer: Producer, make_topic: Make, consumer_of: Make, protocol: str
) -> None:
    name = make_topic()
    fill(producer, name, 1200)
    consumer = consumer_of(name, protocol=protocol)
    assert values(read(consumer, 1200)) == numbers(0, 1200)
    assert consumer.assignment == [TopicPartition(name, 0)]


def test_batches_are_as_large_as_asked_for(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 100)
    sizes, found = [], []
    consumer = consumer_of(name, idle_timeout=WAIT_S)
    for batch in consumer.batches(30, 0.3):
        sizes.append(len(batch))
        found += values(batch)
        if len(found) >= 100:
            consumer.idle_timeout = SOON_S
    assert found == numbers(0, 100)
    assert max(sizes) == 30


def test_poll_gives_none_when_nothing_comes(make_topic: Make, consumer_of: Make) -> None:
    assert consumer_of(make_topic()).poll(0.2) is None


# What counts as read.


def test_what_was_handed_out_before_the_last_is_committed_at_close(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 10)
    consumer = consumer_of(name)
    take(consumer, 4)
    consumer.close()
    assert committed(broker, name) == 3


def test_a_block_that_ends_well_has_processed_the_last_one_too(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 10)
    with consumer_of(name) as consumer:
        take(consumer, 4)
    assert committed(broker, name) == 4
    assert take(consumer_of(name), 6) == numbers(4, 10)


def test_a_message_whose_processing_fails_comes_again(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 10)

    def work(consumer: Consumer[str]) -> None:
        with consumer:
            for message in consumer:
                _ = 1 // (5 - int(message.value))

    with pytest.raises(ZeroDivisionError):
        work(consumer_of(name))
    assert committed(broker, name) == 5
    assert take(consumer_of(name), 5) == numbers(5, 10)


def test_commit_counts_the_message_in_hand(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 10)
    consumer = consumer_of(name)
    take(consumer, 4)
    consumer.commit()
    assert committed(broker, name) == 4


def test_a_batch_is_processed_when_the_next_is_asked_for(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 10)
    consumer = consumer_of(name)
    batches = consumer.batches(3)
    next(batches)
    consumer.close()
    assert committed(broker, name) in (None, 0)
    consumer = consumer_of(name)
    batches = consumer.batches(3)
    assert len(next(batches)) + len(next(batches)) == 6
    consumer.close()
    assert committed(broker, name) == 3


def test_while_messages_take_long_what_is_processed_is_committed(
    broker: BrokerProcess,
    producer: Producer,
    make_topic: Make,
    consumer_of: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(COMMIT_INTERVAL_S, Tune.LATENCY, 0.0)
    name = make_topic()
    fill(producer, name, 50)
    consumer = consumer_of(name)
    for message in consumer:
        consumer.breath.is_due = True
        if message.value == "20":
            break
    deadline = time.monotonic() + WAIT_S
    while (committed(broker, name) or 0) < 10:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert (committed(broker, name) or 0) <= 20


def test_at_most_once_commits_before_it_hands_out(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 10)
    consumer = consumer_of(name, delivery="at-most-once")
    first = consumer.poll(WAIT_S)
    assert first.value == "0"
    assert (committed(broker, name) or 0) >= 1


def test_at_most_once_a_commit_does_not_bring_back_what_is_about_to_be_handed_out(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 10)
    consumer = consumer_of(name, delivery="at-most-once")
    take(consumer, 3)
    before = committed(broker, name)
    consumer.commit()
    assert committed(broker, name) == before


def test_at_most_once_who_leaves_gives_back_what_nobody_was_handed(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 10)
    with consumer_of(name, delivery="at-most-once") as consumer:
        assert take(consumer, 3) == numbers(0, 3)
    assert take(consumer_of(name, delivery="at-most-once"), 7) == numbers(3, 10)


def test_what_cannot_be_read_comes_again_unless_the_program_goes_on(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    for value in ("0", "no number", "2"):
        producer.send(name, value)
    producer.flush()
    for _ in range(2):
        with pytest.raises(NotDeserializable), consumer_of(name, deserializer=Json(int)) as dying:
            take(dying, 3)
        assert committed(broker, name) == 1
    with consumer_of(name, deserializer=Json(int)) as living:
        with pytest.raises(NotDeserializable):
            living.poll(WAIT_S)
        assert living.poll(WAIT_S).value == 2
    assert committed(broker, name) == 3


def test_a_commit_while_a_batch_is_gathered_leaves_that_out(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic(2)
    fill(producer, name, 10)
    seen: list[int | None] = []

    def commit(_: list[TopicPartition]) -> None:
        if not seen:
            first.commit()
            seen.append(committed(broker, name))

    first = consumer_of(name, on_revoke=commit)
    second = consumer_of(name)
    wait_until(lambda: first.fill(0.1), "the first has messages")
    deadline = time.monotonic() + WAIT_S
    while not seen:
        assert time.monotonic() < deadline
        second.poll(0.05)
        first.fill_up(1000, 0.05)
    assert seen[0] in (None, 0)


def test_slow_messages_after_fast_ones_are_no_reason_to_be_thrown_out(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    """After each message it is looked whether the group is to hear of us."""
    name = make_topic()
    fill(producer, name, 50)
    consumer, heard = consumer_of(name), list[str]()
    is_due = False
    for message in consumer:
        if is_due and not consumer.breath.is_due:
            heard.append(message.value)
        is_due = consumer.breath.is_due = message.value in ("10", "30", "31")
        if message.value == "49":
            break
    assert heard == ["11", "31", "32"]


def test_a_breath_falls_due_by_itself(make_topic: Make, consumer_of: Make) -> None:
    consumer = consumer_of(make_topic())
    consumer.poll(0)
    consumer.breath.is_due = False
    wait_until(lambda: consumer.breath.is_due, "the breath is due")


def test_partitions_that_go_are_committed_and_read_on_by_the_other(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic(2)
    fill(producer, name, 300, 0)
    fill(producer, name, 300, 1)
    revoked: list[Any] = []
    assigned: list[Any] = []
    first = consumer_of(name, on_assign=assigned.extend, on_revoke=revoked.extend)
    found = [
        (each.partition, each.value) for each in (first.poll(WAIT_S) for _ in range(50)) if each
    ]
    second = consumer_of(name)
    deadline = time.monotonic() + WAIT_S
    while not second.assignment or not revoked:
        assert time.monotonic() < deadline
        for each in (first.poll(0.05), second.poll(0.05)):
            found += [(each.partition, each.value)] if each else []
    deadline = time.monotonic() + WAIT_S
    while len(set(found)) < 600:
        assert time.monotonic() < deadline
        for each in (first.poll(0.05), second.poll(0.05)):
            found += [(each.partition, each.value)] if each else []
    for consumer in (first, second):
        found += [(each.partition, each.value) for each in read(consumer, 0)]
    assert len(assigned) >= 2
    assert len(revoked) == 1
    assert sorted(set(found)) == sorted((part, str(each)) for part in (0, 1) for each in range(300))
    assert len(found) - len(set(found)) <= 1  # the one in hand


# Where to read.


def test_seek_goes_to_an_offset_and_forgets_what_was_buffered(
    broker: BrokerProcess, producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 20)
    consumer = consumer_of(name)
    assert take(consumer, 5) == numbers(0, 5)
    consumer.seek(name, 0, 15)
    consumer.commit()
    assert committed(broker, name) == 15
    assert take(consumer, 5) == numbers(15, 20)
    consumer.seek(name, 0, 2)
    assert take(consumer, 2) == numbers(2, 4)


def test_a_paused_partition_goes_on_where_it_was(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 20)
    consumer = consumer_of(name)
    assert take(consumer, 5) == numbers(0, 5)
    consumer.pause()
    assert consumer.poll(0.5) is None
    consumer.resume(TopicPartition(name, 0))
    assert take(consumer, 15) == numbers(5, 20)


def test_a_pause_of_one_partition_does_not_change_where_the_others_are(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic(2)
    fill(producer, name, 10, 0)
    fill(producer, name, 10, 1)
    consumer = consumer_of(name)
    while len(consumer.buffer) < 20:
        consumer.fill_up(20, 0.1)
    consumer.pause(TopicPartition(name, 1))
    assert [message.partition for message in consumer.gather(20, 0)] == [0] * 10
    assert consumer.buffer.handed() == {TopicPartition(name, 0): 10, TopicPartition(name, 1): 0}
    consumer.resume()
    assert take(consumer, 10) == numbers(0, 10)
    assert consumer.buffer.handed() == {TopicPartition(name, 0): 10, TopicPartition(name, 1): 10}


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_a_group_may_begin_at_a_time(
    producer: Producer, make_topic: Make, consumer_of: Make, protocol: str
) -> None:
    name = make_topic()
    now = datetime.now(UTC)
    for minutes in (30, 20, 10, 0):
        producer.send(name, str(minutes), timestamp=now - timedelta(minutes=minutes))
    producer.flush()
    by_time = consumer_of(name, "at", start=now - timedelta(minutes=20), protocol=protocol)
    assert take(by_time, 3) == ["20", "10", "0"]
    assert take(consumer_of(name, "ago", start=timedelta(minutes=15)), 2) == ["10", "0"]


def test_a_group_may_begin_at_the_end(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    fill(producer, name, 5)
    consumer = consumer_of(name, start="latest")
    while not consumer.assignment:
        consumer.poll(0.1)
    assert consumer.poll(0.5) is None
    producer.send(name, "new").result(WAIT_S)
    assert consumer.poll(WAIT_S).value == "new"


# What is in messages.


def test_what_cannot_be_read_is_raised_in_its_place_and_the_next_can_be(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    for value in ("1", "2", "no number", "4", "neither", "6"):
        producer.send(name, value)
    producer.flush()
    consumer = consumer_of(name, deserializer=Json(int))
    found: list[Any] = []
    for _ in range(3):
        try:
            for message in consumer:
                found += [message.value]
                if message.value == 6:
                    consumer.idle_timeout = SOON_S
        except NotDeserializable as error:
            found.append((error.topic, error.partition, error.offset, error.data))
    assert found == [1, 2, (name, 0, 2, b"no number"), 4, (name, 0, 4, b"neither"), 6]


def test_a_batch_ends_before_what_cannot_be_read(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    for value in ("1", "2", "no number", "4"):
        producer.send(name, value)
    producer.flush()
    consumer = consumer_of(name, deserializer=Json(int))
    assert [message.value for message in consumer.gather(10, 5.0)] == [1, 2]
    with pytest.raises(NotDeserializable, match="offset 2"):
        consumer.gather(10, 5.0)
    assert [message.value for message in consumer.gather(10, 1.0)] == [4]


def test_a_key_that_cannot_be_read_is_raised_too(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    producer.send(name, "v", key="short").result(WAIT_S)
    with pytest.raises(NotDeserializable, match="the key at"):
        consumer_of(name, key_deserializer=Int64()).poll(WAIT_S)


def test_what_comes_twice_is_handed_out_once(
    producer: Producer, make_topic: Make, consumer_of: Make
) -> None:
    name = make_topic()
    for number in ("a", "b", "a", "c", "b", "d", "a"):
        producer.send(name, number, headers={"penstock-message-id": number})
    producer.send(name, "no id")
    producer.send(name, "no id")
    producer.flush()
    found = values(read(consumer_of(name, deduplicate=100), 6))
    assert found == ["a", "b", "c", "d", "no id", "no id"]
    narrow = values(read(consumer_of(name, "narrow", deduplicate=2), 8))
    assert narrow == ["a", "b", "c", "b", "d", "a", "no id", "no id"]


def test_a_closed_consumer_says_so(make_topic: Make, consumer_of: Make) -> None:
    consumer = consumer_of(make_topic())
    consumer.close()
    consumer.close()
    calls: list[Callable[[], Any]] = [
        lambda: consumer.poll(0),
        lambda: consumer.assignment,
        consumer.pause,
        consumer.resume,
        consumer.rewind,
    ]
    for call in calls:
        with pytest.raises(PenstockError, match="closed"):
            call()


def test_partitions_of_others_are_refused(make_topic: Make, consumer_of: Make) -> None:
    name = make_topic()
    consumer = consumer_of(name)
    with pytest.raises(Misconfigured, match="none yet"):
        consumer.seek(name, 0, 1)
    wait_until(lambda: consumer.poll(0.1) or consumer.assignment, "it has its partition")
    for call in (consumer.pause, consumer.resume):
        with pytest.raises(Misconfigured, match=f"its partitions are {name}-0"):
            call(TopicPartition(name, 7))


def test_a_commit_and_a_close_take_no_longer_than_the_timeout(tmp_path: Path, topic: str) -> None:
    own = BrokerProcess(tmp_path / "data").start()
    with WireClient(own.address) as client:
        create_topic(client, topic, 1)
    with Producer(own.address) as producer:
        producer.send(topic, "v")
    consumer = Consumer(own.address, topic, group="g", timeout=10.0)
    assert consumer.poll(WAIT_S)
    own.kill()
    consumer.timeout = 0.2
    consumer.commits.timeout_s = 0.2
    with pytest.raises(TimedOut, match="the commit was not done"):
        consumer.commit()
    with pytest.raises(TimedOut, match="leaving the group was not done"):
        consumer.close()
