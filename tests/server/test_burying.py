"""Dead letters: what a share group gives up is in another topic before it is finished."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest
from tests.server.share_house import (
    ACCEPT,
    GROUP,
    REJECT,
    RELEASE,
    TOPIC,
    Ack,
    Member,
    ShareHouse,
)

from penstock.errors import ErrorCode, Refused
from penstock.metadata.config_changes import change_topic_configs, replace_broker_configs
from penstock.metadata.config_values import ConfigChange, Operation
from penstock.server import burying, letter_post
from penstock.sharing.letters import DELIVERED_TOO_OFTEN, PREFIX, REJECTED
from penstock.sharing.phases import Phase
from penstock.wire.batch import read_header, size_at
from penstock.wire.batch_builder import build_batch, read_records
from penstock.wire.compression import Codec
from penstock.wire.records import Record

DEAD = "dlq.orders"
NAME = "errors_deadletterqueue_topic_name"
COPY = "errors_deadletterqueue_copy_record_enable"
OPT_IN = {"errors_deadletterqueue_group_enable": "true"}


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(burying, "PAUSE_MS_MIN", 1)
    monkeypatch.setattr(burying, "PAUSE_MS_MAX", 8)


@pytest.fixture
async def a(shares: ShareHouse) -> Member:
    """A member of a group whose dead letters have somewhere to go."""
    shares.desk.create(DEAD, 1, 1, **OPT_IN)
    shares.configure(**{NAME: DEAD, COPY: "true"})
    return shares.member("a", shares.queue(partitions=3))


def append(shares: ShareHouse, *records: Record, index: int = 0, codec: int = Codec.NONE) -> None:
    leader = shares.broker.leader(TOPIC, index)
    batch = build_batch(records, codec=codec)
    leader.log.append(batch, read_header(batch), 0, leader.epoch)
    leader.log.write_out()
    leader.log.end_sync(leader.log.begin_sync())
    leader.advance()


def letters(shares: ShareHouse, topic: str = DEAD, index: int = 0) -> list[Record]:
    """What is written there, and committed."""
    leader = shares.broker.leader(topic, index)
    found = leader.log.read(0, 1 << 20, leader.high_watermark, at_least_one=True, cold_ok=True)
    if found is None:
        return []
    data, at, records = found.range.file.read(found.range.position, found.range.length), 0, []
    while at < len(data):
        records += read_records(data[at : at + size_at(data, at)], 1 << 20)
        at += size_at(data, at)
    return records


def told(record: Record) -> dict[str, str]:
    """Headers of dead letters, without what all begin with."""
    return {
        name.removeprefix(PREFIX).decode(): (value or b"").decode()
        for name, value in record.headers
        if name.startswith(PREFIX)
    }


def offsets(records: Sequence[Record]) -> list[int]:
    return [int(told(each)["offset"]) for each in records]


async def finished(shares: ShareHouse, start: int) -> None:
    """All below is, and that is stored."""
    await shares.settle(lambda: shares.share().stored_start == start)


async def test_what_is_rejected_is_written_there_with_its_story(
    shares: ShareHouse, a: Member
) -> None:
    append(shares, Record(0, 5, b"k", b"v", ((b"trace", b"1"), (b"none", None))))
    await shares.ready()
    assert await a.take() == [(0, 0, 1)]
    assert await a.acknowledge(Ack(0, 0, [REJECT])) == ErrorCode.NONE
    await finished(shares, 1)
    (letter,) = letters(shares)
    assert (letter.key, letter.value) == (b"k", b"v")
    assert letter.headers[:2] == ((b"trace", b"1"), (b"none", None))
    assert told(letter) == {
        "topic": TOPIC,
        "partition": "0",
        "offset": "0",
        "group": GROUP,
        "delivery.count": "1",
        "message": REJECTED.decode(),
    }


async def test_what_was_delivered_too_often_is_written_there(shares: ShareHouse, a: Member) -> None:
    shares.configure(**{NAME: DEAD, "share_delivery_count_limit": "2"})
    shares.append(count=1)
    await shares.ready()
    for count in (1, 2):
        assert await a.take() == [(0, 0, count)]
        assert await a.acknowledge(Ack(0, 0, [RELEASE])) == ErrorCode.NONE
    await finished(shares, 1)
    (letter,) = letters(shares)
    assert told(letter)["message"] == DELIVERED_TOO_OFTEN.decode()
    assert told(letter)["delivery.count"] == "2"
    assert (letter.key, letter.value) == (None, None), "only who asks for it gets a copy"


async def test_a_lock_that_has_ended_too_often_makes_a_dead_letter(
    shares: ShareHouse, a: Member
) -> None:
    shares.configure(**{NAME: DEAD, "share_delivery_count_limit": "2"})
    shares.append(count=1)
    await shares.ready()
    for count in (1, 2):
        assert await a.take() == [(0, 0, count)]
        shares.clock.time_ms += 30_000
    assert await a.take() == []
    await finished(shares, 1)
    assert offsets(letters(shares)) == [0]


async def test_without_a_topic_for_them_records_are_dropped(shares: ShareHouse) -> None:
    a = shares.member("a", shares.queue())
    shares.append(count=1)
    await shares.ready()
    await a.take()
    assert await a.acknowledge(Ack(0, 0, [REJECT])) == ErrorCode.NONE
    assert shares.share().start_offset == 1


async def test_others_flow_on_while_a_dead_letter_waits(shares: ShareHouse) -> None:
    shares.configure(**{NAME: DEAD})
    a = shares.member("a", shares.queue())
    shares.append(count=3)
    await shares.ready()
    await a.take()
    assert await a.acknowledge(Ack(0, 2, [REJECT, ACCEPT, ACCEPT])) == ErrorCode.NONE
    shares.append(count=1)
    assert await a.take() == [(3, 3, 1)]
    assert await a.acknowledge(Ack(3, 3, [ACCEPT])) == ErrorCode.NONE
    assert shares.share().start_offset == 0
    shares.desk.create(DEAD, 1, 1, **OPT_IN)
    await finished(shares, 4)
    assert offsets(letters(shares)) == [0]


async def test_what_keeps_them_from_being_written_is_said_and_waited_for(
    shares: ShareHouse, caplog: pytest.LogCaptureFixture
) -> None:
    shares.configure(**{NAME: DEAD})
    a = shares.member("a", shares.queue())
    shares.append(count=2)
    await shares.ready()
    await a.take()
    with caplog.at_level(logging.WARNING):
        assert await a.acknowledge(Ack(0, 1, [REJECT])) == ErrorCode.NONE
        await shares.settle(lambda: "there is no topic 'dlq.orders'" in caplog.text)
        shares.desk.create(DEAD)
        shares.clock.time_ms += burying.TELL_EVERY_MS
        await shares.settle(lambda: "does not take dead letters" in caplog.text)
    assert shares.share().in_flight == 2
    assert len(caplog.records) == 2, "once in a while"
    change = ConfigChange("errors.deadletterqueue.group.enable", Operation.SET, "true")
    shares.desk.change(
        lambda image: change_topic_configs(image, DEAD, [change], nonce=b"n" * 16, now_ms=0)
    )
    await finished(shares, 2)
    assert offsets(letters(shares)) == [0, 1]


async def test_a_topic_that_is_missing_is_made_where_brokers_may(
    shares: ShareHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares.desk.change(
        lambda image: replace_broker_configs(
            image, None, {"errors.deadletterqueue.auto.create.topics.enable": "true"}
        )
    )
    shares.broker.reconfigure_all()
    shares.configure(**{NAME: DEAD})
    a = shares.member("a", shares.queue())
    shares.append(count=1)
    await shares.ready()
    await a.take()
    assert await a.acknowledge(Ack(0, 0, [REJECT])) == ErrorCode.NONE
    await finished(shares, 1)
    assert offsets(letters(shares)) == [0]


async def test_a_group_that_names_no_topic_any_more_drops_them_and_says_so(
    shares: ShareHouse, caplog: pytest.LogCaptureFixture
) -> None:
    shares.configure(**{NAME: DEAD})
    a = shares.member("a", shares.queue())
    shares.append(count=1)
    await shares.ready()
    await a.take()
    assert await a.acknowledge(Ack(0, 0, [REJECT])) == ErrorCode.NONE
    await shares.settle(lambda: "there is no topic" in caplog.text)
    shares.configure()
    await finished(shares, 1)
    assert "1 records are dropped: the group has no topic for them any more" in caplog.text


async def test_a_letter_that_its_topic_does_not_take_waits_and_others_do_not(
    shares: ShareHouse, a: Member, caplog: pytest.LogCaptureFixture
) -> None:
    change = ConfigChange("max.message.bytes", Operation.SET, "2000")
    shares.desk.change(
        lambda image: change_topic_configs(image, DEAD, [change], nonce=b"n" * 16, now_ms=0)
    )
    append(shares, *(Record(n, 5, None, b"x" * (5000 if n == 1 else 900)) for n in range(4)))
    await shares.ready()
    await a.take()
    assert await a.acknowledge(Ack(0, 3, [REJECT])) == ErrorCode.NONE
    await shares.settle(lambda: shares.share().in_flight == 1)
    assert offsets(letters(shares)) == [0, 2, 3]
    assert "raise its max.message.bytes" in caplog.text
    again = ConfigChange("max.message.bytes", Operation.SET, "20000")
    shares.desk.change(
        lambda image: change_topic_configs(image, DEAD, [again], nonce=b"o" * 16, now_ms=0)
    )
    shares.broker.reconfigure(shares.desk.image.topics[DEAD])
    await finished(shares, 4)
    assert offsets(letters(shares)) == [0, 2, 3, 1]


async def test_many_are_written_in_some_batches_whatever_they_came_in(
    shares: ShareHouse, a: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(letter_post, "BYTES_AT_ONCE", 3000)
    records = [Record(n, 5, b"%d" % n, b"x" * 100) for n in range(250)]
    append(shares, *records[:125], codec=Codec.ZSTD)
    append(shares, *(Record(n - 125, 5, r.key, r.value) for n, r in enumerate(records[125:], 125)))
    await shares.ready()
    assert await a.take(max_records=1000) == [(0, 249, 1)]
    assert await a.acknowledge(Ack(0, 249, [REJECT])) == ErrorCode.NONE
    await finished(shares, 250)
    written = letters(shares)
    assert offsets(written) == list(range(250))
    assert [each.key for each in written] == [b"%d" % n for n in range(250)]


async def test_partitions_map_to_partitions(shares: ShareHouse) -> None:
    shares.desk.create(DEAD, 2, 1, **OPT_IN)
    shares.configure(**{NAME: DEAD})
    a = shares.member("a")
    topic_id = shares.queue(partitions=3)
    for index in range(3):
        shares.append(index=index, count=1)
        await shares.ready(index=index)
        a.places = [(topic_id, index)]
        assert await a.take(places=a.places) == [(0, 0, 1)]
        assert await a.acknowledge(Ack(0, 0, [REJECT])) == ErrorCode.NONE
    await shares.settle(lambda: len(letters(shares)) == 2 and len(letters(shares, index=1)) == 1)
    assert [told(each)["partition"] for each in letters(shares)] == ["0", "2"]
    assert [told(each)["partition"] for each in letters(shares, index=1)] == ["1"]


async def test_dead_letters_of_the_dead_letters_are_dropped(shares: ShareHouse) -> None:
    topic_id = shares.queue(DEAD, 1, **OPT_IN)
    shares.configure(**{NAME: DEAD})
    a = shares.member("a", topic_id)
    shares.append(DEAD, count=1)
    await shares.ready(DEAD)
    await a.take()
    assert await a.acknowledge(Ack(0, 0, [REJECT])) == ErrorCode.NONE
    assert shares.share(DEAD).start_offset == 1
    assert shares.broker.leader(DEAD, 0).log.end_offset == 1


async def test_a_dead_letter_that_dies_again_tells_of_its_last_death_alone(
    shares: ShareHouse,
) -> None:
    topic_id = shares.queue("dlq.first", 1, **OPT_IN)
    shares.desk.create(DEAD, 1, 1, **OPT_IN)
    shares.configure(**{NAME: DEAD, COPY: "true"})
    leader = shares.broker.leader("dlq.first", 0)
    batch = build_batch([Record(0, 5, None, b"v", ((PREFIX + b"topic", b"x"), (b"h", b"1")))])
    leader.log.append(batch, read_header(batch), 0, leader.epoch)
    leader.log.write_out()
    leader.log.end_sync(leader.log.begin_sync())
    leader.advance()
    a = shares.member("a", topic_id)
    await shares.ready("dlq.first")
    await a.take()
    assert await a.acknowledge(Ack(0, 0, [REJECT])) == ErrorCode.NONE
    await shares.settle(lambda: bool(letters(shares)))
    (letter,) = letters(shares)
    assert [name for name, _ in letter.headers].count(PREFIX + b"topic") == 1
    assert told(letter)["topic"] == "dlq.first"


async def test_what_is_deleted_before_it_is_copied_leaves_a_letter_all_the_same(
    shares: ShareHouse,
) -> None:
    shares.configure(**{NAME: DEAD, COPY: "true"})
    a = shares.member("a", shares.queue())
    shares.append(count=2)
    await shares.ready()
    await a.take()
    assert await a.acknowledge(Ack(0, 1, [REJECT])) == ErrorCode.NONE
    shares.broker.delete_to(shares.broker.leader(TOPIC, 0), 1)
    shares.desk.create(DEAD, 1, 1, **OPT_IN)
    await shares.settle(lambda: len(letters(shares)) == 2)
    assert [each.value for each in letters(shares)] == [None, b"value"]


async def test_what_is_sent_again_because_no_answer_came_is_there_once(
    shares: ShareHouse, a: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    produced = letter_post.Carrier.produce
    sent = []

    async def losing(self, node_id, request):  # type: ignore[no-untyped-def]
        answer = await produced(self, node_id, request)
        sent.append(answer.base_offset)
        if len(sent) <= 2:
            raise TimeoutError("it does not answer")
        return answer

    monkeypatch.setattr(letter_post.Carrier, "produce", losing)
    shares.append(count=3)
    await shares.ready()
    await a.take()
    assert await a.acknowledge(Ack(0, 0, [REJECT])) == ErrorCode.NONE
    await shares.settle(lambda: bool(sent))
    assert await a.acknowledge(Ack(1, 2, [REJECT])) == ErrorCode.NONE
    await finished(shares, 3)
    assert offsets(letters(shares)) == [0, 1, 2]
    assert sent[0] == sent[1]


async def test_the_next_leader_writes_what_this_one_has_not_with_its_cause(
    shares: ShareHouse,
) -> None:
    shares.configure(**{NAME: DEAD})
    topic_id = shares.queue()
    a = shares.member("a", topic_id)
    shares.append(count=2)
    await shares.ready()
    await a.take()
    assert await a.acknowledge(Ack(0, 1, [REJECT, ACCEPT])) == ErrorCode.NONE
    before = shares.shared()
    await shares.settle(lambda: not before.share or not before.share.has_changes)
    shares.desk.new_term(TOPIC)
    shares.broker.follow_partition(topic_id, 0)
    shares.broker.shared.follow()
    shares.desk.create(DEAD, 1, 1, **OPT_IN)
    share = await shares.ready()
    assert share.window.counts[Phase.BURYING] == 1
    await finished(shares, 2)
    (letter,) = letters(shares)
    assert told(letter)["offset"] == "0"
    assert (told(letter)["message"], told(letter)["delivery.count"]) == (REJECTED.decode(), "1")
    await shares.settle(lambda: not shares.sharing._burying._tasks)


async def test_a_disk_that_is_full_loses_none(
    shares: ShareHouse, a: Member, caplog: pytest.LogCaptureFixture
) -> None:
    shares.disk.full_folder = f"{DEAD}-0"
    shares.append(count=1)
    await shares.ready()
    await a.take()
    assert await a.acknowledge(Ack(0, 0, [REJECT])) == ErrorCode.NONE
    await shares.settle(lambda: "no space left" in caplog.text)
    assert shares.share().in_flight == 1
    shares.disk.full_folder, shares.broker.disk_is_full = "", False
    await finished(shares, 1)
    assert offsets(letters(shares)) == [0]


@pytest.mark.parametrize("name", ["orders", "dlq.or/ders", "dlq." + "x" * 250])
async def test_a_group_may_not_name_any_topic(shares: ShareHouse, name: str) -> None:
    with pytest.raises(Refused) as caught:
        shares.configure(**{NAME: name})
    assert caught.value.code is ErrorCode.INVALID_CONFIG


async def test_no_prefix_still_leaves_the_brokers_their_topics(shares: ShareHouse) -> None:
    shares.desk.change(
        lambda image: replace_broker_configs(
            image, None, {"errors.deadletterqueue.topic.name.prefix": ""}
        )
    )
    shares.configure(**{NAME: "orders"})
    with pytest.raises(Refused, match="cannot be a topic of yours"):
        shares.configure(**{NAME: "__consumer_offsets"})
