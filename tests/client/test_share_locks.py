"""Locks of records that nobody takes, against brokers that answer as a test says."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable
from typing import Any, cast

import pytest
from tests.client.scripted import ScriptedBroker, client_of

from penstock.client.connection import Address, Connection
from penstock.client.errors import ClientError
from penstock.client.share_control import Control, Placement
from penstock.client.share_link import Link, Who
from penstock.client.share_links import Links
from penstock.client.share_locks import Locks
from penstock.client.share_shelf import Shelf
from penstock.metadata.features import PENSTOCK_VERSION
from penstock.sharing.acknowledging import UNSEEN, Answer
from penstock.wire.batch_builder import build_batch
from penstock.wire.messages import APIS, ApiKey
from penstock.wire.messages.k18_api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    SupportedFeatureKey,
)
from penstock.wire.messages.k78_share_fetch import (
    AcquiredRecords,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)
from penstock.wire.messages.k79_share_acknowledge import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from penstock.wire.records import Record

ADDRESS = Address("broker", 1)
PLACE = (bytes(range(16)), 0)
LOCK_S = 60.0


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class Dialler:
    """Connects at once, in place of the thread that does so."""

    def __init__(self, broker: ScriptedBroker) -> None:
        self._client = client_of({1: broker})

    def dial(self, address: Address, then: Callable[[Connection | ClientError], None]) -> None:
        then(self._client.dial(address, time.monotonic() + 30))


class Deaf:
    """Of a selector: sockets that are only memory have nothing to wait for."""

    def register(self, *_: Any) -> None: ...


def broker_with(feature: str, records: int) -> ScriptedBroker:
    batch = bytes(build_batch([Record(offset, 0, None, b"v") for offset in range(records)]))
    data = PartitionData(
        0, records=batch, acquired_records=[AcquiredRecords(0, records - 1, delivery_count=1)]
    )
    topic = ShareFetchableTopicResponse(PLACE[0], [data])
    versions = [ApiVersion(key, api.min_version, api.max_version) for key, api in APIS.items()]
    features = [SupportedFeatureKey(feature, 1, 1)]
    return (
        ScriptedBroker()
        .answers(
            ApiKey.API_VERSIONS,
            lambda _: ApiVersionsResponse(api_keys=versions, supported_features=features),
        )
        .answers(
            ApiKey.SHARE_FETCH,
            lambda _: ShareFetchResponse(
                acquisition_lock_timeout_ms=round(LOCK_S * 1000), responses=[topic]
            ),
        )
        .answers(ApiKey.SHARE_ACKNOWLEDGE, lambda _: ShareAcknowledgeResponse())
    )


class Bench:
    """A member that has three records, and works on the first."""

    def __init__(self, feature: str) -> None:
        self.broker, self.clock = broker_with(feature, 3), Clock()
        self.shelf = Shelf(10, self.clock)
        self.links = Links(
            Who("g", "m"),
            self.shelf,
            cast("selectors.BaseSelector", Deaf()),
            self.clock,
            lambda order: order(),
            lambda error: pytest.fail(error.said),
        )
        self.links.control = cast("Control", Dialler(self.broker))
        self.links.place(Placement({1: ADDRESS}, {1: {PLACE}}))
        self.links.dial()
        self.link: Link = next(iter(self.links))
        self.link.fetch(3)
        self.links.receive(self.link)
        (self.first,) = self.shelf.take(1)
        self.locks = Locks(self.links, self.shelf, self.clock, None)

    def after(self, seconds: float) -> list[tuple[int, int, list[int], int]]:
        """What it has said by then: offsets, answers and pauses."""
        self.clock.now_s += seconds
        self.locks.attend()
        self.links.ask(fetches=False)
        return [
            (each.first_offset, each.last_offset, each.acknowledge_types, each.delay_ms)
            for request in self.broker.asked(ShareAcknowledgeRequest)
            for topic in request.topics
            for partition in topic.partitions
            for each in partition.acknowledgement_batches
        ]


def test_what_waits_behind_a_slow_record_is_given_back_as_unseen_after_a_second() -> None:
    bench = Bench(PENSTOCK_VERSION)
    assert bench.after(0.9) == []
    assert bench.after(0.2) == [(1, 2, [Answer.RELEASE], UNSEEN)]
    assert bench.shelf.take(10) == []


def test_where_giving_back_counts_as_delivered_it_waits_until_the_lock_is_about_to_end() -> None:
    bench = Bench("metadata.version")
    assert bench.after(0.7 * LOCK_S) == []
    assert bench.after(0.1 * LOCK_S) == [(1, 2, [Answer.RELEASE], UNSEEN)]


def test_what_was_given_back_is_not_fetched_again_for_what_was_done_before() -> None:
    bench = Bench(PENSTOCK_VERSION)
    for _ in range(10):
        bench.shelf.note_done()
    assert bench.shelf.need() > 0
    bench.after(1.1)
    assert bench.shelf.need() == 0


def test_what_is_taken_in_time_is_not_given_back() -> None:
    bench = Bench(PENSTOCK_VERSION)
    assert bench.after(0.9) == []
    taken = bench.shelf.take(10)
    assert [each.record.offset for each in taken] == [1, 2]
    assert bench.after(0.2) == []
