"""An archiver that is killed at any moment: the next one goes on, and each record is there once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.spark.records import in_table, in_topic, send
from tests.spark.worker_process import start, work

from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.spark.archive.archiver import ArchiveOptions, Archiver
from penstock.spark.archive.tasks import Here
from penstock.spark.tables.formats import open_table
from penstock.spark.tables.topic_table import TableFormat

POINTS = [
    ("after file", 100),
    ("before commit", 200),
    ("commit+0", None),
    ("commit+4", None),
    ("after commit", 300),
]
IN_ICEBERG = [("after sync", 200), ("before publication", 100)]
"""Within a commit: before it is made, and before others are led to it, in the round before."""


def go_on(broker: BrokerProcess, topic: str, folder: Path, form: TableFormat) -> None:
    options = ArchiveOptions(broker.address, topic, str(folder), once=True, form=form)
    Archiver(options, Here()).run()


@pytest.mark.parametrize(
    ("form", "point", "rows"),
    [
        *((form, *point) for form in TableFormat for point in POINTS),
        *((TableFormat.ICEBERG, *point) for point in IN_ICEBERG),
    ],
)
def test_a_killed_archiver_leaves_whole_rounds_and_is_gone_on_with(
    broker: BrokerProcess,
    topic: str,
    tmp_path: Path,
    form: TableFormat,
    point: str,
    rows: int | None,
) -> None:
    folder = tmp_path / "table"
    with WireClient(broker.address) as client:
        admin.create_topic(client, topic, partitions=2)
        send(client, topic, range(500))
        expected = in_topic(client, topic)
        lived = work("archive", broker.address, topic, folder, point, form)
        found = in_table(folder)
        if rows is None:  # a blow from outside, a little sooner or later
            assert len(found) in ({500} if lived else {200, 300, 400, 500})
        else:
            assert (lived, len(found)) == (False, rows)
        assert [each for each in expected if each in set(found)] == found
        go_on(broker, topic, folder, form)
        assert in_table(folder) == expected
        table = open_table(folder)
        table.vacuum(0)
        assert len([*folder.rglob("*.parquet")]) == len(table.files())
        assert in_table(folder) == expected


def test_two_archivers_at_once_archive_each_record_once(
    broker: BrokerProcess, topic: str, tmp_path: Path, form: TableFormat
) -> None:
    """One of them, or both in turn, get further; who is overtaken says so and ends."""
    folder = tmp_path / "table"
    with WireClient(broker.address) as client:
        admin.create_topic(client, topic, partitions=2)
        send(client, topic, range(1000))
        running = [start("archive", broker.address, topic, folder, form=form) for _ in range(2)]
        for each in running:
            code, told = each.end()
            assert code == 0 or "Overtaken" in told, told
        go_on(broker, topic, folder, form)
        assert in_table(folder) == in_topic(client, topic)
