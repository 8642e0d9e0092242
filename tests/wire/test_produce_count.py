"""Counting the partitions of a Produce request, held against the messages that have them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.test_single_produce import VERSIONS, frame

from penstock.errors import Malformed
from penstock.wire.codec import request_header
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from penstock.wire.produce_count import check_partition_count
from penstock.wire.single_produce import TOPIC_IDS_SINCE

BATCHES = st.none() | st.binary(max_size=300)


def a_request(version: int, topics: list[list[bytes | None]]) -> ProduceRequest:
    by_id = version >= TOPIC_IDS_SINCE
    data = [
        TopicProduceData(
            "" if by_id else "news",
            b"i" * 16 if by_id else bytes(16),
            [PartitionProduceData(number, batch) for number, batch in enumerate(batches)],
        )
        for batches in topics
    ]
    return ProduceRequest(acks=1, timeout_ms=1, topic_data=data)


@given(version=VERSIONS, topics=st.lists(st.lists(BATCHES, max_size=4), min_size=1, max_size=4))
def test_every_topic_and_every_partition_counts(
    version: int, topics: list[list[bytes | None]]
) -> None:
    request = frame(a_request(version, topics), version)
    _, body = request_header(request)
    size = len(topics) + sum(map(len, topics))
    check_partition_count(request, version, body, size)
    with pytest.raises(Malformed, match="too many partitions"):
        check_partition_count(request, version, body, size - 1)


@given(version=VERSIONS, data=st.data())
def test_a_request_that_was_cut_off_is_refused(version: int, data: st.DataObject) -> None:
    request = frame(a_request(version, [[b"batch", None], [b"x"]]), version)
    _, body = request_header(request)
    end = data.draw(st.integers(body, len(request) - 4))
    with pytest.raises(Malformed):
        check_partition_count(request[:end], version, body, 10)
