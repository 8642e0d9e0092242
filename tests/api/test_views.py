"""Views as clients meet them: made and found like topics, read in part, never written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pytest
from tests.api.desk import NOW_MS, Desk
from tests.log.compacting import carry_out, roll_and_compact
from tests.raw_client import fetch_of, partition_of

from penstock.api import partial_lag, sieves, viewing
from penstock.api.lag import NOTHING, Lag, Place, lags
from penstock.api.sieves import Heavy, Sieve
from penstock.errors import ErrorCode
from penstock.log.damage import Damage
from penstock.log.tag_index import TagIndex
from penstock.metadata.store import OPERATIONS_MAX
from penstock.metadata.view_changes import VIEWS_MAX
from penstock.predicate.predicate import parse
from penstock.wire.batch import read_header, size_at
from penstock.wire.batch_builder import build_batch, end_marker, read_records
from penstock.wire.compression import Codec
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from penstock.wire.messages.k01_fetch import AbortedTransaction, PartitionData
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from penstock.wire.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from penstock.wire.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from penstock.wire.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.wire.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from penstock.wire.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from penstock.wire.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from penstock.wire.records import Record

EU = "region = 'eu'"
EARLIEST, LATEST = -2, -1
VERSION = 12


def make(desk: Desk, where: str = EU, *, name: str = "eu", of: str = "orders") -> Any:
    configs = [CreatableTopicConfig("view.of", of), CreatableTopicConfig("view.where", where)]
    topic = CreatableTopic(name, num_partitions=-1, replication_factor=-1, configs=configs)
    return desk.ask(CreateTopicsRequest(topics=[topic])).topics[0]


def described(name: str, **configs: str) -> CreatableTopic:
    """As CreateTopics has it, with underscores in place of dots."""
    given = [CreatableTopicConfig(key.replace("_", "."), text) for key, text in configs.items()]
    return CreatableTopic(name, num_partitions=-1, replication_factor=-1, configs=given)


@pytest.fixture
def orders(desk: Desk) -> Desk:
    desk.create("orders", 2)
    assert make(desk).error_code == 0
    return desk


def put(desk: Desk, regions: Sequence[str | None], index: int = 0, **batch: Any) -> None:
    """A batch with a record for each of the regions, numbered by their values."""
    leader = desk.broker.leader("orders", index)
    first = leader.log.end_offset
    records = [
        Record(n, NOW_MS + n, b"k%d" % n, b"%d" % (first + n), _headers(region))
        for n, region in enumerate(regions)
    ]
    append(desk, build_batch(records, **batch), index)


def _headers(region: str | None) -> tuple[tuple[bytes, bytes | None], ...]:
    return () if region is None else ((b"region", region.encode()),)


def put_tagged(desk: Desk, **tags: bytes) -> None:
    """A batch with one record that has these headers."""
    headers = tuple((name.encode(), value) for name, value in tags.items())
    append(desk, build_batch([Record(0, NOW_MS, None, b"v", headers)]))


def put_marker(desk: Desk, *, commit: bool) -> None:
    append(desk, end_marker(7, 0, commit=commit, coordinator_epoch=1, timestamp_ms=NOW_MS))


def append(desk: Desk, batch: bytearray, index: int = 0) -> None:
    """And have it replicated."""
    leader = desk.broker.leader("orders", index)
    leader.log.append(batch, read_header(memoryview(batch)), NOW_MS, leader.epoch)
    leader.log.write_out()
    leader.log.end_sync(leader.log.begin_sync())
    leader.advance()


def fetched(desk: Desk, offset: int = 0, view: str = "eu", **more: Any) -> PartitionData:
    return partition_of(desk.ask(fetch_of(view, offset, **more), VERSION))


def sent(data: PartitionData) -> bytes:
    assert isinstance(data.records, bytes | bytearray | memoryview)
    return bytes(data.records)


def offsets(data: PartitionData) -> tuple[list[int], int]:
    """Of the records that came, and where a reader goes on."""
    found, after = list[int](), -1
    for batch in batches(data):
        if not read_header(batch).is_control:
            found += [each.offset for each in read_records(batch, 1 << 20)]
        after = read_header(batch).next_offset
    return found, after


def control_offsets(data: PartitionData) -> list[int]:
    headers = map(read_header, batches(data))
    return [header.base_offset for header in headers if header.is_control]


def batches(data: PartitionData) -> Iterator[bytes]:
    at, records = 0, sent(data)
    while at < len(records):
        yield records[at : at + size_at(records, at)]
        at += size_at(records, at)


def test_a_view_is_found_in_metadata_by_name_and_by_id(orders: Desk) -> None:
    by_name = orders.ask(MetadataRequest(topics=[MetadataRequestTopic(name="eu")])).topics[0]
    source = orders.ask(MetadataRequest(topics=[MetadataRequestTopic(name="orders")])).topics[0]
    assert (by_name.error_code, by_name.view_of) == (0, "orders")
    assert by_name.partitions == source.partitions
    assert by_name.topic_id != source.topic_id
    wanted = MetadataRequestTopic(topic_id=by_name.topic_id, name=None)
    assert orders.ask(MetadataRequest(topics=[wanted])).topics[0].name == "eu"
    listed = [each.name for each in orders.ask(MetadataRequest(topics=None)).topics]
    assert sorted(listed) == ["eu", "orders"]


def test_what_matches_comes_with_its_own_offsets_and_the_reader_goes_on_behind_the_rest(
    orders: Desk,
) -> None:
    put(orders, ["eu", "us", None, "eu"])
    put(orders, ["us", "us"])
    assert offsets(fetched(orders)) == ([0, 3], 6)
    assert fetched(orders).high_watermark == 6


def test_batches_that_match_as_a_whole_come_as_they_are(orders: Desk) -> None:
    put(orders, ["eu", "eu"], producer_id=7, producer_epoch=1, base_sequence=0)
    whole = partition_of(orders.ask(fetch_of("orders"), VERSION))
    assert sent(fetched(orders)) == sent(whole)


def test_a_stretch_without_a_match_is_spanned_by_one_batch(orders: Desk) -> None:
    for _ in range(3):
        put(orders, ["us", "us"])
    data = sent(fetched(orders))
    header = read_header(data)
    assert (header.base_offset, header.next_offset, header.is_control) == (0, 6, True)
    assert header.size == len(data)
    assert header.leader_epoch == orders.broker.leader("orders", 0).epoch


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.SNAPPY, Codec.ZSTD])
def test_compressed_batches_are_looked_into(orders: Desk, codec: Codec) -> None:
    put(orders, ["eu", "us", "eu"], codec=codec)
    assert offsets(fetched(orders)) == ([0, 2], 3)


def test_reading_on_from_the_middle_of_a_batch(orders: Desk) -> None:
    put(orders, ["eu", "eu", "us", "us"])
    assert offsets(fetched(orders, 1))[1] == 4
    assert offsets(fetched(orders, 3)) == ([], 4) or 3 not in offsets(fetched(orders, 3))[0]


def test_what_was_passed_once_is_not_read_again(
    orders: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        put(orders, ["eu" if number == 7 else "us"] * 1200)
    expected = offsets(fetched(orders))
    assert expected == (list(range(8400, 9600)), 12_000)
    looked_into: list[int] = []
    look = Sieve.look

    def counting(sieve: Sieve, batch: Any, *args: Any, **more: Any) -> Any:
        looked_into.append(read_header(batch).base_offset)
        return look(sieve, batch, *args, **more)

    monkeypatch.setattr(Sieve, "look", counting)
    assert offsets(fetched(orders)) == expected
    assert looked_into == [8400]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_batches_that_take_long_are_looked_into_off_the_loop(
    orders: Desk, monkeypatch: pytest.MonkeyPatch, codec: Codec
) -> None:
    put(orders, ["us", "eu"])
    put(orders, ["us", "eu"] * 10_000, codec=codec)
    put(orders, ["us", "eu"])
    done: list[tuple[int, bool]] = []
    look = Sieve.look

    def noting(sieve: Sieve, batch: Any, index: Any, *, light: bool) -> Any:
        looked = look(sieve, batch, index, light=light)
        done.append((looked.header.base_offset, light))
        return looked

    monkeypatch.setattr(Sieve, "look", noting)
    assert offsets(fetched(orders)) == (list(range(1, 20_004, 2)), 20_004)
    assert done == [(0, True), (2, False), (20_002, True)]
    assert lag(orders, 0).messages == 10_002


def test_what_is_light_goes_by_how_much_there_is_to_ask() -> None:
    batch = memoryview(build_batch([Record(0, NOW_MS, bytes(100 << 10), b"v")]))
    index = TagIndex((b"region",), 0)
    many = " or ".join(f"key like '%{number}_%'" for number in range(20))
    assert Sieve(parse("key like '%1_%'")).look(batch, index, light=True).kept is None
    with pytest.raises(Heavy):
        Sieve(parse(many)).look(batch, index, light=True)
    assert Sieve(parse(many)).look(batch, index, light=False).kept is None


def test_a_batch_that_is_small_only_while_it_is_compressed_is_looked_into_off_the_loop(
    orders: Desk,
) -> None:
    leader = orders.broker.leader("orders", 0)
    record = Record(0, NOW_MS, None, bytes(2 << 20), ((b"region", b"eu"),))
    built = build_batch([record], codec=Codec.ZSTD)
    assert len(built) < 4096
    leader.log.append(built, read_header(built), NOW_MS, leader.epoch)
    with pytest.raises(Heavy):
        Sieve(parse(EU)).look(memoryview(built), TagIndex((b"region",), 0), light=True)
    put(orders, ["us"])
    assert read_header(sent(fetched(orders))).record_count == 1


def test_the_same_values_of_another_header_say_nothing(orders: Desk) -> None:
    """What is known of one segment by one name must not be taken for what another has by
    another."""
    make(orders, "tier = 'gold'", name="gold")
    make(orders, "class = 'gold'", name="first")
    put_tagged(orders, tier=b"tin")
    for _ in range(2):
        assert offsets(fetched(orders, view="gold")) == ([], 1)
    orders.broker.leader("orders", 0).log.roll()
    put_tagged(orders, **{"class": b"tin", "tier": b"gold"})
    assert offsets(fetched(orders, 1, view="first")) == ([], 2)
    assert offsets(fetched(orders, view="gold")) == ([1], 2)


def test_markers_of_transactions_are_never_passed(orders: Desk) -> None:
    """A reader forgets that a producer has aborted when it meets the marker, and not before."""
    by = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    for number, (region, commit) in enumerate((("eu", False), ("us", True), ("eu", True))):
        put(orders, [region] * 1200, base_sequence=1200 * number, **by)
        put_marker(orders, commit=commit)
    for _ in range(2):
        assert control_offsets(fetched(orders)) == [1200, 2401, 3602]


def test_only_readers_of_committed_records_are_told_what_was_aborted(orders: Desk) -> None:
    """librdkafka complains of it to all others, once for every answer."""
    put(orders, ["eu"], producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    put_marker(orders, commit=False)
    request = fetch_of("eu")
    assert not partition_of(orders.ask(request, VERSION)).aborted_transactions
    request.isolation_level = 1
    told = partition_of(orders.ask(request, VERSION)).aborted_transactions
    assert told == [AbortedTransaction(7, 0)]


def test_partitions_that_are_read_together_share_in_what_an_answer_may_take(
    orders: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewing, "PASSED_AT_LEAST", 1)
    monkeypatch.setattr(viewing, "PASSED_AT_MOST", 400 << 10)
    for _ in range(30):
        put(orders, ["us"] * 1000)
        put(orders, ["us"] * 1000, index=1)
    both = fetch_of("eu")
    both.topics[0].partitions += fetch_of("eu", partition=1).topics[0].partitions
    reached = [offsets(each)[1] for each in orders.ask(both, VERSION).responses[0].partitions]
    alone = offsets(fetched(orders, reached[0]))[1] - reached[0]
    assert reached == [reached[0]] * 2
    assert 0 < reached[0] < alone < 30_000 - reached[0]


def test_an_answer_is_no_longer_than_asked_for_and_the_next_goes_on_there(orders: Desk) -> None:
    for _ in range(20):
        put(orders, ["eu", "us"] * 200)
    found: list[int] = []
    offset, rounds = 0, 0
    while offset < 8000:
        got, offset = offsets(fetched(orders, offset, max_bytes=5000))
        found += got
        rounds += 1
    assert found == list(range(0, 8000, 2))
    assert rounds > 5


def test_after_compaction_only_what_is_left_is_shown(desk: Desk) -> None:
    desk.create("orders", cleanup_policy="compact")
    make(desk)
    put(desk, ["eu", "us"])
    put(desk, ["us", "eu"])
    assert offsets(fetched(desk))[0] == [0, 3]
    roll_and_compact(desk.broker.leader("orders", 0).log)
    assert offsets(fetched(desk))[0] == [3]


def test_a_truncated_log_is_looked_at_anew(orders: Desk) -> None:
    put(orders, ["us"])
    put(orders, ["us"])
    assert offsets(fetched(orders)) == ([], 2)
    log = orders.broker.leader("orders", 0).log
    log.truncate_to(1)
    put(orders, ["eu"])
    assert offsets(fetched(orders)) == ([1], 2)


def test_bytes_that_changed_on_the_disk_are_given_out_as_they_are(orders: Desk) -> None:
    """So that the reader's own check fails, and not a checksum that was made of wrong bytes."""
    put(orders, ["eu", "us"])
    log = orders.broker.leader("orders", 0).log
    path = log.segments[0].file.path
    with open(path, "r+b") as file:
        file.seek(-1, 2)
        file.write(b"X")
    whole = partition_of(orders.ask(fetch_of("orders"), VERSION))
    assert sent(fetched(orders)) == sent(whole)


def test_what_lies_before_damage_is_shown_and_damage_is_told_of_there(orders: Desk) -> None:
    for region in ("eu", "us", "eu", "eu"):
        put(orders, [region])
    log = orders.broker.leader("orders", 0).log
    whole = sent(partition_of(orders.ask(fetch_of("orders"), VERSION)))
    first, second = size_at(whole), size_at(whole, size_at(whole))
    log.damage = [Damage(1, 2, 0, first, first + second)]
    before = fetched(orders, min_bytes=1 << 20, max_wait_ms=60_000)
    assert (before.error_code, offsets(before)) == (0, ([0], 1))
    assert fetched(orders, 1).error_code == ErrorCode.CORRUPT_MESSAGE
    assert offsets(fetched(orders, 2)) == ([2, 3], 4)


def test_where_a_view_begins_and_ends_is_where_its_topic_does(orders: Desk) -> None:
    put(orders, ["eu", "us", "eu"])
    for asked, offset in ((EARLIEST, 0), (LATEST, 3), (NOW_MS + 2, 2)):
        part = ListOffsetsPartition(0, timestamp=asked)
        request = ListOffsetsRequest(topics=[ListOffsetsTopic("eu", [part])])
        assert orders.ask(request).topics[0].partitions[0].offset == offset


def test_who_is_past_the_end_or_before_the_beginning_is_told(orders: Desk) -> None:
    """Or it would wait for ever, and never begin where it is set to."""
    put(orders, ["us"])
    put(orders, ["us"])
    assert offsets(fetched(orders)) == ([], 2)
    assert fetched(orders, 2).error_code == 0
    assert fetched(orders, 3).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    orders.broker.leader("orders", 0).log.advance_start(1)
    assert fetched(orders, 0).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert offsets(fetched(orders, 1)) == ([], 2)


def test_a_topic_and_its_views_are_made_by_one_request(desk: Desk) -> None:
    request = CreateTopicsRequest(
        topics=[
            described("eu", view_of="orders", view_where=EU),
            described("orders"),
            described("us", view_of="orders", view_where="region = 'us'"),
            described("of-nothing", view_of="payments", view_where=EU),
            described("of-a-view", view_of="eu", view_where=EU),
            described("bad", view_of="orders", view_where="region ="),
        ]
    )
    answers = desk.ask(request).topics
    assert [(each.name, each.error_code) for each in answers] == [
        ("eu", 0),
        ("orders", 0),
        ("us", 0),
        ("of-nothing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("of-a-view", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("bad", ErrorCode.INVALID_CONFIG),
    ]
    put(desk, ["us", "eu"])
    assert offsets(fetched(desk)) == ([1], 2)


def test_a_view_of_a_topic_that_was_refused_is_not_made(desk: Desk) -> None:
    topics = [described("orders", no_such="1"), described("eu", view_of="orders", view_where=EU)]
    answers = desk.ask(CreateTopicsRequest(topics=topics)).topics
    assert [each.error_code for each in answers] == [
        ErrorCode.INVALID_CONFIG,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


def test_a_topic_and_a_view_of_one_name_are_both_refused(desk: Desk) -> None:
    topics = [
        described("orders"),
        described("eu"),
        described("eu", view_of="orders", view_where=EU),
    ]
    answers = desk.ask(CreateTopicsRequest(topics=topics)).topics
    assert [(each.name, each.error_code) for each in answers] == [
        ("orders", 0),
        ("eu", ErrorCode.INVALID_REQUEST),
    ]
    assert "eu" not in desk.image.readable.topics


@pytest.mark.parametrize("version", [9, 13])
def test_nothing_is_written_to_a_view(orders: Desk, version: int) -> None:
    topic_id = orders.image.readable.topics["eu"].id
    batch = build_batch([Record(0, NOW_MS, None, b"v")])
    data = TopicProduceData(
        name="eu", topic_id=topic_id, partition_data=[PartitionProduceData(0, bytes(batch))]
    )
    request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[data])
    answer = orders.ask(request, version).responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.INVALID_TOPIC
    assert "eu is a view of orders" in answer.error_message


def test_no_transaction_takes_in_a_view(orders: Desk) -> None:
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="t",
        v3_and_below_producer_id=7,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=[AddPartitionsToTxnTopic("eu", [0])],
    )
    answer = orders.ask(request, 3).results_by_topic_v3_and_below[0]
    assert answer.results_by_partition[0].partition_error_code == ErrorCode.INVALID_TOPIC


def test_records_are_deleted_in_the_topic_and_not_through_a_view(orders: Desk) -> None:
    put(orders, ["eu"])
    part = DeleteRecordsPartition(0, 1)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic("eu", [part])], timeout_ms=1000)
    answer = orders.ask(request).topics[0].partitions[0]
    assert answer.error_code == ErrorCode.INVALID_TOPIC


def test_settings_of_a_view_say_what_it_shows(orders: Desk) -> None:
    resource = DescribeConfigsResource(2, "eu", configuration_keys=None)
    (result,) = orders.ask(DescribeConfigsRequest(resources=[resource])).results
    shown = {each.name: (each.value, each.read_only) for each in result.configs}
    assert shown == {
        "view.of": ("orders", True),
        "view.where": (EU, True),
        "view.idle.ms": ("0", True),
    }


def test_a_predicate_that_cannot_be_read_is_refused_with_the_place(orders: Desk) -> None:
    answer = make(orders, "region = ", name="bad")
    assert answer.error_code != 0
    assert "region = " in answer.error_message
    assert "^" in answer.error_message


def test_a_view_that_is_deleted_is_gone_and_its_topic_stays(orders: Desk) -> None:
    put(orders, ["eu"])
    answer = orders.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="eu")], timeout_ms=1000))
    assert answer.responses[0].error_code == 0
    assert fetched(orders).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert len(partition_of(orders.ask(fetch_of("orders"), VERSION)).records or b"")


def test_a_topic_is_deleted_in_one_request_with_views_of_it(orders: Desk) -> None:
    names = [DeleteTopicState(name="orders"), DeleteTopicState(name="eu")]
    answer = orders.ask(DeleteTopicsRequest(topics=names, timeout_ms=1000))
    assert [each.error_code for each in answer.responses] == [0, 0]
    assert orders.commits[-1].deletes == ["/topics/orders", "/views/eu"]
    assert not orders.image.readable.topics


def test_topics_with_many_views_are_deleted_in_commits_that_stores_take(orders: Desk) -> None:
    desk = orders
    desk.create("returns")
    for number in range(VIEWS_MAX - 1):
        assert make(desk, name=f"orders{number}").error_code == 0
        assert make(desk, name=f"returns{number}", of="returns").error_code == 0
    desk.commits.clear()
    names = [DeleteTopicState(name="orders"), DeleteTopicState(name="returns")]
    answer = desk.ask(DeleteTopicsRequest(topics=names, timeout_ms=1000))
    assert [each.error_code for each in answer.responses] == [0, 0]
    assert not desk.image.readable.topics
    for commit in desk.commits:
        assert len(commit.puts) + len(commit.deletes) <= OPERATIONS_MAX


def test_what_was_known_of_views_is_forgotten_in_the_end(
    orders: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sieves, "SIEVES_MAX", 2)
    put(orders, ["eu", "us"])
    for name in ("one", "two", "eu", "three", "eu"):
        make(orders, name=name)
        assert offsets(fetched(orders, view=name)) == ([0], 2)
    assert len(orders.broker.sieves) == 2


def test_what_was_known_of_a_view_goes_with_it(orders: Desk) -> None:
    make(orders, "region = 'us'", name="us")
    put(orders, ["eu"])
    for name in ("eu", "us"):
        orders.ask(fetch_of(name, 0), VERSION)
    sieves, readable = orders.broker.sieves, orders.broker.image.readable
    sieves.forget_gone(readable)
    assert len(sieves) == 2
    orders.ask(DeleteTopicsRequest(topics=[DeleteTopicState("us")]))
    sieves.forget_gone(readable)
    assert len(sieves) == 1


def lag(desk: Desk, offset: int) -> Lag:
    place = Place("eu", 0, offset)
    steps = lags(desk.broker, [place], NOW_MS + 60_000)
    while True:
        try:
            carry_out(desk.broker.leader("orders", 0).log, next(steps))
        except StopIteration as end:
            found: dict[Place, Lag] = end.value
            return found[place]


def test_the_lag_of_a_view_is_what_matches(orders: Desk) -> None:
    put(orders, ["us", "eu", "eu", "us"])
    put(orders, ["us", "us"])
    put(orders, ["eu", "us"])
    assert [lag(orders, offset).messages for offset in range(9)] == [3, 3, 2, 1, 1, 1, 1, 0, 0]
    assert lag(orders, 0).waiting_ms == 60_000
    assert lag(orders, 7) == NOTHING


def test_what_was_aborted_is_no_lag_in_a_view(orders: Desk) -> None:
    by = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    put(orders, ["eu", "eu"], base_sequence=0, **by)
    leader = orders.broker.leader("orders", 0)
    marker = end_marker(7, 0, commit=False, coordinator_epoch=1, timestamp_ms=NOW_MS)
    leader.log.append(marker, read_header(marker), NOW_MS, leader.epoch)
    put(orders, ["eu"])
    assert lag(orders, 0).messages == 1


def test_the_lag_of_a_reader_far_behind_is_not_looked_for_to_the_end(
    orders: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partial_lag, "LOOKED_AT_MOST", 1)
    put(orders, ["eu"])
    for _ in range(50):
        put(orders, ["eu"] * 400)
    assert lag(orders, 0) == Lag(None, 60_000)


def test_the_lag_is_not_looked_for_in_what_was_cut_off_meanwhile(orders: Desk) -> None:
    for _ in range(3):
        put(orders, ["eu"] * 2500)
    steps = lags(orders.broker, [Place("eu", 0, 0)], NOW_MS)
    next(steps)
    orders.broker.leader("orders", 0).log.truncate_to(2500)
    assert len(list(islice(steps, 100))) < 100
