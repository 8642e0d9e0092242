"""Reading on from positions: batches cut, checked, and what happens at the log's start."""

from __future__ import annotations

from typing import Any

import pytest
from tests.client.scripted import TOPIC_ID, Answer, ScriptedBroker, client_of, cluster

from penstock.client.errors import ClientError
from penstock.client.reader import Reader, batches
from penstock.errors import ErrorCode, Refused
from penstock.wire.batch_builder import build_batch, end_marker
from penstock.wire.codec import Message
from penstock.wire.messages import ApiKey
from penstock.wire.messages.k01_fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from penstock.wire.records import Record


def batch(first: int, count: int) -> bytes:
    records = [Record(first + n, 1000 + n, None, b"%d" % (first + n)) for n in range(count)]
    return bytes(build_batch(records))


def fetched(data: bytes, code: int = 0) -> Answer:
    def answer(request: Any) -> Message:
        part = PartitionData(partition_index=0, error_code=code, high_watermark=9, records=data)
        topic = FetchableTopicResponse(topic="t", topic_id=TOPIC_ID, partitions=[part])
        return FetchResponse(responses=[topic])

    return answer


def start_at(offset: int) -> Answer:
    answer = ListOffsetsPartitionResponse(0, 0, -1, offset)
    return lambda _: ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", [answer])])


def reader_of(broker: ScriptedBroker, position: int) -> Reader:
    broker.answers(ApiKey.METADATA, cluster({0: 1}))
    return Reader(client_of({1: broker}), "t", {0: position})


def test_reading_goes_on_behind_what_has_arrived() -> None:
    broker = ScriptedBroker().answers(
        ApiKey.FETCH, fetched(batch(0, 3) + batch(3, 2)), fetched(b"")
    )
    reader = reader_of(broker, 0)
    values = [each.value for arrived in reader.poll() for each in arrived.records()]
    assert values == [b"0", b"1", b"2", b"3", b"4"]
    assert reader.poll() == []
    asked = [each.topics[0].partitions[0].fetch_offset for each in broker.asked(FetchRequest)]
    assert asked == [0, 5]


def test_reading_from_within_a_batch_leaves_out_what_lies_before() -> None:
    reader = reader_of(ScriptedBroker().answers(ApiKey.FETCH, fetched(batch(0, 3))), 2)
    assert [each.offset for arrived in reader.poll() for each in arrived.records()] == [2]


def test_a_batch_cut_short_is_left_for_the_next_fetch() -> None:
    reader = reader_of(
        ScriptedBroker().answers(ApiKey.FETCH, fetched(batch(0, 3) + batch(3, 2)[:-1])), 0
    )
    assert len(reader.poll()) == 1
    assert reader.positions == {0: 3}


def test_the_end_of_a_transaction_is_no_record() -> None:
    marker = end_marker(1, 0, commit=True, coordinator_epoch=0, timestamp_ms=1000)
    reader = reader_of(ScriptedBroker().answers(ApiKey.FETCH, fetched(bytes(marker))), 0)
    assert [arrived.records() for arrived in reader.poll()] == [[]]
    assert reader.positions == {0: 1}


def test_a_damaged_batch_is_not_believed() -> None:
    damaged = bytearray(batch(0, 3))
    damaged[-1] ^= 1
    reader = reader_of(ScriptedBroker().answers(ApiKey.FETCH, fetched(bytes(damaged))), 0)
    with pytest.raises(ClientError, match="penstock log verify"):
        reader.poll()


def test_a_batch_without_a_sane_size_is_refused() -> None:
    with pytest.raises(Refused):
        list(batches(memoryview(bytes(100))))


def test_where_the_log_begins_later_reading_goes_on_from_there() -> None:
    broker = ScriptedBroker().answers(ApiKey.LIST_OFFSETS, start_at(5))
    broker.answers(ApiKey.FETCH, fetched(b"", ErrorCode.OFFSET_OUT_OF_RANGE), fetched(batch(5, 1)))
    reader = reader_of(broker, 2)
    assert reader.poll() == []
    assert [each.offset for arrived in reader.poll() for each in arrived.records()] == [5]
    assert reader.skipped == 3


def test_reading_past_the_end_is_refused() -> None:
    broker = ScriptedBroker().answers(ApiKey.LIST_OFFSETS, start_at(0))
    broker.answers(ApiKey.FETCH, fetched(b"", ErrorCode.OFFSET_OUT_OF_RANGE))
    with pytest.raises(ClientError, match="offset 20 is past the end"):
        reader_of(broker, 20).poll()


def test_a_leader_that_has_moved_is_asked_again() -> None:
    broker = ScriptedBroker()
    broker.answers(
        ApiKey.FETCH, fetched(b"", ErrorCode.NOT_LEADER_OR_FOLLOWER), fetched(batch(0, 1))
    )
    assert len(reader_of(broker, 0).poll()) == 1
