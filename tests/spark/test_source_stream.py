"""Where a stream goes on, asked of the reader itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from tests.broker_process import BrokerProcess
from tests.reduction_stage import reduce, wait_reduced
from tests.spark.records import send

from penstock.client import admin, offsets
from penstock.client.cluster import WireClient
from penstock.spark.errors import DataLossError
from penstock.spark.source import bounds
from penstock.spark.source.options import source_options
from penstock.spark.source.stream import StreamReader


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


MakeReader = Callable[..., StreamReader]


@pytest.fixture
def reader(broker: BrokerProcess) -> Iterator[MakeReader]:
    """Spark ends its process, and closes none of them."""
    made: list[StreamReader] = []

    def make(**options: str) -> StreamReader:
        given = {"bootstrapServers": broker.address, **options}
        made.append(StreamReader(source_options(given, is_stream=True)))
        return made[-1]

    yield make
    for each in made:
        each._connected.client.close()


def next_end(stream: StreamReader, start: dict[str, Any]) -> dict[str, Any]:
    return stream.latestOffset(start, ReadAllAvailable())


def without_ids(offsets: dict[str, Any]) -> dict[str, Any]:
    return {topic: told for topic, told in offsets.items() if not topic.startswith("/")}


def test_what_a_query_is_taken_off_is_read_no_more(
    client: WireClient, topic: str, reader: MakeReader
) -> None:
    other = f"{topic}-other"
    for name in (topic, other):
        admin.create_topic(client, name, partitions=2)
        send(client, name, range(10))
    before = reader(subscribe=topic, startingOffsets="earliest")
    end = next_end(before, before.initialOffset())
    send(client, topic, range(10, 20))
    for chosen in ({"subscribe": other}, {"assign": f'{{"{topic}": [0]}}'}):
        with pytest.raises(DataLossError, match="is not to be read any more"):
            next_end(reader(**chosen), end)
        told = without_ids(next_end(reader(**chosen, failOnDataLoss="false"), end))
        assert told.keys() == {other if "subscribe" in chosen else topic}
        assert {index for each in told.values() for index in each} <= {"0", "1"}
        assert "assign" not in chosen or told[topic].keys() == {"0"}


def test_a_query_that_ends_by_itself_ends_behind_its_beginning(
    client: WireClient, topic: str, reader: MakeReader
) -> None:
    """Spark says that it is to end before it asks where it begins; messages come meanwhile."""
    admin.create_topic(client, topic)
    stream = reader(subscribe=topic, startingOffsets="latest")
    stream.prepareForTriggerAvailableNow()
    send(client, topic, range(10), 1)
    start = stream.initialOffset()
    send(client, topic, range(10, 15), 1)
    end = next_end(stream, start)
    assert (start[topic], end[topic]) == ({"0": 10}, {"0": 15})
    send(client, topic, range(15, 20), 1)
    assert next_end(stream, end) == end, "it was there before"


def test_partitions_that_go_while_a_query_looks_are_read_to_their_end(
    broker: BrokerProcess,
    client: WireClient,
    topic: str,
    reader: MakeReader,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They go when it has seen them, and before it has asked where they end."""
    admin.create_topic(client, topic, partitions=4)
    stream = reader(subscribe=topic, startingOffsets="earliest")
    start = stream.initialOffset()
    send(client, topic, range(40), 4)
    original = offsets.ends

    def late(*args: Any, **more: Any) -> dict[int, int]:
        monkeypatch.setattr(bounds, "ends", original)
        reduce(broker.address, topic, 2)
        wait_reduced(broker.address, topic, 2)
        return original(*args, **more)

    monkeypatch.setattr(bounds, "ends", late)
    assert next_end(stream, start)[topic] == dict.fromkeys("0123", 10)


def test_a_batch_that_was_planned_before_its_topic_was_made_anew_is_lost_or_passed_over(
    client: WireClient, topic: str, reader: MakeReader
) -> None:
    """Spark has written its end down, and comes with it again and again."""
    admin.create_topic(client, topic)
    send(client, topic, range(10), 1)
    before = reader(subscribe=topic, startingOffsets="earliest")
    start = before.initialOffset()
    end = next_end(before, start)
    admin.delete_topic(client, topic)
    client.forget()
    admin.create_topic(client, topic)
    send(client, topic, range(20, 25), 1)
    careful, careless = reader(subscribe=topic), reader(subscribe=topic, failOnDataLoss="false")
    (planned,) = careful.partitions(start, end)
    with pytest.raises(DataLossError, match="the topic was deleted, and may have been made anew"):
        list(careful.read(planned))
    assert list(careless.read(planned)) == []
    following = careless.partitions(end, next_end(careless, end))
    rows = [row for each in following for batch in careless.read(each) for row in batch.to_pylist()]
    assert [row["offset"] for row in rows] == [0, 1, 2, 3, 4]
