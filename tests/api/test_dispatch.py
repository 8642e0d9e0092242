"""Which requests are too much to decode, and that the largest that clients make are not."""

from __future__ import annotations

import pytest

from penstock.api import dispatch
from penstock.api.call import Call, Unanswerable
from penstock.api.dispatch import (
    COUNTED_FROM_BYTES,
    ELEMENTS_AT_ONCE_MAX,
    ELEMENTS_MAX,
    LISTS_BYTES_MAX,
    Large,
    read_call,
    read_large,
)
from penstock.errors import Malformed
from penstock.wire.codec import Message, decode_response, encode_request
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from penstock.wire.messages.k01_fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from penstock.wire.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from penstock.wire.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.wire.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from penstock.wire.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from penstock.world.ports import FileRange

NAMES = [f"a-topic-with-a-name-{number:05}" for number in range(10_000)]


def frame_of(request: Message, version: int) -> memoryview:
    parts = encode_request(request, version, 1, "client")
    frame = b"".join(part for part in parts if not isinstance(part, FileRange))
    return memoryview(frame)[4:]


def read(request: Message, version: int) -> Call:
    frame = frame_of(request, version)
    try:
        return read_call(frame, "peer", 0)
    except Large:
        return read_large(frame, "peer", 0)


LARGE = [
    (FetchRequest(topics=[FetchTopic(name, partitions=[FetchPartition()]) for name in NAMES]), 12),
    (FetchRequest(topics=[FetchTopic("t", partitions=[FetchPartition()] * 20_000)]), 11),
    (FetchRequest(forgotten_topics_data=[ForgottenTopic("t", partitions=[7] * 20_000)]), 12),
    (MetadataRequest([MetadataRequestTopic(name=name) for name in NAMES]), 12),
    (
        OffsetCommitRequest(
            topics=[
                OffsetCommitRequestTopic(name, partitions=[OffsetCommitRequestPartition()])
                for name in NAMES
            ]
        ),
        8,
    ),
    (
        OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(
                    topics=[OffsetFetchRequestTopics(name, partition_indexes=[0]) for name in NAMES]
                )
            ]
        ),
        9,
    ),
    (
        CreateTopicsRequest(
            topics=[
                CreatableTopic(name, configs=[CreatableTopicConfig("retention.ms", "1")] * 3)
                for name in NAMES[:5000]
            ]
        ),
        5,
    ),
    (
        ProduceRequest(
            topic_data=[
                TopicProduceData(name, partition_data=[PartitionProduceData(0, bytes(500))])
                for name in NAMES
            ]
        ),
        9,
    ),
]


@pytest.mark.parametrize(("request_", "version"), LARGE, ids=lambda value: type(value).__name__)
def test_the_largest_requests_that_clients_make_are_read(request_: Message, version: int) -> None:
    assert read(request_, version).request == request_


@pytest.mark.parametrize(("request_", "version"), LARGE, ids=lambda value: type(value).__name__)
def test_what_takes_long_to_decode_is_large_unless_its_batches_must_stay_where_they_are(
    request_: Message, version: int
) -> None:
    frame = frame_of(request_, version)
    if isinstance(request_, ProduceRequest):
        assert read_call(frame, "peer", 0)
    else:
        with pytest.raises(Large):
            read_call(frame, "peer", 0)


def test_a_request_of_some_thousand_elements_is_decoded_at_once() -> None:
    names = [FetchTopic(name) for name in NAMES[:ELEMENTS_AT_ONCE_MAX]]
    assert read_call(frame_of(FetchRequest(topics=names), 12), "peer", 0)
    with pytest.raises(Large):
        read_call(frame_of(FetchRequest(topics=[*names, FetchTopic("t")]), 12), "peer", 0)


@pytest.mark.parametrize("version", [4, 12, 17])
def test_more_elements_than_the_limit_are_refused_with_its_number(version: int) -> None:
    name = "" if version >= 13 else "t"
    topics = [FetchTopic(name, partitions=[FetchPartition()] * (ELEMENTS_MAX - 1))]
    assert read(FetchRequest(topics=topics), version)
    topics[0].partitions.append(FetchPartition())
    with pytest.raises(Malformed, match=f"{ELEMENTS_MAX} are the limit"):
        read(FetchRequest(topics=topics), version)


def test_a_request_is_not_counted_while_it_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    topics = [FetchTopic("") for _ in range(COUNTED_FROM_BYTES // 3 - 20)]
    monkeypatch.setattr(dispatch, "ELEMENTS_MAX", 1)
    request = FetchRequest(topics=topics)
    assert read(request, 12).request == request


def test_a_request_of_few_elements_and_many_bytes_is_for_produce_alone() -> None:
    topic = MetadataRequestTopic(name="n" * LISTS_BYTES_MAX)
    with pytest.raises(Unanswerable, match=f"the limit is {LISTS_BYTES_MAX}"):
        read(MetadataRequest([topic]), 12)
    batch = PartitionProduceData(0, bytes(LISTS_BYTES_MAX))
    request = ProduceRequest(topic_data=[TopicProduceData("t", partition_data=[batch])])
    assert read(request, 9).request == request


@pytest.mark.parametrize("version", [11, 12, 17])
def test_the_answer_to_any_fetch_is_what_the_message_says(version: int) -> None:
    topics = [FetchableTopicResponse("t", bytes(16), [PartitionData(records=b"batch")])]
    unusual = PartitionData(aborted_transactions=[AbortedTransaction(1, 2)], records=b"batch")
    for partition in (topics[0].partitions[0], unusual):
        topics[0].partitions = [partition]
        answer = FetchResponse(responses=topics)
        for wanted in ([], [FetchTopic("", partitions=[FetchPartition()] * 2)]):
            call = read(FetchRequest(topics=wanted), version)
            parts = [part for part in call.encode(answer) if not isinstance(part, FileRange)]
            assert decode_response(FetchResponse, b"".join(parts)[4:], version) == (
                1,
                FetchResponse.decode(answer.encode(version), version),
            )
