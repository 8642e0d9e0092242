from __future__ import annotations

import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import Malformed
from penstock.wire.codec import (
    NULL_UUID,
    RequestHeader,
    decode_response,
    encode_request,
    encode_response,
    request_header,
)
from penstock.wire.messages import APIS, ApiKey, message_types
from penstock.wire.messages.k00_produce import (
    LeaderIdAndEpoch,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from penstock.wire.messages.k01_fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from penstock.wire.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from penstock.wire.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from penstock.wire.messages.k68_consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from penstock.wire.primitives import SMALL_BYTES
from penstock.world.ports import Buffer, File, FileRange, Part


def joined(parts: list[Part]) -> bytes:
    assert not any(isinstance(part, FileRange) for part in parts)
    return b"".join(bytes(part) for part in parts if not isinstance(part, FileRange))


def produce(records: Buffer | None) -> ProduceRequest:
    partition = PartitionProduceData(index=1, records=records)
    return ProduceRequest(acks=-1, topic_data=[TopicProduceData("t", partition_data=[partition])])


def fetched(*records: Part | None) -> FetchResponse:
    partitions = [PartitionData(partition_index=n, records=r) for n, r in enumerate(records)]
    return FetchResponse(responses=[FetchableTopicResponse("t", partitions=partitions)])


class NoFile:
    """Stands for a file that must not be touched."""


def file_range(length: int) -> FileRange:
    file: File = NoFile()  # type: ignore[assignment]
    return FileRange(file, 0, length)


def test_a_message_is_built_by_naming_only_what_matters() -> None:
    assert FetchRequest(max_wait_ms=5).max_bytes == 0x7FFFFFFF


def test_two_messages_do_not_share_their_lists() -> None:
    ProduceRequest().topic_data.append(TopicProduceData())
    assert ProduceRequest().topic_data == []


def test_records_are_a_view_into_the_request() -> None:
    data = bytearray(produce(b"batch").encode(9))
    records = ProduceRequest.decode(data, 9).topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    records[0:1] = b"B"
    assert b"Batch" in data


def test_records_may_be_null() -> None:
    for version in (3, 9):
        decoded = ProduceRequest.decode(produce(None).encode(version), version)
        assert decoded.topic_data[0].partition_data[0].records is None


def test_bytes_after_a_message_are_tolerated() -> None:
    data = produce(b"batch").encode(9)
    assert ProduceRequest.decode(data + b"junk", 9) == ProduceRequest.decode(data, 9)


def test_a_message_can_begin_anywhere_in_the_data() -> None:
    data = produce(b"batch").encode(9)
    assert ProduceRequest.decode(b"head" + data, 9, 4) == ProduceRequest.decode(data, 9)


def test_a_version_that_is_not_there_is_refused() -> None:
    with pytest.raises(Malformed):
        ProduceRequest.decode(b"", ProduceRequest.MAX_VERSION + 1)
    with pytest.raises(ValueError, match="no version"):
        ProduceRequest().encode(ProduceRequest.MIN_VERSION - 1)


def test_a_field_that_the_version_lacks_is_decoded_as_its_default() -> None:
    decoded = FetchRequest.decode(FetchRequest(session_epoch=7).encode(4), 4)
    assert decoded.session_epoch == -1


def test_an_ignorable_field_is_dropped_where_the_version_lacks_it() -> None:
    assert FetchRequest(session_id=7).encode(6) == FetchRequest().encode(6)


def test_a_field_that_must_not_get_lost_is_refused_where_the_version_lacks_it() -> None:
    with pytest.raises(ValueError, match="allow_auto_topic_creation"):
        MetadataRequest(allow_auto_topic_creation=False).encode(3)


def test_what_an_old_client_cannot_be_told_is_dropped_from_a_response() -> None:
    partition = PartitionProduceResponse(current_leader=LeaderIdAndEpoch(1, 2))
    response = ProduceResponse([TopicProduceResponse("t", partition_responses=[partition])])
    silent = ProduceResponse(
        [TopicProduceResponse("t", partition_responses=[PartitionProduceResponse()])]
    )
    for version in (3, 9):
        assert response.encode(version) == silent.encode(version)
    assert ProduceResponse.decode(response.encode(10), 10) == response


def test_null_is_refused_in_a_version_that_does_not_allow_it() -> None:
    with pytest.raises(ValueError, match="topics"):
        MetadataRequest(topics=None).encode(0)
    with pytest.raises(ValueError, match="name"):
        MetadataRequest(topics=[MetadataRequestTopic(name=None)]).encode(9)


def test_null_in_a_field_that_cannot_be_null_is_malformed() -> None:
    null_topics = struct.pack(">hhii", -1, 1, 1000, -1)
    with pytest.raises(Malformed, match="null"):
        ProduceRequest.decode(null_topics, 3)
    with pytest.raises(Malformed, match="null"):
        ProduceRequest.decode(b"\x00" + struct.pack(">hi", 1, 1000) + b"\x00", 9)
    null_name = struct.pack(">ih", 1, -1)
    with pytest.raises(Malformed, match="null"):
        MetadataRequest.decode(null_name, 0)


def test_a_struct_may_be_null() -> None:
    for assignment in (None, Assignment()):
        response = ConsumerGroupHeartbeatResponse(assignment=assignment)
        assert ConsumerGroupHeartbeatResponse.decode(response.encode(0), 0) == response


def test_null_and_empty_arrays_are_told_apart() -> None:
    for names in (None, [], ["t"]):
        request = ConsumerGroupHeartbeatRequest(subscribed_topic_names=names)
        decoded = ConsumerGroupHeartbeatRequest.decode(request.encode(1), 1)
        assert decoded.subscribed_topic_names == names


@pytest.mark.parametrize("count", [2**31 - 1, 1000, -2])
def test_a_huge_or_negative_array_length_is_malformed_and_allocates_nothing(count: int) -> None:
    data = struct.pack(">i", count) + bytes(64)
    tracemalloc.start()
    with pytest.raises(Malformed):
        MetadataRequest.decode(data, 1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize("length", [b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\xff\x01", b"\x50"])
def test_a_huge_compact_length_is_malformed(length: bytes) -> None:
    with pytest.raises(Malformed):
        MetadataRequest.decode(length + bytes(64), 9)
    with pytest.raises(Malformed):
        ProduceRequest.decode(length + b"a" * 64, 9)


@pytest.mark.parametrize("length", [-2, -32768, 100])
def test_a_wrong_string_length_is_malformed(length: int) -> None:
    with pytest.raises(Malformed):
        ProduceRequest.decode(struct.pack(">h", length) + bytes(50), 3)


def test_a_string_that_is_not_utf8_is_malformed() -> None:
    with pytest.raises(Malformed):
        MetadataRequest.decode(struct.pack(">ih", 1, 2) + b"\xff\xfe", 0)


def test_an_unknown_tagged_field_is_skipped() -> None:
    data = ApiVersionsRequest("librdkafka", "2.11").encode(3)
    tagged = data[:-1] + b"\x02" + b"\x05\x03abc" + b"\x90\x01\x00"
    assert ApiVersionsRequest.decode(tagged, 3) == ApiVersionsRequest("librdkafka", "2.11")


def test_a_known_tagged_field_is_read_among_unknown_ones() -> None:
    data = FetchRequest(cluster_id="c").encode(12)
    tags = data.rindex(b"\x01\x00\x02\x02c")
    between = data[:tags] + b"\x02" + data[tags + 1 :] + b"\x63\x01x"
    assert FetchRequest.decode(between, 12).cluster_id == "c"


def test_a_tagged_field_from_a_later_version_is_skipped() -> None:
    data = FetchRequest(cluster_id="c").encode(12)
    later = data[: data.rindex(b"\x01\x00\x02\x02c")] + b"\x01\x01\x02ab"
    assert FetchRequest.decode(later, 12) == FetchRequest()


def test_a_tagged_field_is_not_written_at_its_default() -> None:
    assert FetchRequest().encode(12).endswith(b"\x00")


@pytest.mark.parametrize(
    "tags", [b"\x01\x05\x09abc", b"\x01\x05", b"\xff\xff\xff\xff\x0f", b"\x02"]
)
def test_tagged_fields_that_do_not_fit_are_malformed(tags: bytes) -> None:
    data = ApiVersionsRequest("a", "b").encode(3)
    with pytest.raises(Malformed):
        ApiVersionsRequest.decode(data[:-1] + tags, 3)


def test_a_tagged_field_that_is_longer_than_its_value_is_malformed() -> None:
    data = FetchRequest(cluster_id="c").encode(12)
    tags = data.rindex(b"\x01\x00\x02\x02c")
    with pytest.raises(Malformed, match="tagged"):
        FetchRequest.decode(data[:tags] + b"\x01\x00\x03\x02cc", 12)


@pytest.mark.parametrize("version", [4, 12, 18])
def test_a_file_range_passes_through_as_a_part_of_its_own(version: int) -> None:
    ranges = [file_range(10), file_range(2000)]
    parts = fetched(*ranges).encode_parts(version)
    assert [part for part in parts if isinstance(part, FileRange)] == ranges
    rest = b"".join(bytes(part) for part in parts if not isinstance(part, FileRange))
    whole = fetched(bytes(10), bytes(2000)).encode(version)
    assert len(rest) + 2010 == len(whole)


@given(
    version=st.integers(4, 18),
    sizes=st.lists(st.none() | st.sampled_from([0, 1, 127, 128, SMALL_BYTES, 10_000, 70_000])),
)
def test_a_response_in_parts_is_the_same_as_in_one_piece(
    version: int, sizes: list[int | None]
) -> None:
    as_bytes = fetched(*(None if size is None else bytes(size) for size in sizes))
    as_files = fetched(*(None if size is None else file_range(size) for size in sizes))
    whole = b"".join(
        bytes(part.length) if isinstance(part, FileRange) else bytes(part)
        for part in as_files.encode_parts(version)
    )
    assert joined(as_bytes.encode_parts(version)) == whole == as_bytes.encode(version)


def test_big_records_are_not_copied_and_small_ones_make_no_part_of_their_own() -> None:
    big = bytes(SMALL_BYTES + 1)
    parts = fetched(b"small", big, b"small", b"small").encode_parts(12)
    assert len(parts) == 3
    assert parts[1] is big


def test_a_request_is_read_back_with_its_header() -> None:
    for version in (8, 9):
        frame = joined(encode_request(produce(b"batch"), version, 17, "me"))
        header, at = request_header(frame[4:])
        assert header == RequestHeader(ApiKey.PRODUCE, version, 17, "me")
        assert len(frame) - 4 == int.from_bytes(frame[:4])
        assert ProduceRequest.decode(frame[4:], version, at).encode(version) == produce(
            b"batch"
        ).encode(version)


def test_the_size_of_a_request_counts_the_parts_beside_it() -> None:
    frame = joined(encode_request(produce(bytes(10_000)), 9, 17, None))
    assert len(frame) - 4 == int.from_bytes(frame[:4])


def test_tagged_fields_of_a_request_header_are_skipped() -> None:
    header = struct.pack(">hhih", ApiKey.PRODUCE, 9, 17, -1)
    assert request_header(header + b"\x01\x00\x02ab" + b"body")[1] == len(header) + 5


def test_the_header_of_an_unknown_api_is_read_as_far_as_it_can_be() -> None:
    header, _ = request_header(struct.pack(">hhih", 999, 9, 17, 2) + b"me")
    assert header == RequestHeader(999, 9, 17, "me")


def test_the_oldest_request_of_all_has_no_client_id() -> None:
    header, at = request_header(struct.pack(">hhii", 7, 0, 17, 1))
    assert (header.client_id, at) == (None, 8)


def test_a_request_header_cut_short_is_malformed() -> None:
    frame = joined(encode_request(produce(b""), 9, 17, "me"))[4:]
    for size in range(13):
        with pytest.raises(Malformed):
            request_header(frame[:size])


@pytest.mark.parametrize("version", [8, 9])
def test_a_response_is_read_back_with_its_header(version: int) -> None:
    response = ProduceResponse(throttle_time_ms=5)
    frame = joined(encode_response(response, version, 17))
    assert len(frame) - 4 == int.from_bytes(frame[:4])
    assert decode_response(ProduceResponse, frame[4:], version) == (17, response)


def test_the_answer_to_api_versions_always_has_the_old_header() -> None:
    frame = joined(encode_response(ApiVersionsResponse(), 4, 17))
    assert frame[8:] == ApiVersionsResponse().encode(4)


def test_a_response_header_cut_short_is_malformed() -> None:
    for frame in (b"", b"\x00\x00\x00", b"\x00\x00\x00\x01"):
        with pytest.raises(Malformed):
            decode_response(ProduceResponse, frame, 9)


@given(data=st.binary(max_size=200), key=st.sampled_from(sorted(APIS)), choice=st.integers(0, 99))
def test_random_bytes_are_malformed_or_a_message(data: bytes, key: int, choice: int) -> None:
    for kind in message_types(key):
        versions = range(kind.MIN_VERSION, kind.MAX_VERSION + 1)
        version = versions[choice % len(versions)]
        try:
            message = kind.decode(data, version)
        except Malformed:
            continue
        again = message.encode(version)
        assert kind.decode(again, version).encode(version) == again


def test_the_null_uuid_is_sixteen_zeros() -> None:
    assert TopicProduceData().topic_id == NULL_UUID == bytes(16)
