"""Delays as clients meet them: what is held, hidden, listed, cancelled and refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.api.desk import NOW_MS, Desk
from tests.api.test_views import make, offsets
from tests.delays.writing import AFTER, AT, CANCEL, CRON, NEXT, carried_out, put_copies
from tests.raw_client import fetch_of, partition_of

from penstock.api import shown, sieves
from penstock.delays.folding import catch_up
from penstock.delays.pending import Entry
from penstock.errors import ErrorCode, Refused
from penstock.metadata.delayed_topics import SUFFIX
from penstock.wire.batch import BY_LEADER, HOLDS, batches_in, read_header, seal
from penstock.wire.batch_builder import build_batch, read_records
from penstock.wire.compression import Codec
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from penstock.wire.messages.k01_fetch import PartitionData
from penstock.wire.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from penstock.wire.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from penstock.wire.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.wire.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.wire.records import Headers, Record

VERSION = 12
DUE = NOW_MS + 60_000
HELD = ((AT, b"%d" % DUE),)


@pytest.fixture
def orders(desk: Desk) -> Desk:
    desk.create("orders", 2, delayed_delivery="true")
    return desk


def batch_of(*all_headers: Headers, **more: Any) -> bytearray:
    records = [Record(n, NOW_MS, b"k", b"v%d" % n, each) for n, each in enumerate(all_headers)]
    return build_batch(records, **more)


def produced(
    desk: Desk, batch: bytes | bytearray, topic: str = "orders"
) -> PartitionProduceResponse:
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, bytes(batch))])
    answer = desk.ask(ProduceRequest(acks=1, timeout_ms=100, topic_data=[data]), 9)
    commit(desk, topic)
    found: PartitionProduceResponse = answer.responses[0].partition_responses[0]
    return found


def commit(desk: Desk, topic: str = "orders") -> None:
    """And have what is held known, as who tends the partition does."""
    leader = desk.broker.leader(topic, 0)
    leader.log.write_out()
    leader.log.end_sync(leader.log.begin_sync())
    leader.advance()
    schedule = desk.broker.schedules.of(leader.log)
    if not schedule.is_read:
        schedule.begin(0)
    carried_out(catch_up(schedule, leader.log, leader.high_watermark))
    schedule.pending.take_back(schedule.offset, leader.log.end_offset)
    desk.broker.schedules.count(leader.log)


def read(desk: Desk, topic: str = "orders", offset: int = 0, **more: Any) -> tuple[list[int], int]:
    """The offsets of what there is, and where to go on."""
    return offsets(fetched(desk, topic, offset, **more))


def fetched(desk: Desk, topic: str, offset: int = 0, **more: Any) -> PartitionData:
    data: PartitionData = partition_of(desk.ask(fetch_of(topic, offset, **more), VERSION))
    assert data.error_code == 0
    return data


def altered(desk: Desk, **configs: str) -> Any:
    changes = [AlterableConfig(name.replace("_", "."), 0, text) for name, text in configs.items()]
    resource = AlterConfigsResource(2, "orders", changes)
    return desk.ask(IncrementalAlterConfigsRequest([resource])).responses[0]


# -- held and shown


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_held_records_are_left_out_and_the_others_shown(orders: Desk, codec: Codec) -> None:
    assert produced(orders, batch_of((), HELD, (), codec=codec)).error_code == 0
    assert produced(orders, batch_of(HELD, HELD, codec=codec)).error_code == 0
    assert produced(orders, batch_of((), codec=codec)).error_code == 0
    assert read(orders) == ([0, 2, 5], 6)
    assert read(orders, offset=3) == ([5], 6)


def test_a_reader_of_nothing_but_held_records_goes_on_behind_them(orders: Desk) -> None:
    produced(orders, batch_of(HELD, HELD))
    assert read(orders) == ([], 2)


def test_what_is_held_can_be_read_under_a_name_of_its_own(orders: Desk) -> None:
    produced(orders, batch_of((), HELD, (), HELD))
    assert read(orders, "orders" + SUFFIX) == ([1, 3], 4)
    put_copies(orders.broker.leader("orders", 0).log, [Entry(1, DUE, 1)], still_held=False)
    commit(orders)
    assert read(orders, "orders" + SUFFIX) == ([3], 5)
    assert read(orders) == ([0, 2, 4], 5)


def test_a_record_that_was_carried_forward_is_listed_where_it_is_now(orders: Desk) -> None:
    produced(orders, batch_of(HELD, HELD))
    put_copies(orders.broker.leader("orders", 0).log, [Entry(0, DUE, 0)], still_held=True)
    commit(orders)
    assert read(orders, "orders" + SUFFIX) == ([1, 2], 3)
    assert read(orders) == ([], 3)


def test_a_list_ends_where_it_is_not_known_yet_what_is_held(orders: Desk) -> None:
    produced(orders, batch_of(HELD))
    orders.broker.schedules.of(orders.broker.leader("orders", 0).log).begin(0)
    assert fetched(orders, "orders" + SUFFIX).records == b""


def test_a_view_shows_of_a_topic_with_delays_what_matches_and_is_not_held(orders: Desk) -> None:
    assert make(orders).error_code == 0
    eu = ((b"region", b"eu"),)
    produced(orders, batch_of(eu, (*eu, *HELD), ((b"region", b"us"),), HELD, eu))
    assert read(orders, "eu") == ([0, 4], 5)


def test_large_batches_are_looked_into_off_the_loop(
    orders: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown, "LIGHT_RECORDS", 3)
    monkeypatch.setattr(sieves, "LIGHT_RECORDS", 3)
    produced(orders, batch_of((), HELD, (), (), (), codec=Codec.ZSTD))
    assert read(orders) == ([0, 2, 3, 4], 5)
    assert read(orders, "orders" + SUFFIX) == ([1], 5)


def test_headers_mean_nothing_where_the_topic_has_no_delays(desk: Desk) -> None:
    desk.create("plain")
    assert produced(desk, batch_of(HELD, ((CANCEL, b"no number"),)), "plain").error_code == 0
    assert read(desk, "plain") == ([0, 1], 2)


def test_headers_of_before_a_topic_had_delays_mean_nothing(desk: Desk) -> None:
    desk.create("orders")
    produced(desk, batch_of(HELD))
    assert altered(desk, delayed_delivery="true").error_code == 0
    desk.broker.reconfigure(desk.image.topics["orders"])
    produced(desk, batch_of(HELD))
    assert read(desk) == ([0], 2)
    assert read(desk, "orders" + SUFFIX) == ([1], 2)


# -- refused


def test_a_header_that_is_wrong_is_named_with_its_record(orders: Desk) -> None:
    answer = produced(orders, batch_of((), ((AFTER, b"soon"),)))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert "record 1: header penstock-delay-ms is not" in (answer.error_message or "")
    told = answer.record_errors[0]
    assert (told.batch_index, told.batch_index_error_message) == (1, answer.error_message)
    assert orders.broker.leader("orders", 0).log.end_offset == 0


@pytest.mark.parametrize("topic", ["orders", "plain"])
@pytest.mark.parametrize("bit", [HOLDS, BY_LEADER, HOLDS | BY_LEADER])
def test_the_leaders_marks_are_refused_from_clients(orders: Desk, topic: str, bit: int) -> None:
    orders.create("plain")
    batch = batch_of(HELD)
    header = read_header(batch)
    marked = seal(header._replace(attributes=header.attributes | bit), batch[61:])
    assert produced(orders, marked, topic).error_code == ErrorCode.INVALID_RECORD


def test_no_more_is_held_than_the_broker_keeps(orders: Desk) -> None:
    orders.broker.config = replace(orders.broker.config, delays_pending_max=2)
    assert produced(orders, batch_of(HELD, HELD)).error_code == 0
    answer = produced(orders, batch_of(HELD))
    assert answer.error_code == ErrorCode.POLICY_VIOLATION
    assert "delays.pending.max=2" in (answer.error_message or "")
    assert produced(orders, batch_of(())).error_code == 0


# -- cancelled


def test_a_cancelled_record_is_held_no_more_and_the_cancel_is_never_shown(orders: Desk) -> None:
    produced(orders, batch_of(HELD, HELD))
    assert produced(orders, batch_of(((CANCEL, b"0"),), ())).error_code == 0
    assert read(orders, "orders" + SUFFIX) == ([1], 4)
    assert read(orders) == ([3], 4)


@pytest.mark.parametrize("number", [b"0", b"2", b"9"])
def test_what_is_not_pending_cannot_be_cancelled(orders: Desk, number: bytes) -> None:
    produced(orders, batch_of((), HELD, HELD))
    produced(orders, batch_of(((CANCEL, b"2"),)))
    answer = produced(orders, batch_of((), ((CANCEL, number),)))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert f"nothing is pending under {number.decode()}" in (answer.error_message or "")
    assert answer.record_errors[0].batch_index == 1


def test_one_batch_cannot_cancel_a_record_twice(orders: Desk) -> None:
    produced(orders, batch_of(HELD))
    cancel = ((CANCEL, b"0"),)
    assert produced(orders, batch_of(cancel, cancel)).error_code == ErrorCode.INVALID_RECORD
    assert read(orders, "orders" + SUFFIX) == ([0], 1)


def test_a_cancel_that_is_sent_again_is_answered_as_before(orders: Desk) -> None:
    produced(orders, batch_of(HELD))
    again = batch_of(((CANCEL, b"0"),), producer_id=5, producer_epoch=0, base_sequence=0)
    first, second = produced(orders, again), produced(orders, again)
    assert (first.error_code, second.error_code) == (0, 0)
    assert first.base_offset == second.base_offset == 1


def test_a_leader_that_has_not_read_its_log_yet_asks_for_patience(orders: Desk) -> None:
    produced(orders, batch_of(HELD))
    orders.broker.schedules.forget(orders.broker.leader("orders", 0).log)
    data = PartitionProduceData(0, bytes(batch_of(((CANCEL, b"0"),))))
    request = ProduceRequest(
        acks=1, timeout_ms=100, topic_data=[TopicProduceData("orders", partition_data=[data])]
    )
    answer = orders.ask(request, 9).responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.NOT_ENOUGH_REPLICAS


# -- repeating

EVERY = ((CRON, b"* * * * *"),)
NEXT_MS = (NOW_MS // 60_000 + 1) * 60_000


def next_times(desk: Desk) -> list[int]:
    """What the list says of when records come next."""
    data: Any = fetched(desk, "orders" + SUFFIX).records
    found = [batch for batch in batches_in(memoryview(data)) if not read_header(batch).is_control]
    records = [each for batch in found for each in read_records(batch, 1 << 20)]
    return [int(dict(each.headers)[NEXT] or b"") for each in records]


def test_a_repeating_record_is_hidden_and_listed_with_when_it_comes_next(orders: Desk) -> None:
    produced(orders, batch_of((), EVERY, ()))
    assert read(orders) == ([0, 2], 3)
    assert read(orders, "orders" + SUFFIX) == ([1], 3)
    assert next_times(orders) == [NEXT_MS]


def test_a_repeating_record_that_was_delivered_is_listed_on(orders: Desk) -> None:
    produced(orders, batch_of(EVERY))
    log = orders.broker.leader("orders", 0).log
    put_copies(log, [Entry(0, NEXT_MS, 0)], still_held=False, next_ms=NEXT_MS + 60_000)
    commit(orders)
    assert read(orders) == ([1], 2)
    assert read(orders, "orders" + SUFFIX) == ([0], 2)
    assert next_times(orders) == [NEXT_MS + 60_000]
    assert orders.broker.schedules.total == 1
    assert produced(orders, batch_of(((CANCEL, b"0"),))).error_code == 0
    assert read(orders, "orders" + SUFFIX) == ([], 3)


def test_a_cron_that_is_wrong_is_named_with_its_field(orders: Desk) -> None:
    answer = produced(orders, batch_of(((CRON, b"0 25 * * *"),)))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert answer.error_message == "record 0: penstock-cron: hour 25 is not 0 to 23"


# -- settings


def test_compaction_and_delays_exclude_each_other_both_ways(desk: Desk) -> None:
    with pytest.raises(Refused, match="needs cleanup"):
        desk.create("both", delayed_delivery="true", cleanup_policy="compact")
    desk.create("orders", delayed_delivery="true")
    answer = altered(desk, cleanup_policy="compact,delete")
    assert answer.error_code == ErrorCode.INVALID_CONFIG
    assert "delayed.delivery" in answer.error_message


def test_a_compacted_topic_does_not_get_delays(desk: Desk) -> None:
    desk.create("orders", cleanup_policy="compact")
    assert altered(desk, delayed_delivery="true").error_code == ErrorCode.INVALID_CONFIG


def test_what_is_to_be_held_is_refused_by_a_compacted_topic(desk: Desk) -> None:
    desk.create("orders", cleanup_policy="compact")
    answer = produced(desk, batch_of((), HELD))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [each.batch_index for each in answer.record_errors] == [1]
    assert "penstock-deliver-at: a compacted topic holds nothing" in (answer.error_message or "")
    assert produced(desk, batch_of((), ())).error_code == ErrorCode.NONE


def test_delays_are_not_switched_off(orders: Desk) -> None:
    answer = altered(orders, delayed_delivery="false")
    assert answer.error_code == ErrorCode.INVALID_CONFIG
    assert "cannot be switched off" in answer.error_message
    unset = AlterConfigsResource(2, "orders", [AlterableConfig("delayed.delivery", 1, None)])
    answer = orders.ask(IncrementalAlterConfigsRequest([unset])).responses[0]
    assert answer.error_code == ErrorCode.INVALID_CONFIG


def test_a_topic_with_delays_loses_no_partitions(orders: Desk) -> None:
    answer = altered(orders, partitions_open="1")
    assert answer.error_code == ErrorCode.INVALID_CONFIG
    assert "lose partitions" in answer.error_message


def test_the_name_of_the_list_must_be_free(desk: Desk) -> None:
    desk.create("orders_scheduled")
    with pytest.raises(Refused, match="orders_scheduled already"):
        desk.create("orders", delayed_delivery="true")
    with pytest.raises(Refused, match="too long a name"):
        desk.create("x" * 240, delayed_delivery="true")


def test_nobody_makes_a_topic_of_the_lists_name_or_deletes_it(orders: Desk) -> None:
    name = "orders" + SUFFIX
    made = CreateTopicsRequest(topics=[CreatableTopic(name, 1, 1)])
    assert orders.ask(made).topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    gone = DeleteTopicsRequest(topics=[DeleteTopicState(name)], timeout_ms=100)
    assert orders.ask(gone).responses[0].error_code == ErrorCode.INVALID_TOPIC
    assert produced_to(orders, name) == ErrorCode.INVALID_TOPIC


def produced_to(desk: Desk, topic: str) -> int:
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, bytes(batch_of(())))])
    answer = desk.ask(ProduceRequest(acks=1, timeout_ms=100, topic_data=[data]), 9)
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def test_the_list_is_told_to_who_asks_by_name_and_not_among_all_topics(orders: Desk) -> None:
    name = "orders" + SUFFIX
    asked = orders.ask(MetadataRequest(topics=[MetadataRequestTopic(name=name)])).topics[0]
    assert asked.error_code == 0
    assert len(asked.partitions) == 2
    assert asked.topic_id not in (bytes(16), orders.image.topics["orders"].id)
    listed = orders.ask(MetadataRequest(topics=None)).topics
    assert [topic.name for topic in listed] == ["orders"]


def test_the_list_goes_with_its_topic(orders: Desk) -> None:
    gone = DeleteTopicsRequest(topics=[DeleteTopicState("orders")], timeout_ms=100)
    assert orders.ask(gone).responses[0].error_code == 0
    assert orders.image.readable.topic("orders" + SUFFIX) is None
    made = CreatableTopic(
        "orders" + SUFFIX, 1, 1, configs=[CreatableTopicConfig("preallocate", "false")]
    )
    assert orders.ask(CreateTopicsRequest(topics=[made])).topics[0].error_code == 0
