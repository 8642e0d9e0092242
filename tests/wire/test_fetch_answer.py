"""The answer to a fetch, written by hand, held against the messages that it is made from."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.test_short_fetch import IDS, INT32, INT64, NAMES, VERSIONS

from penstock.wire.codec import encode_response
from penstock.wire.fetch_answer import encode_fetched
from penstock.wire.messages.k01_fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    SnapshotId,
)
from penstock.wire.short_fetch import HIGHEST, LOWEST
from penstock.world.ports import File, FileRange, Part


class NoFile:
    """Stands for a file that must not be touched."""


FILE: File = NoFile()  # type: ignore[assignment]


def flat(parts: list[Part]) -> list[Any]:
    """What goes over the wire, with files as they are: how the bytes are split does not matter."""
    whole: list[Any] = []
    for part in parts:
        if isinstance(part, FileRange):
            whole.append(part)
        elif whole and isinstance(whole[-1], bytes):
            whole[-1] += bytes(part)
        elif len(part):
            whole.append(bytes(part))
    return whole


def data_of(records: st.SearchStrategy[Any]) -> st.SearchStrategy[PartitionData]:
    return st.builds(
        PartitionData,
        partition_index=INT32,
        error_code=st.integers(-1, 130),
        high_watermark=INT64,
        last_stable_offset=INT64,
        log_start_offset=INT64,
        aborted_transactions=st.none() | st.just([]),
        preferred_read_replica=INT32,
        records=records,
    )


RANGES = st.builds(FileRange, st.just(FILE), st.integers(0, 1 << 40), st.integers(0, 1 << 27))
PLAIN = data_of(st.just(b"") | st.binary(max_size=300) | RANGES)
ANSWERS = st.builds(
    FetchResponse,
    throttle_time_ms=INT32,
    error_code=st.integers(-1, 130),
    session_id=INT32,
    responses=st.lists(
        st.builds(
            FetchableTopicResponse,
            topic=NAMES,
            topic_id=IDS,
            partitions=st.lists(PLAIN, max_size=4),
        ),
        max_size=3,
    ),
)


@given(version=VERSIONS, answer=ANSWERS)
def test_an_answer_is_what_the_messages_write(version: int, answer: FetchResponse) -> None:
    short = encode_fetched(answer, version, 77)
    assert short is not None
    assert flat(short) == flat(encode_response(answer, version, 77))


@pytest.mark.parametrize("version", [LOWEST, 12, HIGHEST])
def test_an_answer_of_thousands_of_partitions_is_what_the_messages_write(version: int) -> None:
    partitions = [
        PartitionData(index, records=FileRange(FILE, index, 70) if index % 3 else b"")
        for index in range(5000)
    ]
    topics = [FetchableTopicResponse("news", b"i" * 16, partitions)]
    topics += [FetchableTopicResponse("old", b"j" * 16) for _ in range(200)]
    answer = FetchResponse(session_id=9, responses=topics)
    short = encode_fetched(answer, version, 77)
    assert short is not None
    assert flat(short) == flat(encode_response(answer, version, 77))


@pytest.mark.parametrize(
    "unusual",
    [
        PartitionData(aborted_transactions=[AbortedTransaction(1, 2)], records=b""),
        PartitionData(diverging_epoch=EpochEndOffset(1, 2), records=b""),
        PartitionData(current_leader=LeaderIdAndEpoch(1, 2), records=b""),
        PartitionData(snapshot_id=SnapshotId(1, 2), records=b""),
        PartitionData(records=None),
    ],
)
def test_an_answer_with_something_unusual_is_left_to_the_messages(unusual: PartitionData) -> None:
    topics = [FetchableTopicResponse("news", partitions=[PartitionData(records=b""), unusual])]
    assert encode_fetched(FetchResponse(responses=topics), 12, 77) is None


def test_an_answer_with_endpoints_is_left_to_the_messages() -> None:
    assert (
        encode_fetched(FetchResponse(node_endpoints=[NodeEndpoint(1, "host", 9092)]), 16, 7) is None
    )
