"""Where the queries of a pipeline begin that is to begin with what comes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.spark.records import send

from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.spark.pipelines.declaration import Pipeline, Sink, Source
from penstock.spark.pipelines.starting import with_starts


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


def declared(topic: str, **source: str) -> Pipeline:
    read = Source(topic=topic, **source)  # type: ignore[arg-type]
    return Pipeline(name="p", sources={"read": read}, sink=Sink(topic=f"{topic}-out"))


def test_a_pipeline_begins_where_the_topic_ended_at_its_first_start(
    broker: BrokerProcess, client: WireClient, topic: str, tmp_path: Path
) -> None:
    """Both of its queries do, and whoever is killed before the first batch."""
    admin.create_topic(client, topic, partitions=2)
    latest = declared(topic, format="json", schema="id int", starting="latest")

    def starting() -> dict[str, int]:
        found = with_starts(latest, broker.address, tmp_path).sources["read"].starting
        told: dict[str, int] = json.loads(found)[topic]
        return told

    send(client, topic, range(10))
    assert starting() == {"0": 5, "1": 5}
    send(client, topic, range(10))
    admin.add_partitions(client, topic, 3)
    assert starting() == {"0": 5, "1": 5, "2": 0}


def test_what_begins_elsewhere_is_left_as_it_is(tmp_path: Path) -> None:
    pipeline = declared("t", format="json", schema="id int")
    assert with_starts(pipeline, "127.0.0.1:1", tmp_path) is pipeline
