"""What lies in a topic, for tests: as a reader of committed records finds it."""

from __future__ import annotations

import time
from collections.abc import Callable

from penstock.client.cluster import WireClient
from penstock.client.offsets import EARLIEST, LATEST, ends
from penstock.client.ranges import Gap, Range, RangeReader
from penstock.client.transactions import OPEN, list_transactions
from penstock.spark.sink.transactions import PREFIX
from penstock.wire.records import Record

WAIT_S = 30.0


def wait_until(is_so: Callable[[], bool], patience_s: float = WAIT_S) -> None:
    deadline = time.monotonic() + patience_s
    while not is_so():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.01)


def open_transactions(client: WireClient, query: str = "") -> list[str]:
    listed = list_transactions(client, OPEN)
    return [each.name for each in listed if each.name.startswith(PREFIX + query)]


def committed(client: WireClient, topic: str) -> dict[int, list[Record]]:
    """By partition, in order."""
    client.forget()
    told = client.retry(lambda deadline: client.topic(topic, deadline=deadline))
    starts = ends(client, topic, told.partitions, EARLIEST)
    stops = ends(client, topic, told.partitions, LATEST, committed=True)
    found: dict[int, list[Record]] = {}
    for index, start in starts.items():
        place = Range(topic, told.log_id_of(index), index, start, stops[index])
        reader = RangeReader(client, _in_vain)
        found[index] = [
            record
            for arrived in reader.batches(place)
            for record in arrived.records()
            if record.offset < place.end
        ]
    return found


def values(client: WireClient, topic: str) -> list[bytes]:
    """Of all partitions, sorted."""
    rows = (record for records in committed(client, topic).values() for record in records)
    return sorted(record.value or b"" for record in rows)


def _in_vain(gap: Gap) -> None:
    raise AssertionError(gap)
