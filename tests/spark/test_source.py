"""Topics read by Spark: as tables, and as streams that go on where they stood."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from tests.broker_process import BrokerProcess
from tests.reduction_stage import reduce, wait_reduced

from penstock.client import admin, offsets
from penstock.client.cluster import WireClient
from penstock.client.group_offsets import committed_offsets
from penstock.client.producer import Producer

Load = Callable[..., DataFrame]


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


@pytest.fixture
def load(spark: SparkSession, broker: BrokerProcess, topic: str) -> Load:
    def made(**options: str) -> DataFrame:
        told = {name.replace("__", "."): text for name, text in options.items()}
        given = {"bootstrapServers": broker.address, "subscribe": topic, **told}
        return spark.read.format("penstock").options(**given).load()

    return made


class Query:
    """A stream into a table of Parquet files, started and ended again and again."""

    def __init__(self, spark: SparkSession, folder: Path, options: dict[str, str]) -> None:
        self._spark = spark
        self._checkpoint = str(folder / "checkpoint")
        self._table = str(folder / "table")
        self._options = {"startingOffsets": "earliest", **options}

    def run(self, **more: str) -> list[dict[str, Any]]:
        """All that there is now; the progress of each batch."""
        stream = self._spark.readStream.format("penstock").options(**self._options, **more).load()
        query = (
            stream.writeStream.format("parquet")
            .option("checkpointLocation", self._checkpoint)
            .trigger(availableNow=True)
            .start(self._table)
        )
        query.awaitTermination()
        return [dict(each) for each in query.recentProgress]

    def rows(self) -> list[Row]:
        found = self._spark.read.parquet(self._table).orderBy("partition", "offset")
        return list(found.collect())


@pytest.fixture
def query(spark: SparkSession, broker: BrokerProcess, topic: str, tmp_path: Path) -> Query:
    return Query(spark, tmp_path, {"bootstrapServers": broker.address, "subscribe": topic})


def create(client: WireClient, topic: str, partitions: int = 1) -> None:
    """For records of 1970, which retention would take."""
    admin.create_topic(client, topic, partitions=partitions, configs={"retention.ms": "-1"})


def send(client: WireClient, topic: str, numbers: range, partitions: int = 1) -> None:
    producer = Producer(client, topic)
    for number in numbers:
        producer.send(
            b"value %d" % number,
            b"key %d" % number,
            ((b"tag", b"%d" % number),) if number % 2 else (),
            partition=number % partitions,
            timestamp_ms=1_000_000 + number,
        )
    producer.flush()


def values(rows: list[Row]) -> list[int]:
    return sorted(int(bytes(row.value).split()[1]) for row in rows)


def test_a_topic_is_a_table_with_the_columns_of_sparks_kafka_source(
    client: WireClient, topic: str, load: Load
) -> None:
    create(client, topic, 2)
    send(client, topic, range(10), 2)
    table = load(includeHeaders="true")
    told = "key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,"
    told += "timestampType:int,headers:array<struct<key:string,value:binary>>"
    assert ",".join(f"{name}:{kind}" for name, kind in table.dtypes) == told
    first, second = table.where("offset = 4").orderBy("partition").collect()
    assert (bytes(first.key), bytes(first.value)) == (b"key 8", b"value 8")
    assert (first.topic, first.partition, first.timestampType) == (topic, 0, 0)
    assert first.timestamp.timestamp() == 1000.008
    assert first.headers is None
    assert [(each.key, bytes(each.value)) for each in second.headers] == [("tag", b"9")]
    assert values(load().collect()) == [*range(10)]


def test_bounds_are_offsets_or_times(client: WireClient, topic: str, load: Load) -> None:
    create(client, topic, 2)
    send(client, topic, range(20), 2)
    given = f'{{"{topic}": {{"0": 3, "1": -2}}}}'
    to = f'{{"{topic}": {{"0": -1, "1": 2}}}}'
    found = load(startingOffsets=given, endingOffsets=to).collect()
    assert values(found) == [1, 3, *range(6, 20, 2)]
    found = load(startingTimestamp="1000015", endingTimestamp="1000018").collect()
    assert values(found) == [15, 16, 17]
    given = f'{{"{topic}": {{"0": 1000007, "1": 2000000}}}}'
    with pytest.raises(PySparkException, match="has no record as late"):
        load(startingOffsetsByTimestamp=given).collect()
    found = load(
        startingOffsetsByTimestamp=given, startingOffsetsByTimestampStrategy="latest"
    ).collect()
    assert values(found) == [*range(8, 20, 2)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"startingOffsets": '{"other": {"0": 3}}'}, "says nothing of"),
        ({"subscribe": "nowhere"}, "there is no such topic"),
        ({"bootstrapServers": "127.0.0.1:1"}, "127.0.0.1:1"),
        ({"includeHeader": "true"}, "did you mean includeHeaders"),
    ],
)
def test_what_is_wrong_is_said(
    client: WireClient, topic: str, load: Load, options: dict[str, str], said: str
) -> None:
    create(client, topic)
    with pytest.raises(PySparkException, match=said):
        load(**options).collect()


def test_what_retention_removed_is_missed_or_passed_over(
    client: WireClient, topic: str, load: Load
) -> None:
    create(client, topic)
    send(client, topic, range(30))
    offsets.delete_records(client, topic, {0: 10})
    assert values(load().collect()) == [*range(10, 30)]
    given = f'{{"{topic}": {{"0": 5}}}}'
    with pytest.raises(PySparkException, match=f"offsets 5 to 9 of {topic}-0"):
        load(startingOffsets=given).collect()
    found = load(startingOffsets=given, failOnDataLoss="false").collect()
    assert values(found) == [*range(10, 30)]


def test_a_stream_goes_on_where_it_stood(client: WireClient, topic: str, query: Query) -> None:
    create(client, topic)
    send(client, topic, range(10))
    query.run()
    send(client, topic, range(10, 15))
    query.run()
    query.run()
    assert values(query.rows()) == [*range(15)]


def test_a_batch_has_no_more_rows_than_allowed(
    client: WireClient, topic: str, query: Query
) -> None:
    create(client, topic, 2)
    send(client, topic, range(20), 2)
    progress = query.run(maxOffsetsPerTrigger="8")
    assert [each["numInputRows"] for each in progress] == [8, 8, 4]
    assert values(query.rows()) == [*range(20)]


def test_progress_shows_as_a_groups_lag(client: WireClient, topic: str, query: Query) -> None:
    create(client, topic)
    send(client, topic, range(10))
    query.run(groupId=f"{topic}-readers")
    found = committed_offsets(client, f"{topic}-readers")
    assert {place: each.offset for place, each in found.items()} == {(topic, 0): 10}


def test_partitions_that_are_added_are_read(client: WireClient, topic: str, query: Query) -> None:
    create(client, topic)
    send(client, topic, range(5))
    query.run()
    admin.add_partitions(client, topic, 2)
    client.forget()
    send(client, topic, range(5, 15), 2)
    query.run()
    assert values(query.rows()) == [*range(15)]


def test_partitions_that_close_are_read_to_their_end(
    client: WireClient, broker: BrokerProcess, topic: str, query: Query
) -> None:
    """What was left in them is in another topic then, and they may come again."""
    create(client, topic, 4)
    send(client, topic, range(20), 4)
    query.run()
    send(client, topic, range(20, 40), 4)
    reduce(broker.address, topic, 2, "--when", "drained")
    wait_reduced(broker.address, topic, 2)
    client.forget()
    send(client, topic, range(40, 50), 2)
    query.run(maxOffsetsPerTrigger="12")
    query.run()
    admin.add_partitions(client, topic, 4)
    client.forget()
    send(client, topic, range(50, 70), 4)
    query.run()
    assert values(query.rows()) == [*range(70)]


def test_a_topic_made_anew_is_noticed(client: WireClient, topic: str, query: Query) -> None:
    create(client, topic)
    send(client, topic, range(5))
    query.run()
    admin.delete_topic(client, topic)
    client.forget()
    create(client, topic)
    send(client, topic, range(100, 110))
    with pytest.raises(PySparkException, match="is not there any more"):
        query.run()
    query.run(failOnDataLoss="false")
    assert values(query.rows()) == [*range(5), *range(100, 110)]


def test_where_leaves_out_what_does_not_match_in_batches_and_in_streams(
    client: WireClient, topic: str, load: Load, query: Query
) -> None:
    create(client, topic, 2)
    send_of_regions(client, topic, 0, 300)
    eu = [number for number in range(600) if number % 3 == 0]
    found = load(where="region = 'eu'").collect()
    assert sorted(int(row.value) for row in found) == eu[:100]
    assert {row.topic for row in found} == {topic}
    query.run(where="region='eu'")
    send_of_regions(client, topic, 300, 600)
    query.run(where="region='eu'")
    rows = query.rows()
    assert sorted(int(row.value) for row in rows) == eu
    assert {row.topic for row in rows} == {topic}
    with pytest.raises(PySparkException, match="option where: expected"):
        load(where="region =").collect()


def send_of_regions(client: WireClient, topic: str, first: int, end: int) -> None:
    """Every third number is of Europe."""
    producer = Producer(client, topic)
    for number in range(first, end):
        region = b"eu" if number % 3 == 0 else b"us"
        producer.send(b"%d" % number, headers=((b"region", region),), partition=number % 2)
    producer.flush()
