"""What is said of records, as requests carry it."""

from __future__ import annotations

from penstock.client.errors import ClientError
from penstock.client.share_acks import AT_ONCE, Outbox, ranges
from penstock.client.share_held import Ack, Held
from penstock.sharing.acknowledging import Answer
from penstock.wire.records import Record

TOPIC_ID = bytes(16)


def held(offset: int, partition: int = 0) -> Held:
    return Held(None, (TOPIC_ID, partition), Record(offset, 0, None, b"v"), 1, 0.0)


def ack(offset: int, answer: Answer = Answer.ACCEPT, delay_ms: int = 0, partition: int = 0) -> Ack:
    return Ack(held(offset, partition), answer, delay_ms, lambda _: None)


def test_records_in_a_row_of_which_the_same_is_said_are_one_range() -> None:
    said = [ack(7), ack(5), ack(6), ack(9), ack(10, Answer.RELEASE), ack(11, Answer.RELEASE)]
    assert ranges(said) == [(5, 7, [1], 0), (9, 9, [1], 0), (10, 11, [2], 0)]


def test_what_is_to_come_again_later_is_a_range_of_its_own() -> None:
    said = [ack(0, Answer.RELEASE), ack(1, Answer.RELEASE, 500), ack(2, Answer.RELEASE, 500)]
    assert ranges(said) == [(0, 0, [2], 0), (1, 2, [2], 500)]


def test_what_is_said_for_good_comes_in_place_of_a_renewal() -> None:
    told: list[ClientError | None] = []
    one, outbox = held(3), Outbox()
    renewal = Ack(one, Answer.RENEW, 0, told.append)
    done = Ack(one, Answer.ACCEPT, 0, lambda _: None)
    outbox.add(renewal)
    outbox.add(done)
    assert outbox.next_parcel() == [done]
    assert told == [None]


def test_a_renewal_does_not_come_in_place_of_what_was_said_for_good() -> None:
    told: list[ClientError | None] = []
    one, outbox = held(3), Outbox()
    done = Ack(one, Answer.ACCEPT, 0, lambda _: None)
    outbox.add(done)
    outbox.add(Ack(one, Answer.RENEW, 0, told.append))
    assert outbox.next_parcel() == [done]
    assert told == [None]


def test_what_was_refused_is_said_again_in_halves_that_stay_apart() -> None:
    outbox = Outbox()
    outbox.add(ack(100))
    refused = [ack(offset) for offset in range(5)]
    outbox.say_again(refused)
    assert len(outbox) == 6
    assert outbox.next_parcel() == refused[:2]
    assert outbox.next_parcel() == refused[2:]
    assert [each.held.record.offset for each in outbox.next_parcel()] == [100]
    assert not outbox


def test_one_request_does_not_speak_of_too_many() -> None:
    outbox = Outbox()
    for offset in range(AT_ONCE + 1):
        outbox.add(ack(offset))
    assert len(outbox.next_parcel()) == AT_ONCE
    assert [each.held.record.offset for each in outbox.next_parcel()] == [AT_ONCE]


def test_renewals_and_partitions_that_are_not_fetched_do_not_go_with_a_fetch() -> None:
    wanted = {(TOPIC_ID, 0)}
    for said, may in (
        (ack(1), True),
        (ack(1, Answer.RENEW), False),
        (ack(1, partition=1), False),
    ):
        outbox = Outbox()
        outbox.add(said)
        assert outbox.may_go_with_fetch(wanted) is may


def test_the_same_offset_of_two_partitions_is_two_things_to_say() -> None:
    outbox = Outbox()
    outbox.add(ack(1))
    outbox.add(ack(1, partition=1))
    assert len(outbox) == 2
