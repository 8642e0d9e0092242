"""Reading on from positions: batches cut, checked, and what happens at the log's start."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.client.scripted import TOPIC_ID, Answer, ScriptedBroker, client_of, cluster

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


def fetched(data: bytes, code: int = 0, end: int = 9) -> Answer:
    return fetched_of({0: data}, {0: code}, end)


def fetched_of(data: dict[int, bytes], codes: dict[int, int], end: int = 9) -> Answer:
    """Of several partitions, those that the request asks for."""

    def answer(request: Any) -> Message:
        parts = [
            PartitionData(
                partition_index=each.partition,
                error_code=codes.get(each.partition, 0),
                high_watermark=end,
                records=data.get(each.partition, b""),
            )
            for each in request.topics[0].partitions
        ]
        topic = FetchableTopicResponse(topic="t", topic_id=TOPIC_ID, partitions=parts)
        return FetchResponse(responses=[topic])

    return answer


def start_at(offset: int) -> Answer:
    answer = ListOffsetsPartitionResponse(0, 0, -1, offset)
    return lambda _: ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", [answer])])


class Impatience:
    """A clock that the client's pauses move."""

    def __init__(self) -> None:
        self.slept_s = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.slept_s

    def sleep(self, seconds: float) -> None:
        self.slept_s += seconds


def reader_of(broker: ScriptedBroker, *positions: int, clock: Impatience | None = None) -> Reader:
    broker.answers(ApiKey.METADATA, cluster(dict.fromkeys(range(len(positions)), 1)))
    client = client_of({1: broker})
    if clock:
        client.sleep = clock.sleep
    return Reader(client, "t", dict(enumerate(positions)))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Impatience:
    """For readers that are made with it, and would have to wait in earnest."""
    made = Impatience()
    monkeypatch.setattr("penstock.client.reader.time", made)
    return made


def test_reading_goes_on_behind_what_has_arrived() -> None:
    broker = ScriptedBroker().answers(
        ApiKey.FETCH, fetched(batch(0, 3) + batch(3, 2)), fetched(b"", end=5)
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


def lost(reader: Reader) -> str:
    """Why partition 0 cannot be read, and what to do."""
    assert 0 not in reader.positions
    return str(reader.lost[0])


def test_a_damaged_batch_is_not_believed_but_what_came_before_it_is() -> None:
    damaged = bytearray(batch(3, 3))
    damaged[-1] ^= 1
    reader = reader_of(
        ScriptedBroker().answers(ApiKey.FETCH, fetched(batch(0, 3) + bytes(damaged))), 0
    )
    assert [arrived.header.next_offset for arrived in reader.poll()] == [3]
    assert lost(reader).startswith("t-0: the batch at offset 3 is damaged")
    assert "penstock log verify" in lost(reader)


@pytest.mark.parametrize(
    "data", [batch(0, 3)[:-1], bytes(20), batch(0, 2)], ids=["cut", "tiny", "earlier"]
)
def test_bytes_that_lead_nowhere_are_told_at_once(data: bytes) -> None:
    broker = ScriptedBroker().answers(ApiKey.FETCH, fetched(data))
    reader = reader_of(broker, 2)
    assert [each for arrived in reader.poll() for each in arrived.records()] == []
    assert f"offset 2 is damaged ({len(data)} bytes came, and no whole batch" in lost(reader)
    assert len(broker.asked(FetchRequest)) == 1


def test_where_nothing_comes_although_there_is_more_the_timeout_holds(clock: Impatience) -> None:
    broker = ScriptedBroker().answers(ApiKey.FETCH, fetched(b"", end=9))
    reader = reader_of(broker, 2, clock=clock)
    assert reader.poll() == []
    assert clock.slept_s > 0
    assert "nothing comes from offset 2 on, though it ends at 9" in lost(reader)


def test_a_partition_that_had_no_room_in_an_answer_is_not_given_up() -> None:
    broker = ScriptedBroker().answers(
        ApiKey.FETCH, fetched_of({1: batch(0, 1)}, {}), fetched_of({0: batch(0, 1)}, {})
    )
    reader = reader_of(broker, 0, 0)
    assert [arrived.partition for arrived in reader.poll()] == [1]
    assert [arrived.partition for arrived in reader.poll()] == [0]
    assert not reader.lost


def test_a_partition_that_cannot_be_read_keeps_no_other_from_it() -> None:
    broker = ScriptedBroker().answers(
        ApiKey.FETCH, fetched_of({1: batch(0, 1)}, {0: ErrorCode.KAFKA_STORAGE_ERROR})
    )
    reader = reader_of(broker, 0, 0)
    assert [arrived.partition for arrived in reader.poll()] == [1]
    assert lost(reader).startswith("t-0: kafka storage error; look at the broker's log")
    reader.poll()
    (asked,) = broker.asked(FetchRequest)[-1].topics[0].partitions
    assert asked.partition == 1


def test_a_partition_without_a_leader_is_given_up_when_the_time_is_up(clock: Impatience) -> None:
    broker = ScriptedBroker().answers(ApiKey.FETCH, fetched_of({1: batch(0, 1)}, {}))
    reader = reader_of(broker, 0, 0, clock=clock)
    broker.answers(ApiKey.METADATA, cluster({0: -1, 1: 1}))
    assert [arrived.partition for arrived in reader.poll()] == [1]
    assert 0 in reader.positions
    broker.answers(ApiKey.FETCH, fetched_of({}, {}, end=1))
    assert reader.poll() == []
    assert lost(reader).startswith("t-0: leader not available")
    assert reader.positions == {1: 1}


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
    reader = reader_of(broker, 20)
    assert reader.poll() == []
    assert "offset 20 is past the end" in lost(reader)


def test_a_leader_that_has_moved_is_asked_again() -> None:
    broker = ScriptedBroker()
    broker.answers(
        ApiKey.FETCH, fetched(b"", ErrorCode.NOT_LEADER_OR_FOLLOWER), fetched(batch(0, 1))
    )
    assert len(reader_of(broker, 0).poll()) == 1
