"""What a backfill is, from its first start on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.spark.records import send

from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.client.positions import Position
from penstock.spark.errors import SparkError
from penstock.spark.pipelines.backfill import Wanted, decided


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


def test_a_name_is_of_one_topic_range_and_target(
    client: WireClient, topic: str, tmp_path: Path
) -> None:
    admin.create_topic(client, topic)
    send(client, topic, range(10), 1)
    wanted = Wanted(topic, Position(offset=3), None, "copy")
    part = decided(client, wanted, tmp_path)
    assert (part.starts, part.ends) == ({0: 3}, {0: 10})
    send(client, topic, range(10, 15), 1)
    assert decided(client, wanted, tmp_path) == part
    for other in (
        wanted._replace(topic="another"),
        wanted._replace(start=None),
        wanted._replace(end=Position(offset=5)),
        wanted._replace(target="another"),
        wanted._replace(target="/data/copy"),
    ):
        with pytest.raises(SparkError, match="topic, range or target: give this one another"):
            decided(client, other, tmp_path)
