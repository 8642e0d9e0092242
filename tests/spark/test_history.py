"""What retention took from a topic is read from its table, in its place, without Spark."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tests.broker_process import BrokerProcess
from tests.spark.records import (
    TIME_MS,
    Seen,
    in_table,
    in_topic,
    seen_in,
    send,
    send_in_transaction,
)

from penstock.client import admin, offsets
from penstock.client.cluster import WireClient
from penstock.client.ranges import Range
from penstock.spark.archive.archiver import ArchiveOptions, Archiver
from penstock.spark.archive.tasks import Here
from penstock.spark.errors import DataLossError, OptionError, SparkError
from penstock.spark.source.bounds import Bounds
from penstock.spark.source.columns import ARROW
from penstock.spark.source.options import SourceOptions, source_options
from penstock.spark.source.ranges import ranges_between
from penstock.spark.source.reading import read_rows
from penstock.spark.tables.formats import open_table
from penstock.spark.tables.maintenance import expire, expire_deleted
from penstock.spark.tables.topic_table import TableFormat


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


@pytest.fixture
def archive(
    broker: BrokerProcess, topic: str, tmp_path: Path, form: TableFormat
) -> Callable[[], None]:
    given = broker.address, topic, str(tmp_path / "t")
    options = ArchiveOptions(*given, once=True, rows_a_round=30, form=form)

    def run() -> None:
        Archiver(options, Here()).run()

    return run


@pytest.fixture
def options(broker: BrokerProcess, topic: str, tmp_path: Path) -> SourceOptions:
    given = {
        "bootstrapServers": broker.address,
        "subscribe": topic,
        "startingOffsets": "first",
        "archive": str(tmp_path / "t"),
        "includeHeaders": "true",
    }
    return source_options(given, is_stream=False)


def ranges(client: WireClient, options: SourceOptions) -> list[Range]:
    bounds = Bounds(client, options)
    return ranges_between(bounds.starting(), bounds.ending())


def read(client: WireClient, options: SourceOptions) -> list[Seen]:
    """In the order in which it comes."""
    batches = list(read_rows(options, ranges(client, options)))
    return seen_in(pa.Table.from_batches(batches))


def test_first_is_the_first_record_ever_whatever_the_topic_still_has(
    client: WireClient, topic: str, archive: Callable[[], None], options: SourceOptions
) -> None:
    admin.create_topic(client, topic, partitions=2)
    send(client, topic, range(100))
    archive()
    send(client, topic, range(100, 140))
    expected = in_topic(client, topic)
    for before in ({0: 7}, {0: 31, 1: 50}, {0: 50, 1: 50}):
        assert read(client, options) == expected
        offsets.delete_records(client, topic, before)
    assert read(client, options) == expected


def test_history_and_what_is_left_meet_in_the_middle_of_a_batch_and_of_a_file(
    client: WireClient, topic: str, archive: Callable[[], None], options: SourceOptions
) -> None:
    admin.create_topic(client, topic)
    for number in range(4):
        send_in_transaction(client, topic, [b"%d" % number] * 20, ok=number != 2)
    expected = in_topic(client, topic)
    archive()
    offsets.delete_records(client, topic, {0: 33})
    assert read(client, options) == expected
    cut = [Range(*each[:3], 11, 75) for each in ranges(client, options)]
    found = seen_in(pa.Table.from_batches(list(read_rows(options, cut))))
    assert found == [each for each in expected if 11 <= each.offset < 75]


def test_columns_are_those_that_were_asked_for(
    client: WireClient, topic: str, archive: Callable[[], None], options: SourceOptions
) -> None:
    admin.create_topic(client, topic)
    send(client, topic, range(20), 1)
    archive()
    offsets.delete_records(client, topic, {0: 10})
    plain = dataclasses.replace(options, headers=False)
    batches = list(read_rows(plain, ranges(client, plain)))
    assert all(each.schema == ARROW for each in batches)
    assert [at for each in batches for at in each.column("offset").to_pylist()] == [*range(20)]


def test_what_neither_has_is_lost(
    client: WireClient, topic: str, archive: Callable[[], None], options: SourceOptions
) -> None:
    admin.create_topic(client, topic)
    send(client, topic, range(60), 1)
    archive()
    send(client, topic, range(60, 100), 1)
    offsets.delete_records(client, topic, {0: 80})
    with pytest.raises(
        DataLossError, match=f"offsets 60 to 79 of {topic}-0 are neither in the topic"
    ):
        read(client, options)
    careless = dataclasses.replace(options, fail_on_data_loss=False)
    found = [each.offset for each in read(client, careless)]
    assert found == [*range(60), *range(80, 100)]


def test_what_was_deleted_is_not_given_once_the_archive_has_heard_of_it(
    client: WireClient, topic: str, archive: Callable[[], None], options: SourceOptions
) -> None:
    admin.create_topic(client, topic)
    send(client, topic, range(60), 1)
    archive()
    whole = ranges(client, options)
    offsets.delete_records(client, topic, {0: 40})
    archive()
    assert [each.offset for each in read(client, options)] == [*range(40, 60)]
    with pytest.raises(DataLossError, match=f"offsets 0 to 39 of {topic}-0"):
        list(read_rows(options, whole))
    table = open_table(options.archive or "")
    assert [each.end for each in expire_deleted(table)] == [30]
    assert len(in_table(table.folder)) == 30
    assert [each.offset for each in read(client, options)] == [*range(40, 60)]


def test_history_begins_where_the_table_does(
    client: WireClient, topic: str, archive: Callable[[], None], options: SourceOptions
) -> None:
    admin.create_topic(client, topic)
    send(client, topic, range(60), 1)
    archive()
    offsets.delete_records(client, topic, {0: 60})
    expire(open_table(options.archive or ""), TIME_MS + 30)
    assert [each.offset for each in read(client, options)] == [*range(30, 60)]


def test_the_table_of_another_topic_is_no_history(
    client: WireClient, topic: str, archive: Callable[[], None], options: SourceOptions
) -> None:
    admin.create_topic(client, topic)
    send(client, topic, range(5), 1)
    archive()
    admin.create_topic(client, f"{topic}-other")
    other = dataclasses.replace(
        options, chosen=dataclasses.replace(options.chosen, names=(f"{topic}-other",))
    )
    with pytest.raises(OptionError, match=f"the table of topic {topic}, which is not read"):
        read(client, other)
    admin.delete_topic(client, topic)
    client.forget()
    admin.create_topic(client, topic)
    with pytest.raises(SparkError, match="made anew"):
        read(client, options)
