"""Consumers that want a part of a topic: they are given that, through a view of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.sdk.reading import read, values

from penstock import Producer
from penstock.client.admin import create_topic, topic_configs
from penstock.client.cluster import WireClient
from penstock.client.where_views import NAME_MAX, view_name
from penstock.predicate.predicate import parse
from penstock.sdk import AsyncConsumer, Misconfigured, PenstockError, TopicNotFound

Make = Callable[..., Any]
EU = "region = 'eu'"
REGIONS = ("eu", "us", "ap")


@pytest.fixture
def orders(producer: Producer, make_topic: Make) -> str:
    """Three hundred numbers, a third of each region."""
    name: str = make_topic()
    for number in range(300):
        headers = {"region": REGIONS[number % 3]}
        producer.send(name, str(number), headers=headers, partition=0)
    producer.flush()
    return name


def of_region(region: str) -> list[str]:
    return [str(number) for number in range(300) if REGIONS[number % 3] == region]


def test_only_what_matches_is_read_and_is_of_the_topic_that_was_asked_for(
    orders: str, consumer_of: Make
) -> None:
    found = read(consumer_of(orders, where=EU), 100)
    assert values(found) == of_region("eu")
    assert {message.topic for message in found} == {orders}
    assert "topic='" + orders + "'" in repr(found[0])


def test_who_asks_for_the_same_in_other_words_reads_the_same_view(
    broker: BrokerProcess, orders: str, consumer_of: Make
) -> None:
    for where in (EU, "  region='eu'  "):
        consumer = consumer_of(orders, where=where, group=f"g{len(where)}")
        assert len(read(consumer, 100)) == 100
    with WireClient(broker.address) as client:
        views = [t for t in client.metadata().topics.values() if t.view_of == orders]
        configs = topic_configs(client, views[0].name)
    assert [view.name for view in views] == [view_name(orders, parse(EU))]
    assert configs["view.where"].value == EU
    assert configs["view.idle.ms"].value == str(7 * 24 * 3600 * 1000)


def test_the_group_goes_on_where_it_was(orders: str, consumer_of: Make) -> None:
    with consumer_of(orders, where=EU) as consumer:
        first = [message.value for _, message in zip(range(40), consumer, strict=False)]
        consumer.commit()
    with consumer_of(orders, where=EU) as again:
        rest = values(read(again, 60))
    assert first + rest == of_region("eu")


def test_seeking_is_by_the_topics_name(orders: str, consumer_of: Make) -> None:
    with consumer_of(orders, where=EU) as consumer:
        assert consumer.poll(30).value == "0"
        consumer.seek(orders, 0, 150)
        assert consumer.poll(30).value == "150"


async def test_a_consumer_of_asyncio_has_it_too(broker: BrokerProcess, orders: str) -> None:
    found = []
    consumer = AsyncConsumer(
        broker.address, orders, group=f"aio-{orders}", where="region = 'us'", idle_timeout=5
    )
    async with asyncio.timeout(60):
        async for message in consumer:
            found.append((message.topic, message.value))
            if len(found) == 100:
                break
        await consumer.close()
    assert found == [(orders, value) for value in of_region("us")]


def test_a_predicate_that_cannot_be_read_is_refused_with_the_place(consumer_of: Make) -> None:
    with pytest.raises(Misconfigured) as told:
        consumer_of("orders", where="region = 'eu' and")
    assert str(told.value).endswith("  region = 'eu' and\n                   ^")


@pytest.mark.parametrize("where", ["", 7])
def test_what_is_no_predicate_is_refused(consumer_of: Make, where: Any) -> None:
    with pytest.raises(Misconfigured, match="where"):
        consumer_of("orders", where=where)


def test_a_pattern_goes_with_no_predicate(consumer_of: Make) -> None:
    with pytest.raises(Misconfigured, match="not with a pattern"):
        consumer_of("^orders.*", where=EU)


def test_no_view_is_made_of_a_topic_that_is_not_there(consumer_of: Make) -> None:
    with pytest.raises(TopicNotFound):
        consumer_of("there-is-none", where=EU).poll(1)


def test_a_topic_that_happens_to_have_the_views_name_is_not_read(
    broker: BrokerProcess, orders: str, consumer_of: Make
) -> None:
    with WireClient(broker.address) as client:
        create_topic(client, view_name(orders, parse(EU)))
    with pytest.raises(PenstockError, match="no view of"):
        consumer_of(orders, where=EU).poll(1)


def test_names_of_views_have_room_for_long_names_of_topics() -> None:
    one, other = "t" * NAME_MAX, "t" * (NAME_MAX - 1)
    names = {view_name(topic, parse(EU)) for topic in (one, other)}
    assert len(names) == 2
    assert {len(name) for name in names} == {NAME_MAX}
    assert view_name("orders", parse(EU)).startswith("orders.where-")
    assert view_name("orders", parse("region = 'us'")) != view_name("orders", parse(EU))
