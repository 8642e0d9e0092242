"""The short way of a fetch, held against the messages that it stands in for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import Malformed
from penstock.wire.codec import encode_request, request_header
from penstock.wire.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)
from penstock.wire.short_fetch import (
    HIGHEST,
    LOWEST,
    NO_REPLICA_ID_SINCE,
    TOPIC_IDS_SINCE,
    read_fetch,
)

VERSIONS = st.integers(LOWEST, HIGHEST)
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
NAMES = st.text(max_size=60) | st.just("n" * 249)
IDS = st.binary(min_size=16, max_size=16)
STATES = st.builds(ReplicaState, INT32, INT64)
CLIENTS = st.none() | st.text(max_size=20)


def frame(request: FetchRequest, version: int, client_id: str | None = "client") -> memoryview:
    (whole,) = encode_request(request, version, 77, client_id)
    assert isinstance(whole, bytearray)
    return memoryview(whole)[4:]


@st.composite
def requests(draw: st.DrawFn, version: int, topics: int) -> FetchRequest:
    by_id = version >= TOPIC_IDS_SINCE
    wanted = [
        FetchTopic(
            "" if by_id else draw(NAMES),
            draw(IDS) if by_id else bytes(16),
            [
                FetchPartition(
                    draw(INT32),
                    draw(INT32),
                    draw(INT64),
                    draw(INT32) if version > LOWEST else -1,
                    draw(INT64),
                    draw(INT32),
                )
            ],
        )
        for _ in range(topics)
    ]
    return FetchRequest(
        replica_id=-1 if version >= NO_REPLICA_ID_SINCE else draw(INT32),
        replica_state=draw(STATES) if version >= NO_REPLICA_ID_SINCE else ReplicaState(),
        max_wait_ms=draw(INT32),
        min_bytes=draw(INT32),
        max_bytes=draw(INT32),
        isolation_level=draw(st.integers(-128, 127)),
        session_id=draw(INT32),
        session_epoch=draw(INT32),
        topics=wanted,
        rack_id=draw(st.text(max_size=20)),
    )


@given(version=VERSIONS, topics=st.integers(0, 1), client_id=CLIENTS, data=st.data())
def test_what_is_read_is_what_the_messages_read(
    version: int, topics: int, client_id: str | None, data: st.DataObject
) -> None:
    asked = data.draw(requests(version, topics))
    request = frame(asked, version, client_id)
    short = read_fetch(request)
    if short is None:  # a name that takes two bytes for its length
        assert len(asked.topics[0].topic.encode()) > 126
        return
    assert short == (version, 77, client_id, asked)
    header, body = request_header(request)
    assert FetchRequest.decode(request, header.api_version, body) == short.request


@given(version=VERSIONS, topics=st.integers(0, 1), data=st.data())
def test_of_bytes_that_are_wrong_nothing_is_read_but_what_the_messages_read(
    version: int, topics: int, data: st.DataObject
) -> None:
    request = bytearray(frame(data.draw(requests(version, topics)), version))
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(2, len(request) - 1))
        request[place] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(len(request) - 3, len(request)))
    damaged = memoryview(request)[:end]
    short = read_fetch(damaged)
    if short is None:
        return
    header, body = request_header(damaged)
    assert header.client_id == short.client_id
    assert FetchRequest.decode(damaged, header.api_version, body) == short.request


@pytest.mark.parametrize("version", range(LOWEST, HIGHEST + 1))
def test_a_session_without_changes_and_a_single_partition_go_the_short_way(version: int) -> None:
    by_id = version >= TOPIC_IDS_SINCE
    topic = FetchTopic("" if by_id else "news", b"i" * 16 if by_id else bytes(16))
    topic.partitions.append(FetchPartition(3, fetch_offset=5))
    for request in (FetchRequest(session_id=1, session_epoch=2), FetchRequest(topics=[topic])):
        short = read_fetch(frame(request, version))
        assert short is not None
        assert short.request == request


@pytest.mark.parametrize(
    "request_",
    [
        FetchRequest(topics=[FetchTopic("a"), FetchTopic("b")]),
        FetchRequest(topics=[FetchTopic("a", partitions=[FetchPartition(), FetchPartition()])]),
        FetchRequest(topics=[FetchTopic("a")]),
        FetchRequest(forgotten_topics_data=[ForgottenTopic("a")]),
        FetchRequest(cluster_id="cluster"),
    ],
)
def test_other_fetches_are_left_to_the_messages(request_: FetchRequest) -> None:
    assert read_fetch(frame(request_, 12)) is None


@pytest.mark.parametrize("version", range(NO_REPLICA_ID_SINCE, HIGHEST + 1))
def test_a_follower_goes_the_short_way(version: int) -> None:
    topic = FetchTopic(topic_id=b"i" * 16, partitions=[FetchPartition(3, fetch_offset=5)])
    for topics in ([], [topic]):
        request = FetchRequest(replica_state=ReplicaState(2, 1), topics=topics)
        short = read_fetch(frame(request, version))
        assert short is not None
        assert short.request == request


def test_a_follower_that_says_more_is_left_to_the_messages() -> None:
    asked = FetchRequest(cluster_id="cluster", replica_state=ReplicaState(2, 1))
    assert read_fetch(frame(asked, HIGHEST)) is None


def test_every_prefix_of_a_fetch_is_left_to_the_messages() -> None:
    whole = frame(FetchRequest(topics=[FetchTopic("a", partitions=[FetchPartition()])]), 12)
    for end in range(len(whole)):
        assert read_fetch(whole[:end]) is None
        with pytest.raises(Malformed):
            FetchRequest.decode(whole[:end], 12, request_header(whole)[1])
