"""The checker for very many finds whatever is wrong; and a slice of what it is there for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pytest
from bench.ten_million import PARTITIONS, round_trip
from tests.broker_process import BrokerProcess
from tests.spark.arrow_records import check_equal, check_round_trip

from penstock.client.cluster import WireClient
from penstock.client.producer import Producer
from penstock.spark.archive.tasks import Here as ArchivedHere
from penstock.spark.replay.tasks import Here as ReplayedHere

VALUES = [b"value %d" % number for number in range(1000)]
COUNT = 8_000


def batches(values: list[bytes], size: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(values), size):
        yield pa.record_batch(
            [pa.array(values[start : start + size], pa.binary())], names=["value"]
        )


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_same_is_equal_however_it_is_cut(size: int) -> None:
    assert check_equal(batches(VALUES, 100), batches(VALUES, size)) == 1000


@pytest.mark.parametrize("at", [0, 99, 500, 999])
def test_one_changed_byte_is_found(at: int) -> None:
    changed = [*VALUES[:at], VALUES[at][:-1] + b"x", *VALUES[at + 1 :]]
    with pytest.raises(AssertionError, match=f"^row {at}: .*x'"):
        check_equal(batches(VALUES, 100), batches(changed, 33))


@pytest.mark.parametrize("at", [0, 99, 500, 998])
def test_two_that_changed_places_are_found(at: int) -> None:
    swapped = [*VALUES[:at], VALUES[at + 1], VALUES[at], *VALUES[at + 2 :]]
    with pytest.raises(AssertionError, match=f"^row {at}: "):
        check_equal(batches(VALUES, 100), batches(swapped, 100))


@pytest.mark.parametrize("at", [0, 99, 500, 999])
def test_one_that_is_missing_or_there_twice_is_found(at: int) -> None:
    missing = VALUES[:at] + VALUES[at + 1 :]
    doubled = VALUES[: at + 1] + VALUES[at:]
    told = {999: "^row 999 is in one alone"}.get(at, f"^row {at}: ")
    with pytest.raises(AssertionError, match=told):
        check_equal(batches(VALUES, 100), batches(missing, 100))
    told = {999: "^row 1000 is in one alone"}.get(at, f"^row {at + 1}: ")
    with pytest.raises(AssertionError, match=told):
        check_equal(batches(doubled, 33), batches(VALUES, 100))


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


def test_messages_archived_and_replayed_are_those_that_were_sent(
    client: WireClient, topic: str, tmp_path: Path
) -> None:
    def untimed(name: str, rows: int) -> nullcontext[None]:
        return nullcontext()

    found = round_trip(client, topic, tmp_path, COUNT, ArchivedHere(), ReplayedHere(), untimed)
    assert found == COUNT
    producer = Producer(client, f"{topic}-again")
    producer.send(b"one more", partition=PARTITIONS - 1)
    producer.flush()
    with pytest.raises(AssertionError, match="is in one alone"):
        check_round_trip(client, topic, tmp_path, f"{topic}-again")
