"""Members of a share group that wait, have records for a while, come and go."""

from __future__ import annotations

from tests.raw_client import frame_of
from tests.server.share_house import (
    ACCEPT,
    GROUP,
    RELEASE,
    RENEW,
    TOPIC,
    Ack,
    ShareHouse,
    parts_of,
)

from penstock.coordination.share.names import ShareKey
from penstock.errors import ErrorCode, Refused

STRICT = 1
FINAL = -1


# Waiting


async def test_who_finds_nothing_waits_for_it(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    await shares.ready()
    a = shares.member("a", topic_id)
    a.poll()
    assert not a.is_answered
    shares.append(count=2)
    assert await a.polled() == [(0, 1, 1)]


async def test_a_poll_begins_before_it_is_known_what_is_stored(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.append(count=2)
    a = shares.member("a", topic_id)
    a.poll()
    assert await a.polled() == [(0, 1, 1)]


async def test_who_came_first_is_served_first(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    await shares.ready()
    members = [shares.member(name, topic_id) for name in "abc"]
    for member in members:
        member.poll()
    for number, member in enumerate(members):
        shares.append(count=1)
        assert await member.polled() == [(number, number, 1)]
        assert not any(each.is_answered for each in members)


async def test_one_record_wakes_one_member(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    await shares.ready()
    members = [shares.member(f"m{number}", topic_id) for number in range(120)]
    for member in members:
        member.poll()
    shares.append(count=1)
    assert await members[0].polled() == [(0, 0, 1)]
    assert not any(each.is_answered for each in members[1:])
    for _ in range(119):
        shares.append(count=1)
    for number, member in enumerate(members[1:], 1):
        assert await member.polled() == [(number, number, 1)]


async def test_a_crowd_that_waits_is_served_by_one_append(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    await shares.ready()
    members = [shares.member(f"m{number}", topic_id) for number in range(120)]
    for member in members:
        member.poll(max_records=1, share_acquire_mode=STRICT)
    shares.append(count=120)
    for number, member in enumerate(members):
        assert await member.polled() == [(number, number, 1)]


async def test_what_is_given_back_wakes_who_waits(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.append(count=1)
    await shares.ready()
    a, b = shares.member("a", topic_id), shares.member("b", topic_id)
    assert await a.take() == [(0, 0, 1)]
    b.poll()
    assert await a.acknowledge(Ack(0, 0, [RELEASE])) == ErrorCode.NONE
    assert await b.polled() == [(0, 0, 2)]


async def test_a_new_term_ends_polls_and_takes_up_what_is_stored(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.append(count=2)
    await shares.ready()
    a, b = shares.member("a", topic_id), shares.member("b", topic_id)
    assert await a.take(max_records=1, share_acquire_mode=STRICT) == [(0, 0, 1)]
    assert await a.acknowledge(Ack(0, 0, [ACCEPT])) == ErrorCode.NONE
    assert await a.take() == [(1, 1, 1)]
    b.poll()
    shares.desk.new_term(TOPIC)
    shares.broker.follow_partition(topic_id, 0)
    shares.broker.shared.follow()
    assert await b.polled() == []
    assert await a.acknowledge(Ack(1, 1, [ACCEPT])) == ErrorCode.INVALID_RECORD_STATE
    b.poll()
    assert await b.polled() == [(1, 1, 1)], "what was stored is finished"


async def test_who_waits_for_a_topic_that_is_deleted_is_told(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    await shares.ready()
    a = shares.member("a", topic_id)
    a.poll()
    shares.delete_topic(TOPIC)
    shares.broker.shared.follow()
    (part,) = parts_of(await a.answer())
    assert part.error_code == ErrorCode.UNKNOWN_TOPIC_ID


# Locks


async def test_a_lock_that_ends_gives_the_record_to_another(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.append(count=1)
    await shares.ready()
    a, b = shares.member("a", topic_id), shares.member("b", topic_id)
    assert await a.take() == [(0, 0, 1)]
    shares.clock.time_ms += 29_999
    assert await b.take() == []
    shares.clock.time_ms += 1
    assert await b.take() == [(0, 0, 2)]
    assert await a.acknowledge(Ack(0, 0, [ACCEPT])) == ErrorCode.INVALID_RECORD_STATE


async def test_a_lock_that_one_request_finds_over_wakes_those_who_wait_for_the_rest(
    shares: ShareHouse,
) -> None:
    topic_id = shares.queue()
    shares.append(count=2)
    await shares.ready()
    a, b, c = (shares.member(name, topic_id) for name in "abc")
    assert await a.take() == [(0, 1, 1)]
    b.poll()
    assert not b.is_answered
    shares.clock.time_ms += 30_000
    assert await c.take(max_records=1, share_acquire_mode=STRICT) == [(0, 0, 2)]
    shares.sharing._locks_end(shares.shared())
    assert await b.polled() == [(1, 1, 2)]


async def test_who_renews_has_its_record_for_longer(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.append(count=1)
    await shares.ready()
    a, b = shares.member("a", topic_id), shares.member("b", topic_id)
    assert await a.take() == [(0, 0, 1)]
    shares.clock.time_ms += 20_000
    assert await a.take(Ack(0, 0, [RENEW]), is_renew_ack=True) == []
    shares.clock.time_ms += 20_000
    assert await b.take() == []
    assert await a.acknowledge(Ack(0, 0, [ACCEPT])) == ErrorCode.NONE


async def test_nobody_is_given_more_than_the_group_may_have_in_flight(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.configure(share_partition_max_record_locks="100")
    for _ in range(3):
        shares.append(count=60)
    await shares.ready()
    a = shares.member("a", topic_id)
    assert await a.take(max_records=1000) == [(0, 99, 1)]
    assert await a.take(max_records=1000) == []
    assert await a.take(Ack(0, 9, [ACCEPT]), max_records=1000) == [(100, 109, 1)]


async def test_what_is_deleted_under_a_lock_is_no_more(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.append(count=4)
    await shares.ready()
    a = shares.member("a", topic_id)
    assert await a.take() == [(0, 3, 1)]
    shares.broker.delete_to(shares.broker.leader(TOPIC, 0), 2)
    shares.append(count=1)
    assert await shares.member("b", topic_id).take() == [(4, 4, 1)]
    assert shares.share().start_offset == 2
    assert await a.acknowledge(Ack(0, 3, [ACCEPT])) == ErrorCode.NONE
    assert shares.share().start_offset == 4


# Sessions


async def test_sessions_have_epochs(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    await shares.ready()
    a = shares.member("a", topic_id)
    assert (await a.fetch(epoch=3)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert (await a.fetch()).error_code == ErrorCode.NONE
    assert (await a.fetch(epoch=7)).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert (await a.fetch()).error_code == ErrorCode.NONE


async def test_who_begins_has_nothing_to_acknowledge(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    a = shares.member("a", topic_id)
    answer = await a.fetch(Ack(0, 0, [ACCEPT]))
    assert answer.error_code == ErrorCode.INVALID_REQUEST


async def test_what_is_forgotten_is_not_looked_at(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    await shares.ready()
    a = shares.member("a", topic_id)
    assert await a.take() == []
    shares.append(count=1)
    assert await a.take(forgotten=[(topic_id, 0)]) == []
    assert await a.take(places=[(topic_id, 0)]) == [(0, 0, 1)]


async def test_who_closes_gives_back_what_it_has_and_that_is_not_counted(
    shares: ShareHouse,
) -> None:
    topic_id = shares.queue()
    shares.append(count=2)
    await shares.ready()
    a, b = shares.member("a", topic_id), shares.member("b", topic_id)
    assert await a.take() == [(0, 1, 1)]
    b.poll()
    assert await a.take(Ack(0, 0, [ACCEPT]), epoch=FINAL) == []
    assert await b.polled() == [(1, 1, 1)]
    assert (await a.fetch()).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


async def test_who_closes_and_is_gone_before_that_is_stored_has_given_the_rest_back(
    shares: ShareHouse,
) -> None:
    topic_id = shares.queue()
    shares.append(count=2)
    await shares.ready()
    a, b, c = (shares.member(name, topic_id) for name in "abc")
    assert await a.take(max_records=1, share_acquire_mode=STRICT) == [(0, 0, 1)]
    assert await b.take() == [(1, 1, 1)]
    await shares.settle(lambda: not shares.share().has_changes)
    shares.states.open.clear()
    a.poll(Ack(0, 0, [ACCEPT]), epoch=FINAL)
    b.connection.give(frame_of(b.acknowledging(epoch=FINAL), 2))
    a.hang_up()
    b.hang_up()
    assert await c.take() == [(1, 1, 1)]
    shares.states.open.set()
    await shares.settle(lambda: shares.share().stored_start == 1)


async def test_what_could_not_be_stored_of_a_last_word_is_left_to_others(
    shares: ShareHouse,
) -> None:
    topic_id = shares.queue()
    shares.append(count=2)
    await shares.ready()
    a, b = shares.member("a", topic_id), shares.member("b", topic_id)
    assert await a.take() == [(0, 1, 1)]
    await shares.settle(lambda: not shares.share().has_changes)
    b.poll()
    shares.states.refusals.append(Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "nobody is there"))
    code = await a.acknowledge(Ack(0, 1, [ACCEPT]), epoch=FINAL)
    assert code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert await b.polled() == [(0, 1, 1)]


async def test_who_is_lost_gives_back_what_it_has_and_that_counts(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.append(count=1)
    await shares.ready()
    a, b = shares.member("a", topic_id), shares.member("b", topic_id)
    assert await a.take() == [(0, 0, 1)]
    b.poll()
    a.hang_up()
    assert await b.polled() == [(0, 0, 2)]


async def test_a_member_that_begins_anew_elsewhere_keeps_what_it_has(shares: ShareHouse) -> None:
    topic_id = shares.queue()
    shares.append(count=1)
    await shares.ready()
    a, again = shares.member("a", topic_id), shares.member("a", topic_id)
    assert await a.take() == [(0, 0, 1)]
    assert await again.take() == []
    a.hang_up()
    assert await again.acknowledge(Ack(0, 0, [ACCEPT])) == ErrorCode.NONE


async def test_a_group_that_was_set_to_another_offset_while_nobody_was_there_begins_there(
    shares: ShareHouse,
) -> None:
    topic_id = shares.queue()
    shares.append(count=4)
    await shares.ready()
    a = shares.member("a", topic_id)
    assert await a.take() == [(0, 3, 1)]
    assert await a.take(Ack(0, 3, [ACCEPT]), epoch=FINAL) == []
    shares.states.begin(ShareKey(GROUP, topic_id, 0), state_epoch=1, start_offset=1)
    b = shares.member("b", topic_id)
    b.poll()
    assert await b.polled() == [(1, 3, 1)]


async def test_that_is_noticed_though_a_record_is_with_nobody_for_an_hour(
    shares: ShareHouse,
) -> None:
    topic_id = shares.queue()
    shares.append(count=2)
    await shares.ready()
    a, key = shares.member("a", topic_id), ShareKey(GROUP, topic_id, 0)
    assert await a.take() == [(0, 1, 1)]
    pause = Ack(1, 1, [RELEASE], 3_600_000)
    assert await a.acknowledge(Ack(0, 0, [ACCEPT]), pause, epoch=FINAL) == ErrorCode.NONE
    shares.states.begin(key, state_epoch=1, start_offset=0)
    b = shares.member("b", topic_id)
    b.poll()
    assert await b.polled() == [], "it is to ask again"
    b.poll()
    assert await b.polled() == [(0, 1, 1)]


async def test_a_pause_goes_on_where_nobody_has_set_the_group_to_something_else(
    shares: ShareHouse,
) -> None:
    topic_id = shares.queue()
    shares.append(count=1)
    await shares.ready()
    a, shared = shares.member("a", topic_id), shares.shared()
    assert await a.take() == [(0, 0, 1)]
    assert await a.acknowledge(Ack(0, 0, [RELEASE], 60_000), epoch=FINAL) == ErrorCode.NONE
    assert shared.was_left
    b = shares.member("b", topic_id)
    b.poll()
    await shares.settle(lambda: not shared.was_left)
    shares.append(count=1)
    assert await b.polled() == [(1, 1, 1)]
    assert not shared.is_over


async def test_a_member_that_begins_anew_before_its_end_is_stored_keeps_what_it_has_then(
    shares: ShareHouse,
) -> None:
    topic_id = shares.queue()
    shares.append(count=2)
    await shares.ready()
    a, again = shares.member("a", topic_id), shares.member("a", topic_id)
    assert await a.take(max_records=1, share_acquire_mode=1) == [(0, 0, 1)]
    shares.states.open.clear()
    a.poll(Ack(0, 0, [ACCEPT]), epoch=FINAL)
    await shares.settle(lambda: len(shares.broker.shared.sessions) == 0)
    assert await again.take() == [(1, 1, 1)]
    shares.states.open.set()
    assert await a.polled() == []
    assert await shares.member("b", topic_id).take() == [], "it is with another"
    assert await again.acknowledge(Ack(1, 1, [ACCEPT])) == ErrorCode.NONE
