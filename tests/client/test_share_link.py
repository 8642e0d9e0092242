"""The way to one leader, against a broker that answers as a test says."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.client.scripted import ScriptedBroker, client_of

from penstock.client.connection import Address
from penstock.client.errors import ClientError
from penstock.client.share_held import Ack, Held, LockLost, Phase
from penstock.client.share_link import Arrival, Link, Who
from penstock.errors import ErrorCode
from penstock.sharing.acknowledging import Answer
from penstock.wire.batch_builder import build_batch
from penstock.wire.messages import ApiKey
from penstock.wire.messages.k78_share_fetch import (
    AcquiredRecords,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from penstock.wire.messages.k79_share_acknowledge import (
    PartitionData as Acknowledged,
)
from penstock.wire.messages.k79_share_acknowledge import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from penstock.wire.records import Record

TOPIC_ID = bytes(range(16))
PLACE = (TOPIC_ID, 0)
LOCK_MS = 30_000

Told = list[ClientError | None]


def gives(first: int, count: int, *acquired: tuple[int, int, int]) -> Callable[[Any], Any]:
    """A batch of so many records, of which these are the member's own."""
    batch = bytes(build_batch([Record(first + n, 0, None, b"%d" % n) for n in range(count)]))
    ranges = [AcquiredRecords(*each) for each in acquired or [(first, first + count - 1, 1)]]
    data = PartitionData(0, records=batch, acquired_records=ranges)
    topic = ShareFetchableTopicResponse(TOPIC_ID, [data])
    return lambda _: ShareFetchResponse(acquisition_lock_timeout_ms=LOCK_MS, responses=[topic])


def nothing(_: Any) -> ShareFetchResponse:
    return ShareFetchResponse(acquisition_lock_timeout_ms=LOCK_MS)


def says(code: int) -> Callable[[Any], Any]:
    topic = ShareAcknowledgeTopicResponse(TOPIC_ID, [Acknowledged(0, code)])
    return lambda _: ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=LOCK_MS, responses=[topic]
    )


def link_to(broker: ScriptedBroker) -> Link:
    client = client_of({1: broker})
    connection = client.dial(Address("broker", 1), time.monotonic() + 30)
    link = Link(1, connection, Who("g", "m"), time.monotonic)
    link.wanted = {PLACE}
    return link


def fetched(link: Link, records: int = 10) -> list[Held]:
    link.fetch(records)
    arrival: Arrival = link.receive()
    for held in arrival.held:
        held.phase = Phase.OUT
    return arrival.held


def say(link: Link, held: Held, answer: Answer = Answer.ACCEPT) -> Told:
    told: Told = []
    if answer is not Answer.RENEW:
        held.phase = Phase.SAID
    link.outbox.add(Ack(held, answer, 0, told.append))
    return told


def epochs(broker: ScriptedBroker) -> list[int]:
    kinds = (ShareFetchRequest, ShareAcknowledgeRequest)
    return [each.share_session_epoch for each in broker.requests if isinstance(each, kinds)]


def test_a_session_names_its_partitions_once_and_counts_its_requests() -> None:
    broker = ScriptedBroker().answers(ApiKey.SHARE_FETCH, nothing)
    link = link_to(broker)
    for _ in range(3):
        fetched(link)
    first, second, third = broker.asked(ShareFetchRequest)
    assert [each.partition_index for each in first.topics[0].partitions] == [0]
    assert (second.topics, third.topics) == ([], [])
    assert epochs(broker) == [0, 1, 2]


def test_what_is_not_wanted_any_more_is_forgotten_once() -> None:
    broker = ScriptedBroker().answers(ApiKey.SHARE_FETCH, nothing)
    link = link_to(broker)
    fetched(link)
    link.wanted = {(TOPIC_ID, 1)}
    fetched(link)
    fetched(link)
    _, second, third = broker.asked(ShareFetchRequest)
    assert [each.partitions for each in second.forgotten_topics_data] == [[0]]
    assert [each.partition_index for each in second.topics[0].partitions] == [1]
    assert third.forgotten_topics_data == []


def test_records_in_a_batch_that_are_not_ours_are_left_out() -> None:
    broker = ScriptedBroker().answers(ApiKey.SHARE_FETCH, gives(10, 5, (11, 12, 1), (14, 14, 3)))
    found = fetched(link_to(broker))
    assert [(each.record.offset, each.deliveries) for each in found] == [(11, 1), (12, 1), (14, 3)]


def test_offsets_without_a_record_are_told_of_as_gaps() -> None:
    broker = ScriptedBroker().answers(ApiKey.SHARE_FETCH, gives(10, 2, (10, 13, 1)), nothing)
    link = link_to(broker)
    assert len(fetched(link)) == 2
    fetched(link)
    (batch,) = broker.asked(ShareFetchRequest)[1].topics[0].partitions[0].acknowledgement_batches
    assert (batch.first_offset, batch.last_offset) == (12, 13)
    assert batch.acknowledge_types == [Answer.GAP]


def test_what_is_said_goes_with_the_next_fetch_and_its_answer_tells_what_came_of_it() -> None:
    stored = ShareFetchResponse(
        acquisition_lock_timeout_ms=LOCK_MS,
        responses=[ShareFetchableTopicResponse(TOPIC_ID, [PartitionData(0)])],
    )
    broker = ScriptedBroker().answers(ApiKey.SHARE_FETCH, gives(0, 2), lambda _: stored)
    link = link_to(broker)
    first, second = fetched(link)
    told = say(link, first)
    fetched(link)
    assert told == [None]
    assert (first.phase, second.phase) == (Phase.DONE, Phase.OUT)
    assert not broker.asked(ShareAcknowledgeRequest)


def test_one_that_was_lost_among_many_is_found_and_the_others_are_stored() -> None:
    """A broker refuses all that is said of a partition for one record."""

    def judge(request: ShareAcknowledgeRequest) -> Any:
        batches = request.topics[0].partitions[0].acknowledgement_batches
        has_lost = any(each.first_offset <= 6 <= each.last_offset for each in batches)
        return says(ErrorCode.INVALID_RECORD_STATE if has_lost else 0)(request)

    broker = ScriptedBroker().answers(ApiKey.SHARE_FETCH, gives(0, 9))
    broker.answers(ApiKey.SHARE_ACKNOWLEDGE, judge)
    link = link_to(broker)
    told = {held.record.offset: say(link, held) for held in fetched(link)}
    while not link.is_quiet:
        link.say()
        link.receive()
    assert {offset for offset, each in told.items() if each == [None]} == {0, 1, 2, 3, 4, 5, 7, 8}
    (lost,) = told[6]
    assert isinstance(lost, LockLost)
    assert not lost.may_be_stored
    assert not link.held


def test_a_renewal_goes_by_itself_and_is_marked_as_one() -> None:
    broker = ScriptedBroker().answers(ApiKey.SHARE_FETCH, gives(0, 1), nothing)
    broker.answers(ApiKey.SHARE_ACKNOWLEDGE, says(0))
    link = link_to(broker)
    (held,) = fetched(link)
    before_s = held.locked_until_s
    told = say(link, held, Answer.RENEW)
    fetched(link)
    (request,) = broker.asked(ShareAcknowledgeRequest)
    assert request.is_renew_ack
    assert told == [None]
    assert held.locked_until_s > before_s
    assert held.phase is Phase.OUT


def test_an_older_broker_is_not_asked_for_what_it_does_not_know() -> None:
    versions = {ApiKey.SHARE_FETCH: (1, 1), ApiKey.SHARE_ACKNOWLEDGE: (1, 1)}
    broker = ScriptedBroker({**ScriptedBroker().versions, **versions})
    broker.answers(ApiKey.SHARE_FETCH, gives(0, 1))
    link = link_to(broker)
    assert len(fetched(link)) == 1
    assert not link.can_renew


def test_with_the_connection_all_that_came_by_it_is_lost() -> None:
    broker = ScriptedBroker().answers(ApiKey.SHARE_FETCH, gives(0, 3))
    broker.answers(ApiKey.SHARE_ACKNOWLEDGE, lambda _: None)
    link = link_to(broker)
    first, second, third = fetched(link)
    under_way = say(link, first)
    link.say()
    unsaid = say(link, second)
    with pytest.raises(ClientError) as lost:
        link.receive()
    link.lose_all(lost.value)
    assert isinstance(under_way[0], LockLost)
    assert under_way[0].may_be_stored
    assert isinstance(unsaid[0], LockLost)
    assert not unsaid[0].may_be_stored
    assert third.phase is Phase.LOST


def test_a_session_that_the_broker_does_not_know_ends_the_link() -> None:
    code = ErrorCode.SHARE_SESSION_NOT_FOUND
    broker = ScriptedBroker().answers(
        ApiKey.SHARE_FETCH, lambda _: ShareFetchResponse(error_code=code)
    )
    link = link_to(broker)
    link.fetch(1)
    with pytest.raises(ClientError) as failed:
        link.receive()
    assert failed.value.code is code


def test_a_session_that_ended_gives_back_what_nobody_took_and_begins_anew() -> None:
    broker = ScriptedBroker().answers(ApiKey.SHARE_FETCH, gives(0, 2), nothing)
    broker.answers(ApiKey.SHARE_ACKNOWLEDGE, says(0))
    link = link_to(broker)
    link.fetch(2)
    waiting = link.receive().held
    link.end_session()
    assert {each.phase for each in waiting} == {Phase.LOST}
    link.receive()
    fetched(link)
    assert epochs(broker) == [0, -1, 0]
    assert broker.asked(ShareFetchRequest)[-1].topics[0].partitions[0].partition_index == 0
    assert not link.held


def test_what_was_refused_with_the_end_of_a_session_is_told_at_once() -> None:
    broker = ScriptedBroker().answers(ApiKey.SHARE_FETCH, gives(0, 2))
    broker.answers(ApiKey.SHARE_ACKNOWLEDGE, says(ErrorCode.INVALID_RECORD_STATE))
    link = link_to(broker)
    told = [say(link, held) for held in fetched(link)]
    link.end_session()
    link.receive()
    assert [type(error) for (error,) in told] == [LockLost, LockLost]
    assert link.is_quiet


def test_a_partition_that_is_led_elsewhere_is_not_asked_for_again() -> None:
    code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    moved = ShareFetchResponse(
        responses=[ShareFetchableTopicResponse(TOPIC_ID, [PartitionData(0, code)])]
    )
    broker = ScriptedBroker().answers(ApiKey.SHARE_FETCH, gives(0, 1), lambda _: moved, nothing)
    link = link_to(broker)
    (held,) = fetched(link)
    link.fetch(1)
    assert link.receive().moved[PLACE].code is code
    link.lose_place(PLACE)
    assert held.phase is Phase.LOST
    fetched(link)
    assert [each.partitions for each in broker.asked(ShareFetchRequest)[2].forgotten_topics_data]
    assert not link.wanted


def test_nothing_is_said_without_a_session() -> None:
    broker = ScriptedBroker().answers(ApiKey.SHARE_FETCH, gives(0, 1))
    broker.answers(ApiKey.SHARE_ACKNOWLEDGE, says(0))
    link = link_to(broker)
    (held,) = fetched(link)
    link.end_session()
    link.receive()
    assert not link.has(held)
    say(link, held)
    link.say()
    assert len(broker.asked(ShareAcknowledgeRequest)) == 1


def test_a_record_that_was_given_back_may_come_again_with_the_answer_to_that() -> None:
    broker = ScriptedBroker().answers(ApiKey.SHARE_FETCH, gives(0, 1), gives(0, 1, (0, 0, 2)))
    link = link_to(broker)
    (first,) = fetched(link)
    told = say(link, first, Answer.RELEASE)
    (again,) = fetched(link)
    assert told == [None]
    assert (first.phase, again.deliveries) == (Phase.DONE, 2)
    assert link.has(again)
    assert not link.has(first)
