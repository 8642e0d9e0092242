"""ShareAcknowledge, and what is stored by it."""

from __future__ import annotations

import pytest
from tests.raw_client import frame_of
from tests.server.share_house import (
    ACCEPT,
    GAP,
    GROUP,
    REJECT,
    RELEASE,
    RENEW,
    Ack,
    Member,
    ShareHouse,
)

from penstock.api.sharing import acknowledging as share_acknowledging
from penstock.coordination.share.names import ShareKey
from penstock.errors import ErrorCode, Refused
from penstock.wire.codec import decode_response
from penstock.wire.delivery import Delivery
from penstock.wire.messages.k79_share_acknowledge import ShareAcknowledgeResponse

FINAL = -1


@pytest.fixture
async def a(shares: ShareHouse) -> Member:
    """Who has the first ten records of the topic."""
    topic_id = shares.queue()
    shares.append(count=10)
    await shares.ready()
    member = shares.member("a", topic_id)
    assert await member.take() == [(0, 9, 1)]
    await shares.settle(lambda: not shares.share().has_changes)
    return member


def key_of(member: Member) -> ShareKey:
    return ShareKey(GROUP, *member.places[0])


async def test_what_is_accepted_is_stored(shares: ShareHouse, a: Member) -> None:
    assert await a.acknowledge(Ack(0, 4, [ACCEPT]), Ack(7, 7, [ACCEPT])) == ErrorCode.NONE
    state = shares.states.state(key_of(a))
    assert state is not None
    assert state.start_offset == 5
    assert [batch[:3] for batch in state.batches] == [(7, 7, Delivery.ACKNOWLEDGED)]


async def test_each_record_may_fare_differently(shares: ShareHouse, a: Member) -> None:
    types = [ACCEPT, RELEASE, REJECT, GAP, ACCEPT, ACCEPT, ACCEPT, ACCEPT, ACCEPT, ACCEPT]
    assert await a.acknowledge(Ack(0, 9, types)) == ErrorCode.NONE
    assert await a.take() == [(1, 1, 2)]
    assert await a.acknowledge(Ack(1, 1, [ACCEPT])) == ErrorCode.NONE
    assert shares.share().start_offset == 10


async def test_the_answer_waits_for_the_coordinator(shares: ShareHouse, a: Member) -> None:
    shares.states.open.clear()
    a.connection.give(frame_of(a.acknowledging(Ack(0, 9, [ACCEPT])), 2))
    assert not a.is_answered
    assert shares.share().start_offset == 0
    shares.states.open.set()
    (answer,) = await shares.receive(a.connection, 1)
    told = decode_response(ShareAcknowledgeResponse, answer, 2)[1]
    assert told.responses[0].partitions[0].error_code == ErrorCode.NONE
    assert shares.share().start_offset == 10


async def test_who_waits_for_too_long_is_told_that_it_is_not_known(
    shares: ShareHouse, a: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share_acknowledging, "STORED_MS_MAX", 20)
    shares.states.open.clear()
    assert await a.acknowledge(Ack(0, 9, [ACCEPT])) == ErrorCode.REQUEST_TIMED_OUT
    shares.states.open.set()
    await shares.settle(lambda: shares.share().stored_start == 10)


async def test_what_comes_while_something_is_stored_goes_together(
    shares: ShareHouse, a: Member
) -> None:
    shares.states.writes.clear()
    shares.states.open.clear()
    a.connection.give(frame_of(a.acknowledging(Ack(0, 0, [ACCEPT])), 2))
    await shares.settle(lambda: shares.share().has_changes is False)
    for offset in range(1, 10):
        a.connection.give(frame_of(a.acknowledging(Ack(offset, offset, [ACCEPT])), 2))
    shares.states.open.set()
    await shares.receive(a.connection, 10)
    assert [written.start_offset for written in shares.states.writes] == [1, 10]


async def test_what_could_not_be_stored_can_be_said_again(shares: ShareHouse, a: Member) -> None:
    shares.states.refusals.append(Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "nobody is there"))
    assert await a.acknowledge(Ack(0, 9, [ACCEPT])) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert shares.share().in_flight == 10
    assert await a.acknowledge(Ack(0, 9, [ACCEPT])) == ErrorCode.NONE
    await shares.settle(lambda: shares.share().stored_start == 10)


async def test_a_leader_that_is_shut_out_gives_all_up_and_reads_again(
    shares: ShareHouse, a: Member
) -> None:
    before, reads = shares.shared(), shares.states.reads
    shares.states.refusals.append(Refused(ErrorCode.FENCED_STATE_EPOCH, "it was set elsewhere"))
    assert await a.acknowledge(Ack(0, 9, [ACCEPT])) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert before.is_over
    a.poll()
    assert await a.polled() == [(0, 9, 1)]
    assert shares.states.reads == reads + 1


async def test_nobody_speaks_of_what_another_has(shares: ShareHouse, a: Member) -> None:
    b = shares.member("b", a.places[0][0])
    assert await b.take() == []
    assert await b.acknowledge(Ack(0, 0, [ACCEPT])) == ErrorCode.INVALID_RECORD_STATE
    assert await b.acknowledge(Ack(3, 2, [ACCEPT])) == ErrorCode.INVALID_REQUEST
    assert await b.acknowledge(Ack(0, 1, [9])) == ErrorCode.INVALID_REQUEST
    assert await b.acknowledge(Ack(0, 0, [RELEASE], -2)) == ErrorCode.INVALID_REQUEST


async def test_what_is_renewed_is_answered_at_once(shares: ShareHouse, a: Member) -> None:
    shares.states.open.clear()
    shares.clock.time_ms += 29_000
    assert await a.acknowledge(Ack(0, 9, [RENEW])) == ErrorCode.NONE
    shares.clock.time_ms += 29_000
    shares.states.open.set()
    assert await a.acknowledge(Ack(0, 9, [ACCEPT])) == ErrorCode.NONE


async def test_a_group_may_not_want_renewals(shares: ShareHouse, a: Member) -> None:
    shares.configure(share_renew_acknowledge_enable="false")
    assert await a.take() == []
    assert await a.acknowledge(Ack(0, 9, [RENEW])) == ErrorCode.INVALID_RECORD_STATE


async def test_a_session_begins_with_a_fetch(shares: ShareHouse) -> None:
    a = shares.member("a", shares.queue())
    assert await a.acknowledge(epoch=0) == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert await a.acknowledge(epoch=1) == ErrorCode.SHARE_SESSION_NOT_FOUND


async def test_the_last_acknowledgement_gives_the_rest_back(shares: ShareHouse, a: Member) -> None:
    assert await a.acknowledge(Ack(0, 4, [ACCEPT]), epoch=FINAL) == ErrorCode.NONE
    b = shares.member("b", a.places[0][0])
    b.poll()
    assert await b.polled() == [(5, 9, 1)]
    assert await a.acknowledge(Ack(5, 5, [ACCEPT])) == ErrorCode.SHARE_SESSION_NOT_FOUND


async def test_a_record_that_came_back_too_often_is_given_up(shares: ShareHouse) -> None:
    shares.configure(share_delivery_count_limit="2")
    a = shares.member("a", shares.queue())
    shares.append(count=1)
    await shares.ready()
    for deliveries in (1, 2):
        assert await a.take() == [(0, 0, deliveries)]
        assert await a.acknowledge(Ack(0, 0, [RELEASE])) == ErrorCode.NONE
    assert await a.take() == []
    assert shares.share().start_offset == 1


async def test_records_of_a_batch_that_compaction_has_taken_are_said_to_be_gaps(
    shares: ShareHouse,
) -> None:
    a = shares.member("a", shares.queue())
    shares.append(count=3)
    await shares.ready()
    assert await a.take() == [(0, 2, 1)]
    assert await a.acknowledge(Ack(0, 2, [ACCEPT, GAP, ACCEPT])) == ErrorCode.NONE
    assert shares.share().start_offset == 3


async def test_of_a_topic_that_is_not_there_nothing_can_be_said(
    shares: ShareHouse, a: Member
) -> None:
    a.places = [(b"x" * 16, 0)]
    assert await a.acknowledge(Ack(0, 0, [ACCEPT])) == ErrorCode.UNKNOWN_TOPIC_ID


async def test_who_has_nothing_may_say_nothing_of_a_partition_that_was_not_read(
    shares: ShareHouse, a: Member
) -> None:
    a.places = [(shares.queue("others"), 0)]
    assert await a.acknowledge(Ack(0, 0, [ACCEPT])) == ErrorCode.INVALID_RECORD_STATE
