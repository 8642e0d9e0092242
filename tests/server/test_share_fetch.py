"""ShareFetch, as members of a share group see it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from tests.delays.writing import put, put_copies
from tests.log.compacting import compact
from tests.log.making import NOW_MS
from tests.server.share_house import (
    ACCEPT,
    GROUP,
    REJECT,
    RELEASE,
    TOPIC,
    Ack,
    ShareHouse,
    acquired,
    parts_of,
    records_of,
)

from penstock.api.sharing import handing_out
from penstock.api.sieves import LIGHT_RECORDS
from penstock.coordination.share.names import ShareKey
from penstock.delays.pending import Entry
from penstock.errors import ErrorCode
from penstock.server.asking_itself import AskingItself
from penstock.wire.compression import Codec
from penstock.wire.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from penstock.wire.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from penstock.world.ports import Cold
from penstock.world.real_file import RealFile

STRICT = 1
FINAL = -1


# What is given


async def test_a_member_is_given_records_as_they_lie_in_the_log(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.append(count=3)
    await shares.ready()
    answer = await shares.member("a", topic_id).fetch()
    assert acquired(answer) == [(0, 2, 1)]
    assert records_of(answer) == [0, 1, 2]
    assert answer.acquisition_lock_timeout_ms == 30_000


async def test_two_members_are_not_given_the_same(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.append(count=2)
    shares.append(count=2)
    await shares.ready()
    a, b = shares.member("a", topic_id), shares.member("b", topic_id)
    assert await a.take(max_records=1) == [(0, 1, 1)], "up to the end of a batch"
    assert await b.take() == [(2, 3, 1)]
    assert await a.take() == []


async def test_who_wants_so_many_and_no_more_gets_a_part_of_a_batch(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.append(count=10)
    await shares.ready()
    a, b = shares.member("a", topic_id), shares.member("b", topic_id)
    assert await a.take(max_records=3, share_acquire_mode=STRICT) == [(0, 2, 1)]
    assert await b.take(max_records=3, share_acquire_mode=STRICT) == [(3, 5, 1)]
    answer = await a.fetch(max_records=1, share_acquire_mode=STRICT)
    assert len(records_of(answer)) == 10, "the batch is whole all the same"


async def test_the_first_version_knows_whole_batches_alone(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.append(count=10)
    await shares.ready()
    answer = await shares.member("a", topic_id).fetch(version=1, max_records=3)
    assert acquired(answer) == [(0, 9, 1)]


async def test_bytes_are_limited_but_for_the_first_batch(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    for _ in range(3):
        shares.append(count=5)
    await shares.ready()
    a = shares.member("a", topic_id)
    assert await a.take(max_bytes=1) == [(0, 4, 1)]
    assert await a.take(max_bytes=300) == [(5, 14, 1)], "two batches"


async def test_a_session_goes_on_with_the_partition_that_had_nothing_of_late(
    shares: ShareHouse,
) -> None:
    topic_id = shares.queue(partitions=2)
    for index in (0, 1):
        for _ in range(2):
            shares.append(index=index, count=2)
        await shares.ready(index=index)
    a = shares.member("a")
    a.places = [(topic_id, 0), (topic_id, 1)]
    given = [parts_of(await a.fetch(max_records=1))[0].partition_index for _ in range(4)]
    assert given == [0, 1, 0, 1]


async def test_only_what_is_committed_is_given(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.configure(share_isolation_level="read_committed")
    shares.append(count=1)
    shares.append(count=2, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    await shares.ready()
    a = shares.member("a", topic_id)
    assert await a.take() == [(0, 0, 1)]
    await _end_transaction(shares, 7, commit=True)
    assert await a.take() == [(1, 2, 1)]
    assert await a.take() == []
    assert shares.share().end_offset == 4, "the marker is nobody's"


async def test_what_was_aborted_is_finished_for_who_reads_committed(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.configure(share_isolation_level="read_committed")
    shares.append(count=2, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    await _end_transaction(shares, 7, commit=False)
    shares.append(count=1)
    await shares.ready()
    assert await shares.member("a", topic_id).take() == [(3, 3, 1)]
    assert shares.share().start_offset == 3


async def test_who_waits_behind_much_that_was_aborted_does_so_no_longer_than_it_takes_to_look(
    shares: ShareHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handing_out, "READ_AT_ONCE", 1)
    topic_id = shares.queue()
    shares.configure(share_isolation_level="read_committed")
    for sequence in range(50):
        shares.append(producer_id=7, producer_epoch=0, base_sequence=sequence, transactional=True)
    await _end_transaction(shares, 7, commit=False)
    shares.append(count=1)
    await shares.ready()
    a = shares.member("a", topic_id)
    a.poll(max_wait_ms=3_600_000)
    assert await a.polled() == [(51, 51, 1)]


async def test_that_there_was_nothing_for_anybody_is_stored(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.configure(share_isolation_level="read_committed")
    shares.append(producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    await _end_transaction(shares, 7, commit=False)
    await shares.ready()
    assert await shares.member("a", topic_id).take() == []
    await shares.settle(lambda: shares.share().stored_start == 2)


async def test_what_was_aborted_is_given_to_who_reads_all(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.append(count=2, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    await _end_transaction(shares, 7, commit=False)
    shares.append(count=1)
    await shares.ready()
    assert await shares.member("a", topic_id).take() == [(0, 1, 1), (3, 3, 1)]


async def test_gaps_that_compaction_has_left_are_nobodys(shares: ShareHouse) -> None:
    topic_id = shares.queue(cleanup_policy="compact", segment_bytes="1024")
    for _ in range(30):
        shares.append(count=1)
    log = shares.broker.leader(TOPIC, 0).log
    compact(log)
    left = [segment.base for segment in log.segments]
    assert len(left) < 30
    await shares.ready()
    a = shares.member("a", topic_id)
    taken: list[int] = []
    while given := await a.take():
        taken += [offset for first, last, _ in given for offset in range(first, last + 1)]
    assert 0 < len(taken) < 30
    assert taken[-1] == 29
    assert shares.share().start_offset == taken[0]


async def test_bytes_that_have_to_be_read_from_the_disk_are_waited_for(
    shares: ShareHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic_id = shares.queue()
    shares.append(count=3)
    await shares.ready()
    read, is_cold = RealFile.read_cached, [True]

    def cold_once(file: RealFile, position: int, length: int) -> bytes:
        if is_cold.pop() if is_cold else False:
            raise Cold(file, position, length)
        return read(file, position, length)

    monkeypatch.setattr(RealFile, "read_cached", cold_once)
    assert await shares.member("a", topic_id).take() == [(0, 2, 1)]
    assert not is_cold


async def test_who_hangs_up_while_something_is_read_for_it_has_nothing(
    shares: ShareHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic_id = shares.queue()
    share = await shares.ready()
    a, b = shares.member("a", topic_id), shares.member("b", topic_id)
    a.poll()
    reading, go_on = asyncio.Event(), asyncio.Event()
    read = RealFile.read_cached

    def cold(file: RealFile, position: int, length: int) -> bytes:
        monkeypatch.setattr(RealFile, "read_cached", read)
        raise Cold(file, position, length)

    async def warm(cold: Cold) -> None:
        reading.set()
        await go_on.wait()

    monkeypatch.setattr(RealFile, "read_cached", cold)
    monkeypatch.setattr(shares.broker, "warm", warm)
    shares.append(count=1)
    await asyncio.wait_for(reading.wait(), 30)
    a.hang_up()
    go_on.set()
    await shares.settle(lambda: not shares.door._tasks)
    assert share.in_flight == 0
    b.poll()
    assert await b.polled() == [(0, 0, 1)]


# Acknowledgements that come along


async def test_what_is_said_with_a_fetch_is_stored_before_the_answer(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.append(count=2)
    await shares.ready()
    await shares.settle(lambda: not shares.share().has_changes)
    a = shares.member("a", topic_id)
    assert await a.take(max_records=1, share_acquire_mode=STRICT) == [(0, 0, 1)]
    shares.states.open.clear()
    a.poll(Ack(0, 0, [ACCEPT]))
    assert not a.is_answered
    shares.states.open.set()
    assert await a.polled() == [(1, 1, 1)]
    state = shares.states.state(ShareKey(GROUP, topic_id, 0))
    assert state is not None
    assert state.start_offset == 1


async def test_what_makes_no_sense_does_not_keep_a_member_from_its_records(
    shares: ShareHouse,
) -> None:
    topic_id = shares.queue()
    shares.append(count=1)
    await shares.ready()
    a = shares.member("a", topic_id)
    assert await a.take() == [(0, 0, 1)]
    shares.append(count=1)
    (part,) = parts_of(await a.fetch(Ack(5, 6, [ACCEPT])))
    assert part.acknowledge_error_code == ErrorCode.INVALID_REQUEST
    assert part.error_code == ErrorCode.NONE
    assert [each.first_offset for each in part.acquired_records] == [1]


async def test_what_is_rejected_is_given_to_nobody_again(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.append(count=2)
    await shares.ready()
    a = shares.member("a", topic_id)
    assert await a.take() == [(0, 1, 1)]
    assert await a.take(Ack(0, 1, [REJECT, RELEASE])) == [(1, 1, 2)]
    assert shares.share().start_offset == 1


async def test_what_is_released_with_a_delay_is_given_after_that(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.append(count=1)
    await shares.ready()
    a = shares.member("a", topic_id)
    assert await a.take() == [(0, 0, 1)]
    assert await a.take(Ack(0, 0, [RELEASE], 5000)) == []
    shares.clock.time_ms += 5000
    assert await a.take() == [(0, 0, 2)]


# What is refused


async def test_partitions_that_are_not_there_do_not_keep_others_back(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.append(count=1)
    await shares.ready()
    a = shares.member("a", topic_id, bytes(16))
    a.places = [(topic_id, 0), (topic_id, 5), (b"x" * 16, 0)]
    answer = await a.fetch()
    codes = {
        (each.partition_index, part.topic_id == topic_id): each.error_code
        for part in answer.responses
        for each in part.partitions
    }
    assert codes == {
        (0, True): ErrorCode.NONE,
        (5, True): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (0, False): ErrorCode.UNKNOWN_TOPIC_ID,
    }
    assert answer.node_endpoints == []


async def test_a_view_cannot_be_shared(shares: ShareHouse) -> None:
    shares.queue()
    configs = [
        CreatableTopicConfig("view.of", TOPIC),
        CreatableTopicConfig("view.where", "a = '1'"),
    ]
    view = CreatableTopic("some", num_partitions=-1, replication_factor=-1, configs=configs)
    assert shares.desk.ask(CreateTopicsRequest(topics=[view])).topics[0].error_code == 0
    known = shares.desk.image.readable.topic("some")
    assert known is not None
    (part,) = parts_of(await shares.member("a", known.shown_id).fetch())
    assert part.error_code == ErrorCode.INVALID_TOPIC
    assert f"some is a view of {TOPIC}" in (part.error_message or "")


async def test_who_asks_another_than_the_leader_is_told_where_to_go(shares: ShareHouse) -> None:
    shares.set_level(0)
    shares.desk.register(2, "other.test")
    shares.set_level(1)
    topic_id = shares.queue("elsewhere", partitions=2)
    led = [shares.desk.image.partition(topic_id, index) for index in (0, 1)]
    index = next(at for at, record in enumerate(led) if record is not None and record.leader == 2)
    a = shares.member("a")
    a.places = [(topic_id, index)]
    answer = await a.fetch()
    (part,) = parts_of(answer)
    assert part.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert part.current_leader.leader_id == 2
    assert [(each.node_id, each.host) for each in answer.node_endpoints] == [(2, "other.test")]


@pytest.mark.parametrize("names", [("", "a"), ("jobs", ""), ("j" * 1001, "a")])
async def test_groups_and_members_have_names(shares: ShareHouse, names: tuple[str, str]) -> None:
    topic_id = shares.queue()
    a = shares.member(names[1], topic_id, group=names[0])
    assert (await a.fetch()).error_code == ErrorCode.INVALID_REQUEST


async def test_a_cluster_without_share_groups_says_so(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.set_level(0)
    a = shares.member("a", topic_id)
    assert (await a.fetch()).error_code == ErrorCode.UNSUPPORTED_VERSION


async def _end_transaction(shares: ShareHouse, producer_id: int, *, commit: bool) -> None:
    named = [WritableTxnMarkerTopic(TOPIC, [0])]
    request = WriteTxnMarkersRequest([WritableTxnMarker(producer_id, 0, commit, named, 0)])
    leader = shares.broker.leader(TOPIC, 0)
    end = leader.log.end_offset + 1
    await AskingItself(shares.door).ask(request, 2, partial(str))
    await shares.settle(lambda: leader.high_watermark == end)


# Delays


async def test_what_is_held_back_is_given_to_nobody(shares: ShareHouse) -> None:
    topic_id = shares.queue(delayed_delivery="true")
    held = ((b"penstock-delay-ms", b"60000"),)
    leader = shares.broker.leader(TOPIC, 0)
    put(leader.log, [(), held, held, ()], codec=Codec.LZ4)
    put_copies(leader.log, [Entry(1, NOW_MS, 1)], still_held=True)
    put_copies(leader.log, [Entry(2, NOW_MS, 2)], still_held=False)
    leader.log.end_sync(leader.log.begin_sync())
    leader.advance()
    a = shares.member("a", topic_id)
    a.poll()
    assert await a.polled() == [(0, 0, 1), (3, 3, 1), (5, 5, 1)]
    assert await a.take(Ack(0, 0, [ACCEPT]), Ack(3, 3, [ACCEPT]), Ack(5, 5, [ACCEPT])) == []
    assert shares.share().start_offset == 6


async def test_what_is_held_back_in_a_large_batch_is_found_off_the_loop(
    shares: ShareHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic_id = shares.queue(delayed_delivery="true")
    held = ((b"penstock-delay-ms", b"60000"),)
    leader = shares.broker.leader(TOPIC, 0)
    put(leader.log, [held, (), held, *[()] * LIGHT_RECORDS], codec=Codec.ZSTD)
    leader.log.end_sync(leader.log.begin_sync())
    leader.advance()
    large, looks = shares.broker.disk.offload_large, 0

    def offload_large(work: Callable[[], object]) -> Awaitable[object]:
        nonlocal looks
        looks += 1
        return large(work)

    monkeypatch.setattr(shares.broker.disk, "offload_large", offload_large)
    a = shares.member("a", topic_id)
    a.poll(max_records=2, share_acquire_mode=STRICT)
    assert await a.polled() == [(1, 1, 1), (3, 3, 1)]
    assert looks == 1
