"""Batches: when they go out, in which order, and what happens when a broker refuses one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.client.scripted import TOPIC_ID, Answer, ScriptedBroker, client_of, cluster

from penstock.client.errors import ClientError
from penstock.client.producer import LEADER, NONE, Delivery, Producer
from penstock.errors import ErrorCode
from penstock.wire.batch import BatchHeader, check
from penstock.wire.batch_builder import read_records
from penstock.wire.codec import Message
from penstock.wire.compression import Codec
from penstock.wire.messages import ApiKey
from penstock.wire.messages.k00_produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from penstock.wire.messages.k22_init_producer_id import InitProducerIdResponse
from penstock.wire.records import Record

MakeProducer = Callable[..., Producer]


def settled(code: int = 0) -> Answer:
    def answer(request: Any) -> Message:
        return ProduceResponse(
            responses=[
                TopicProduceResponse(
                    name="t",
                    topic_id=TOPIC_ID,
                    partition_responses=[
                        PartitionProduceResponse(each.index, code, 100)
                        for each in request.topic_data[0].partition_data
                    ],
                )
            ]
        )

    return answer


def too_large(limit: int, code: ErrorCode = ErrorCode.MESSAGE_TOO_LARGE) -> Answer:
    def answer(request: Any) -> Message | None:
        size = len(request.topic_data[0].partition_data[0].records)
        return settled(code if size > limit else 0)(request)

    return answer


@pytest.fixture
def broker() -> ScriptedBroker:
    return (
        ScriptedBroker()
        .answers(ApiKey.METADATA, cluster({0: 1, 1: 1}))
        .answers(ApiKey.INIT_PRODUCER_ID, lambda _: InitProducerIdResponse(0, 0, 77, 5))
        .answers(ApiKey.PRODUCE, settled())
    )


@pytest.fixture
def producer_of(broker: ScriptedBroker) -> MakeProducer:
    def make(**options: Any) -> Producer:
        return Producer(client_of({1: broker}, timeout_s=0.2), "t", **options)

    return make


def batches(broker: ScriptedBroker) -> list[tuple[int, BatchHeader, list[bytes | None]]]:
    """All that was sent: partition, header and values of each batch."""
    found = []
    for request in broker.asked(ProduceRequest):
        for part in request.topic_data[0].partition_data:
            values = [each.value for each in read_records(part.records, 1 << 20)]
            found.append((part.index, check(part.records), values))
    return found


def test_records_wait_for_each_other_until_they_are_flushed(
    broker: ScriptedBroker, producer_of: MakeProducer
) -> None:
    producer = producer_of()
    for value in (b"a", b"b"):
        producer.send(value, partition=1)
    assert not batches(broker)
    producer.flush()
    assert [(index, values) for index, _, values in batches(broker)] == [(1, [b"a", b"b"])]


@pytest.mark.parametrize("limit", [{"batch_records": 2}, {"batch_bytes": 60}])
def test_a_full_batch_goes_out_by_itself(
    broker: ScriptedBroker, producer_of: MakeProducer, limit: dict[str, int]
) -> None:
    producer = producer_of(**limit)
    for value in (b"a", b"b", b"c"):
        producer.send(value, partition=0)
    assert [values for _, _, values in batches(broker)] == [[b"a", b"b"]]


def test_many_records_go_out_in_batches_as_single_ones_do(
    broker: ScriptedBroker, producer_of: MakeProducer
) -> None:
    producer = producer_of(batch_records=2)
    producer.send(b"a", partition=1)
    producer.send_all([Record(9, 1000, None, value) for value in (b"b", b"c", b"d", b"e")], 1)
    producer.flush()
    sent = [(index, header.base_sequence, values) for index, header, values in batches(broker)]
    assert sent == [(1, 0, [b"a", b"b"]), (1, 2, [b"c", b"d"]), (1, 4, [b"e"])]
    assert batches(broker)[-1][1].base_timestamp == 1000


def test_an_idempotent_producer_numbers_its_records_by_partition(
    broker: ScriptedBroker, producer_of: MakeProducer
) -> None:
    producer = producer_of(batch_records=2)
    for number in range(4):
        producer.send(b"%d" % number, partition=0)
    producer.send(b"x", partition=1)
    producer.flush()
    sent = [
        (index, header.producer_id, header.producer_epoch, header.base_sequence)
        for index, header, _ in batches(broker)
    ]
    assert sent == [(0, 77, 5, 0), (0, 77, 5, 2), (1, 77, 5, 0)]


def test_without_idempotence_nothing_is_numbered(
    broker: ScriptedBroker, producer_of: MakeProducer
) -> None:
    producer = producer_of(idempotent=False, acks=LEADER)
    producer.send(b"a")
    producer.flush()
    header = batches(broker)[0][1]
    assert (header.producer_id, header.base_sequence) == (-1, -1)


@pytest.mark.parametrize(
    "failure", [settled(ErrorCode.NOT_LEADER_OR_FOLLOWER), lambda _: None], ids=["refused", "lost"]
)
def test_a_batch_that_must_be_repeated_keeps_its_number_and_its_turn(
    broker: ScriptedBroker, producer_of: MakeProducer, failure: Answer
) -> None:
    broker.answers(ApiKey.PRODUCE, failure, settled())
    producer = producer_of(batch_records=1)
    producer.send(b"a", partition=0)
    producer.send(b"b", partition=0)
    sent = [(header.base_sequence, values) for _, header, values in batches(broker)]
    assert sent == [(0, [b"a"]), (0, [b"a"]), (1, [b"b"])]


def test_a_batch_that_the_broker_has_already_is_delivered(
    broker: ScriptedBroker, producer_of: MakeProducer
) -> None:
    broker.answers(ApiKey.PRODUCE, settled(ErrorCode.DUPLICATE_SEQUENCE_NUMBER))
    delivered: list[Delivery] = []
    producer = producer_of(on_delivery=delivered.append)
    producer.send(b"a")
    producer.flush()
    assert [each.record_count for each in delivered] == [1]


@pytest.mark.parametrize(
    "code", [ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE], ids=["topic", "segment"]
)
def test_a_batch_too_large_for_the_topic_is_halved_until_it_fits(
    broker: ScriptedBroker, producer_of: MakeProducer, code: ErrorCode
) -> None:
    broker.answers(ApiKey.PRODUCE, too_large(170, code))
    producer = producer_of()
    for number in range(4):
        producer.send(b"%d" % number * 50, partition=0)
    producer.flush()
    taken = [batch for batch in batches(broker) if batch[1].size <= 170]
    assert [header.base_sequence for _, header, _ in taken] == [0, 1, 2, 3]
    assert [values for _, _, values in taken] == [[b"%d" % n * 50] for n in range(4)]


def test_a_single_record_too_large_is_refused_for_good(
    broker: ScriptedBroker, producer_of: MakeProducer
) -> None:
    broker.answers(ApiKey.PRODUCE, too_large(10))
    producer = producer_of()
    producer.send(b"a")
    with pytest.raises(ClientError, match=r"max\.message\.bytes"):
        producer.flush()
    with pytest.raises(ClientError, match=r"max\.message\.bytes"):
        producer.send(b"b")


def test_a_delivery_is_given_up_when_its_time_is_over(
    broker: ScriptedBroker, producer_of: MakeProducer
) -> None:
    broker.answers(ApiKey.PRODUCE, settled(ErrorCode.NOT_ENOUGH_REPLICAS))
    producer = producer_of()
    producer.send(b"a")
    with pytest.raises(ClientError, match=r"min\.insync\.replicas"):
        producer.flush()


def test_without_acknowledgements_nothing_is_waited_for(
    broker: ScriptedBroker, producer_of: MakeProducer
) -> None:
    delivered: list[Delivery] = []
    producer = producer_of(acks=NONE, idempotent=False, on_delivery=delivered.append)
    for value in (b"a", b"b"):
        producer.send(value, partition=0)
        producer.flush()
    assert [each.base_offset for each in delivered] == [-1, -1]


def test_keys_meet_in_their_partition(broker: ScriptedBroker, producer_of: MakeProducer) -> None:
    producer = producer_of()
    producer.send(b"a", key=b"21")
    producer.send(b"b", key=b"21")
    producer.flush()
    assert [index for index, _, _ in batches(broker)] == [(-973932308 & 0x7FFFFFFF) % 2]


def test_batches_are_compressed_as_asked(broker: ScriptedBroker, producer_of: MakeProducer) -> None:
    producer = producer_of(codec=Codec.GZIP)
    producer.send(b"a" * 1000, partition=0)
    producer.flush()
    _, header, values = batches(broker)[0]
    assert header.codec == Codec.GZIP
    assert values == [b"a" * 1000]


def test_a_partition_that_is_not_there_is_refused(producer_of: MakeProducer) -> None:
    with pytest.raises(ClientError, match="no partition 9, only 0 to 1"):
        producer_of().send(b"a", partition=9)


def test_idempotence_needs_all_acknowledgements(producer_of: MakeProducer) -> None:
    with pytest.raises(ClientError, match="waits for all replicas"):
        producer_of(acks=LEADER)


def test_closing_partitions_are_not_written_to_but_where_they_are_asked_for(
    broker: ScriptedBroker, producer_of: MakeProducer
) -> None:
    broker.answers(ApiKey.METADATA, cluster(dict.fromkeys(range(4), 1), open_partitions=2))
    producer = producer_of(batch_records=1)
    for number in range(20):
        producer.send(b"x", key=b"%d" % number)
        producer.send(b"x")
    assert {index for index, _, _ in batches(broker)} == {0, 1}
    producer.send(b"x", partition=3)
    assert batches(broker)[-1][0] == 3


def test_all_is_delivered_before_keys_go_to_other_partitions(
    broker: ScriptedBroker, producer_of: MakeProducer
) -> None:
    four = dict.fromkeys(range(4), 1)
    broker.answers(ApiKey.METADATA, cluster(four), cluster(four, open_partitions=1))
    producer = producer_of()
    keys = [b"%d" % number for number in range(8)]
    for key in keys:
        producer.send(b"before", key=key)
    producer._client.forget()
    producer.send(b"after", key=keys[0])
    assert sum(len(values) for _, _, values in batches(broker)) == len(keys)
    assert {value for _, _, values in batches(broker) for value in values} == {b"before"}
    producer.flush()
    assert (batches(broker)[-1][0], batches(broker)[-1][2]) == (0, [b"after"])
