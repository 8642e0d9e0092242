"""Messages that wait for their time, from Producer to Consumer, and through the Admin."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.group_stage import wait_until

from penstock import Admin, Consumer, Producer
from penstock.sdk import (
    AsyncProducer,
    Delivered,
    Message,
    Misconfigured,
    TopicNotFound,
    Unreachable,
)
from penstock.sdk.errors import NotScheduled

WAIT_S = 30.0
HOUR = timedelta(hours=1)


@pytest.fixture
def delays(make_topic: Callable[..., str]) -> str:
    return make_topic(2, delayed_delivery="true")


@pytest.fixture
def admin(broker: BrokerProcess) -> Iterator[Admin]:
    with Admin(broker.address) as made:
        yield made


def read(consumer: Consumer[Any], count: int) -> list[Message[Any]]:
    """So many, which must come."""
    found: list[Message[Any]] = []
    while len(found) < count:
        message = consumer.poll(WAIT_S)
        assert message is not None, f"{len(found)} of {count} have come"
        found.append(message)
    return found


def test_a_message_comes_when_it_is_due_and_says_so(
    producer: Producer, consumer_of: Callable[..., Consumer[Any]], delays: str
) -> None:
    producer.send(delays, "now", partition=0).result(WAIT_S)
    due = datetime.now(UTC) + timedelta(seconds=2)
    tags = {"tier": "gold"}
    late = producer.send(delays, "late", deliver_at=due, tags=tags, key="k", partition=0)
    producer.send(delays, "soon", delay=0.1, partition=0)
    now, soon, last = read(consumer_of(delays), 3)
    assert [each.value for each in (now, soon, last)] == ["now", "soon", "late"]
    assert now.scheduled_id is None
    assert last.scheduled_id == late.result(WAIT_S).offset
    assert last.tags["tier"] == "gold"
    assert last.key == "k"
    assert last.timestamp_ms == math.ceil(due.timestamp() * 1000)
    assert datetime.now(UTC) >= due


def test_a_list_has_what_waits_by_when_it_is_due(
    producer: Producer, admin: Admin, delays: str
) -> None:
    due = datetime.now(UTC).replace(microsecond=0) + HOUR
    later = producer.send(delays, "b", delay=2 * HOUR, partition=0).result(WAIT_S)
    first = producer.send(delays, "a", deliver_at=due, key="k", tags={"tier": "gold"})
    producer.send(delays, "now").result(WAIT_S)
    one, other = admin.schedules.list(delays)
    assert (one.topic, one.partition, one.offset) == first.result(WAIT_S)
    assert (one.due, one.key, one.headers) == (due, b"k", (("tier", b"gold"),))
    assert (other.partition, other.offset) == (later.partition, later.offset)
    assert admin.schedules.list(delays, limit=1) == (one,)


def test_the_values_of_what_waits_are_read_by_a_classic_group(
    producer: Producer, consumer_of: Callable[..., Consumer[Any]], delays: str
) -> None:
    producer.send(delays, "now").result(WAIT_S)
    place = producer.send(delays, "later", delay=HOUR).result(WAIT_S)
    (found,) = read(consumer_of(f"{delays}.scheduled", protocol="classic"), 1)
    assert (found.value, found.partition, found.offset) == ("later", place.partition, place.offset)


def test_a_message_that_repeats_is_listed_with_when_it_comes_next(
    producer: Producer, admin: Admin, delays: str
) -> None:
    new_year = datetime(datetime.now(UTC).year + 1, 1, 1, tzinfo=UTC)
    place = producer.send(delays, "x", key="k", repeat="0 0 1 jan *").result(WAIT_S)
    (found,) = admin.schedules.list(delays)
    assert (found.partition, found.offset) == (place.partition, place.offset)
    assert (found.due, found.repeat, found.headers) == (new_year, "0 0 1 jan *", ())
    admin.schedules.cancel(found)
    assert admin.schedules.list(delays) == ()


def test_a_message_that_was_cancelled_is_gone_and_cannot_be_cancelled_again(
    producer: Producer, admin: Admin, delays: str
) -> None:
    place = producer.send(delays, "x", delay=HOUR).result(WAIT_S)
    producer.send(delays, "y", delay=HOUR).result(WAIT_S)
    admin.schedules.cancel(place)
    (left,) = admin.schedules.list(delays)
    assert left.offset != place.offset or left.partition != place.partition
    with pytest.raises(NotScheduled, match="was delivered or cancelled"):
        admin.schedules.cancel(place)
    admin.schedules.cancel(left)
    assert admin.schedules.list(delays) == ()


def test_what_was_delivered_cannot_be_cancelled(
    producer: Producer, admin: Admin, delays: str
) -> None:
    place = producer.send(delays, "x", delay=0.001).result(WAIT_S)
    wait_until(lambda: admin.schedules.list(delays) == (), "the delivery")
    with pytest.raises(NotScheduled):
        admin.schedules.cancel(place)


@pytest.mark.parametrize(
    "place",
    [Delivered("t", 0, -1), Delivered("t", -1, 0), Delivered(3, 0, 0)],  # type: ignore[arg-type]
)
def test_a_place_that_cannot_be_is_no_message(admin: Admin, place: Delivered) -> None:
    with pytest.raises(Misconfigured):
        admin.schedules.cancel(place)


def test_a_partition_that_is_not_there_is_told(admin: Admin, delays: str) -> None:
    with pytest.raises(TopicNotFound, match="no partition 7"):
        admin.schedules.cancel(Delivered(delays, 7, 0))


def test_a_transaction_that_aborts_leaves_nothing_that_waits(
    broker: BrokerProcess, admin: Admin, delays: str
) -> None:
    with Producer(broker.address, delivery="exactly-once", transactional_id=delays) as producer:
        aborted = producer.transaction()
        aborted.begin()
        producer.send(delays, "aborted", delay=HOUR).result(WAIT_S)
        aborted.abort()
        with producer.transaction():
            place = producer.send(delays, "committed", delay=HOUR).result(WAIT_S)
        wait_until(lambda: len(admin.schedules.list(delays)) > 0, "the commit")
    (found,) = admin.schedules.list(delays)
    assert (found.partition, found.offset) == (place.partition, place.offset)


async def test_asyncio_sends_what_is_to_wait(
    broker: BrokerProcess, admin: Admin, delays: str
) -> None:
    async with AsyncProducer(broker.address, tune="latency") as producer:
        place = await producer.send(delays, "x", delay=HOUR)
        sending = await producer.enqueue(delays, "y", deliver_at=datetime.now(UTC) + 2 * HOUR)
        monthly = await producer.send(delays, "z", repeat="0 0 1 * *")
        await producer.flush()
    found = {(each.partition, each.offset): each.repeat for each in admin.schedules.list(delays)}
    once = dict.fromkeys([tuple(place[1:]), tuple(sending.result(WAIT_S)[1:])])
    assert found == {**once, tuple(monthly[1:]): "0 0 1 * *"}


async def test_asyncio_is_told_of_a_topic_without_delays(
    broker: BrokerProcess, make_topic: Callable[..., str]
) -> None:
    topic = make_topic()
    async with AsyncProducer(broker.address) as producer:
        with pytest.raises(Misconfigured, match=r"delayed\.delivery=true"):
            await producer.send(topic, "x", delay=1)
        assert (await producer.send(topic, "x", delay=0)).offset == 0


def test_a_topic_that_would_deliver_at_once_is_told_and_gets_nothing(
    producer: Producer, admin: Admin, make_topic: Callable[..., str]
) -> None:
    topic = make_topic()
    with pytest.raises(Misconfigured, match=f"topic alter {topic} --set delayed.delivery=true"):
        producer.send(topic, "x", delay=HOUR)
    assert producer.send(topic, "at once", delay=0).result(WAIT_S).offset == 0
    with pytest.raises(Misconfigured, match=f"topic alter {topic} --set delayed.delivery=true"):
        admin.schedules.list(topic)
    with pytest.raises(Misconfigured, match=f"topic alter {topic} --set delayed.delivery=true"):
        admin.schedules.cancel(Delivered(topic, 0, 0))
    admin.topics.set_configs(topic, {"delayed.delivery": True})
    assert producer.send(topic, "x", delay=HOUR).result(WAIT_S).offset == 1
    assert len(admin.schedules.list(topic)) == 1


def test_a_topic_that_was_made_anew_is_looked_at_again(
    producer: Producer, admin: Admin, delays: str
) -> None:
    producer.send(delays, "x", delay=HOUR).result(WAIT_S)
    admin.topics.delete(delays)
    admin.topics.create(delays, 2)
    wait_until(lambda: not producer.router.delays.knows(delays), "a look at the topic")
    with pytest.raises(Misconfigured, match=r"delayed\.delivery=true"):
        producer.send(delays, "x", delay=HOUR)


def test_a_topic_that_is_not_there_is_told(producer: Producer, topic: str) -> None:
    with pytest.raises(TopicNotFound):
        producer.send(topic, "x", delay=HOUR)


def test_where_no_broker_is_that_is_told() -> None:
    nobody = Producer("127.0.0.1:1", timeout=0.5, settings={"log_level": 0})
    with nobody, pytest.raises(Unreachable, match="penstock serve"):
        nobody.send("orders", "x", delay=HOUR)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"repeat": "0 25 * * *"}, "hour 25 is not 0 to 23"),
        ({"repeat": "\u0663 * * * *"}, "minute .* is not 0 to 59"),
        ({"repeat": "@daily"}, "it has 1 fields"),
        ({"repeat": "0 0 31 2 *"}, "the next year has no such time"),
        ({"repeat": 5}, "repeat=5"),
        ({"repeat": "* * * * *", "delay": 0}, "give one of them"),
        ({"repeat": "* * * * *", "headers": {"penstock-cron": "x"}}, "give one of them"),
        ({"repeat": "* * * * *", "timestamp": 5}, "timestamp="),
        ({"delay": -1}, "delay=-1"),
        ({"delay": timedelta(seconds=-1)}, "delay=-1"),
        ({"delay": math.nan}, "delay=nan"),
        ({"delay": math.inf}, "more than a year"),
        ({"delay": timedelta(days=400)}, "more than a year"),
        ({"delay": "5s"}, "delay='5s'"),
        ({"deliver_at": datetime(2030, 1, 1)}, "no time zone"),
        ({"deliver_at": 1234}, "give a datetime"),
        ({"deliver_at": datetime(2999, 1, 1, tzinfo=UTC)}, "within a year"),
        ({"deliver_at": datetime(1969, 1, 1, tzinfo=UTC)}, "since 1970"),
        ({"delay": 1, "deliver_at": datetime.now(UTC)}, "give one of them"),
        ({"delay": 1, "headers": {"penstock-delay-ms": "5"}}, "give one of them"),
        ({"delay": 1, "tags": {"penstock-deliver-at": "5"}}, "give one of them"),
        ({"delay": 1, "timestamp": 5}, "timestamp="),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sent(
    producer: Producer, delays: str, admin: Admin, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        producer.send(delays, "x", **given)
    assert len(producer) == 0
    assert [each.end for each in admin.topics.describe(delays).partitions] == [0, 0]


def test_a_transaction_goes_on_after_a_message_was_refused(
    broker: BrokerProcess, admin: Admin, delays: str
) -> None:
    with (
        Producer(broker.address, delivery="exactly-once", transactional_id=delays) as producer,
        producer.transaction(),
    ):
        with pytest.raises(Misconfigured):
            producer.send(delays, "x", delay=-1)
        producer.send(delays, "y", delay=HOUR)
    wait_until(lambda: len(admin.schedules.list(delays)) == 1, "the commit")
