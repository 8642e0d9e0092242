"""Ranges of offsets, read whole from a real broker, whatever lies in them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.broker_process import BrokerProcess

from penstock.client import admin, offsets
from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.open_transaction import begin, end
from penstock.client.producer import Producer
from penstock.client.ranges import (
    FETCH_BYTES,
    RECORD_BYTES,
    ROOM_BYTES,
    Gap,
    Range,
    RangeReader,
)
from penstock.client.reader import Arrived
from penstock.errors import ErrorCode
from penstock.wire.compression import Codec


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


def send(client: WireClient, topic: str, values: list[bytes], codec: Codec = Codec.NONE) -> None:
    producer = Producer(client, topic, codec=codec, batch_records=10)
    for value in values:
        producer.send(value, partition=0)
    producer.flush()


def place(client: WireClient, topic: str, start: int, stop: int) -> Range:
    return Range(topic, client.topic(topic).topic_id, 0, start, stop)


def in_vain(gap: Gap) -> None:
    raise AssertionError(gap)


def values(
    client: WireClient, wanted: Range, *, committed: bool = True, gaps: list[Gap] | None = None
) -> list[bytes | None]:
    on_gap = in_vain if gaps is None else gaps.append
    reader = RangeReader(client, on_gap, committed=committed)
    return [
        record.value
        for arrived in reader.batches(wanted)
        for record in arrived.records()
        if record.offset < wanted.end
    ]


@pytest.mark.parametrize("codec", list(Codec))
def test_a_range_is_read_from_its_first_to_its_last_record(
    client: WireClient, topic: str, codec: Codec
) -> None:
    admin.create_topic(client, topic)
    sent = [b"%d" % number for number in range(100)]
    send(client, topic, sent, codec)
    assert values(client, place(client, topic, 0, 100)) == sent
    assert values(client, place(client, topic, 15, 37)) == sent[15:37]


def test_many_fetches_are_one_range(client: WireClient, topic: str) -> None:
    """Each is asked for while the one before is being read."""
    admin.create_topic(client, topic)
    sent = [bytes([number]) * (3 << 18) for number in range(30)]
    send(client, topic, sent)
    assert values(client, place(client, topic, 0, 30)) == sent


def test_batches_behind_the_end_are_neither_given_nor_asked_for_much(
    client: WireClient, topic: str
) -> None:
    admin.create_topic(client, topic)
    send(client, topic, [bytes(4000)] * 3000)
    reader = RangeReader(client, in_vain)
    (few,) = reader.batches(place(client, topic, 5, 8))
    assert few.header.base_offset == 0
    assert received_bytes(few) <= ROOM_BYTES + 3 * RECORD_BYTES
    many = list(reader.batches(place(client, topic, 0, 2501)))
    assert [each.header.base_offset for each in many] == list(range(0, 2510, 10))
    assert received_bytes(many[0]) > FETCH_BYTES * 0.9
    assert len({id(each.data.obj) for each in many}) > 2
    assert received_bytes(many[-1]) < FETCH_BYTES * 0.8


def received_bytes(arrived: Arrived) -> int:
    """Of the whole answer that a batch lies in."""
    assert isinstance(arrived.data.obj, bytes)
    return len(arrived.data.obj)


def test_who_leaves_early_leaves_nothing_behind(client: WireClient, topic: str) -> None:
    admin.create_topic(client, topic)
    send(client, topic, [bytes([number]) * (3 << 18) for number in range(30)])
    reader = RangeReader(client, in_vain).batches(place(client, topic, 0, 30))
    assert next(reader).header.base_offset == 0
    reader.close()  # type: ignore[attr-defined]
    assert offsets.ends(client, topic, [0], offsets.LATEST) == {0: 30}


def test_what_was_aborted_is_left_out(client: WireClient, topic: str) -> None:
    admin.create_topic(client, topic)
    expected = []
    for number in range(6):
        opened = begin(client, f"{topic}-{number % 2}")
        producer = Producer(client, topic, transaction=opened)
        producer.send(b"%d" % number)
        producer.flush()
        end(client, opened, is_commit=number % 3 != 0)
        expected += [b"%d" % number] if number % 3 else []
        send(client, topic, [b"plain"])
        expected.append(b"plain")
    last = offsets.ends(client, topic, [0], offsets.LATEST, committed=True)[0]
    whole = place(client, topic, 0, last)
    assert values(client, whole) == expected
    everything = values(client, whole, committed=False)
    assert [each for each in everything if each != b"plain"] == [b"%d" % n for n in range(6)]


def test_what_is_not_there_any_more_is_a_gap(client: WireClient, topic: str) -> None:
    admin.create_topic(client, topic)
    send(client, topic, [b"%d" % number for number in range(50)])
    offsets.delete_records(client, topic, {0: 20})
    wanted = place(client, topic, 5, 40)
    gaps: list[Gap] = []
    assert values(client, wanted, gaps=gaps) == [b"%d" % number for number in range(20, 40)]
    assert gaps == [Gap(wanted, 5, 20)]
    assert str(gaps[0]) == f"offsets 5 to 19 of {topic}-0"


def test_a_topic_made_anew_is_another(client: WireClient, topic: str) -> None:
    admin.create_topic(client, topic)
    send(client, topic, [b"old"])
    wanted = place(client, topic, 0, 1)
    admin.delete_topic(client, topic)
    client.forget()
    admin.create_topic(client, topic)
    send(client, topic, [b"new"])
    gaps: list[Gap] = []
    assert values(client, wanted, gaps=gaps) == []
    assert gaps == [Gap(wanted, 0, 1, is_of_deleted=True)]


def test_an_offset_past_the_end_is_an_error(client: WireClient, topic: str) -> None:
    admin.create_topic(client, topic)
    send(client, topic, [b"one"])
    with pytest.raises(ClientError, match="past the end") as raised:
        values(client, place(client, topic, 5, 7))
    assert raised.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_range_whose_end_never_comes_is_an_error(broker: BrokerProcess, topic: str) -> None:
    with WireClient(broker.address, timeout_s=1) as client:
        admin.create_topic(client, topic)
        send(client, topic, [b"one"])
        with pytest.raises(ClientError, match="nothing comes from offset 1 on: it ends at 1"):
            values(client, place(client, topic, 0, 7))
