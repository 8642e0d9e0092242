"""Fetch sessions of followers: what has nothing to copy is not looked at."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.desk import NODE_ID, Desk

from penstock.api.outcome import Later
from penstock.api.replica_sessions import ReplicaSession
from penstock.api.trust import Client
from penstock.errors import ErrorCode
from penstock.metadata.records import PartitionRecord, encode, partition_key
from penstock.metadata.store import Entry, Event
from penstock.replication.leader import Leader
from penstock.wire.messages.k01_fetch import (
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)

FOLLOWER = 2
PARTITIONS = 4
VERSION = 17
WAIT_MS = 500
LATE_MS = 10.0**12


class Copying:
    """A follower of a topic's partitions, and its leader."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        desk.register(FOLLOWER)
        self.topic_id = desk.create("news", partitions=PARTITIONS)
        for index in range(PARTITIONS):
            self.lead(index, (NODE_ID, FOLLOWER))
        self.id = self.epoch = 0

    def lead(self, index: int, replicas: tuple[int, ...], epoch: int = 0) -> None:
        record = PartitionRecord(
            replicas=replicas, leader=NODE_ID, isr=replicas, leader_epoch=epoch
        )
        key, image = partition_key(self.topic_id, index), self.desk.image
        revision = image.revision + 1
        image.apply([Event(key, Entry(key, encode(record), revision), revision)], revision)
        self.desk.broker.follow_partition(self.topic_id, index)

    def leader(self, index: int) -> Leader:
        return self.desk.broker.leader("news", index)

    def append(self, index: int) -> None:
        """A record, written out and told, as at the end of a pass."""
        self.desk.append("news", index)
        self.leader(index).grown.fire()

    def asked(self, offsets: dict[int, int], *, forget: tuple[int, ...] = (), wait_ms: int) -> Any:
        request = FetchRequest(
            replica_state=ReplicaState(FOLLOWER, self.desk.image.brokers[FOLLOWER].epoch),
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=1 << 20,
            session_id=self.id,
            session_epoch=self.epoch,
            topics=[
                FetchTopic(
                    topic_id=self.topic_id,
                    partitions=[
                        FetchPartition(
                            index,
                            fetch_offset=offset,
                            last_fetched_epoch=0 if offset else -1,
                            partition_max_bytes=1 << 20,
                        )
                        for index, offset in offsets.items()
                    ],
                )
            ],
            forgotten_topics_data=[ForgottenTopic(topic_id=self.topic_id, partitions=[*forget])],
        )
        call = self.desk.call(request, VERSION)
        call.client = Client("peer", broker_id=FOLLOWER)
        outcome: Any = call.api.handler(self.desk.broker, call.request, call)
        self.epoch += 1
        return outcome

    def ask(self, offsets: dict[int, int], *, forget: tuple[int, ...] = ()) -> set[int]:
        """Partitions that the answer speaks of."""
        answer: FetchResponse = self.asked(offsets, forget=forget, wait_ms=0)
        self.id = answer.session_id
        return spoken_of(answer)

    def settle(self) -> None:
        """All is copied, the follower knows it, and nothing is to be looked at any more."""
        self.ask(dict.fromkeys(range(PARTITIONS), 0))
        for _ in range(2):
            self.ask({index: self.leader(index).log.end_offset for index in range(PARTITIONS)})
            self.ask({})
        assert self.session.to_look_at() == []

    @property
    def session(self) -> ReplicaSession:
        session = self.desk.broker.fetch_sessions._sessions[self.id]
        assert isinstance(session, ReplicaSession)
        return session

    def looked_at(self) -> list[int]:
        return [index for (_, _, index), _ in self.session.to_look_at()]


def spoken_of(answer: FetchResponse) -> set[int]:
    return {part.partition_index for topic in answer.responses for part in topic.partitions}


@pytest.fixture
def copying(desk: Desk) -> Copying:
    return Copying(desk)


def test_what_has_nothing_to_copy_comes_to_rest(copying: Copying) -> None:
    copying.settle()
    assert copying.ask({}) == set()


def test_what_grows_is_looked_at_again_and_comes_to_rest_again(copying: Copying) -> None:
    copying.settle()
    copying.append(2)
    assert copying.looked_at() == [2]
    assert copying.ask({}) == {2}
    assert copying.ask({2: 1}) == {2}, "it is told what is committed"
    assert copying.leader(2).high_watermark == 1
    assert copying.ask({}) == set()
    assert copying.looked_at() == []


def test_what_is_not_known_to_be_committed_does_not_rest(copying: Copying) -> None:
    copying.desk.register(3)
    copying.lead(1, (NODE_ID, FOLLOWER, 3))
    copying.append(1)
    copying.ask(dict.fromkeys(range(PARTITIONS), 0))
    for _ in range(3):
        copying.ask({1: 1})
        copying.ask({})
        assert copying.looked_at() == [1]
    copying.leader(1).fetched(3, 1, 0)
    assert copying.ask({}) == {1}
    copying.ask({})
    assert copying.looked_at() == []


def test_a_term_without_a_record_is_told_at_once_to_who_has_what_was_written_before(
    copying: Copying,
) -> None:
    copying.append(1)
    copying.lead(1, (NODE_ID, FOLLOWER), epoch=1)
    assert copying.leader(1) in copying.desk.broker.take_dirty(), "it is to be noted here too"
    answer = copying.asked({1: 1}, wait_ms=WAIT_MS)
    assert isinstance(answer, FetchResponse)
    ((part,),) = (topic.partitions for topic in answer.responses)
    assert part.diverging_epoch == EpochEndOffset(1, 1)
    assert copying.leader(1).high_watermark == 0


def test_growth_wakes_a_fetch_that_waits(copying: Copying) -> None:
    copying.settle()
    waiting = copying.asked({}, wait_ms=WAIT_MS)
    assert isinstance(waiting, Later)
    woken: list[int] = []
    for source in waiting.sources:
        source.watch(lambda: woken.append(1))
    copying.append(3)
    assert woken
    answer = waiting.answer(False)
    assert isinstance(answer, FetchResponse)
    assert spoken_of(answer) == {3}


def test_one_that_comes_to_rest_in_a_fetch_that_waits_is_told_once(copying: Copying) -> None:
    copying.settle()
    copying.append(3)
    copying.ask({})
    copying.ask({3: 1})
    waiting = copying.asked({}, wait_ms=WAIT_MS)
    assert copying.looked_at() == []
    copying.append(3)
    answer = waiting.answer(False)
    assert [len(topic.partitions) for topic in answer.responses] == [1]
    assert copying.ask({}) == {3}, "until the follower says that it has it"


def test_a_fetch_that_waited_in_vain_tells_nothing(copying: Copying) -> None:
    copying.settle()
    waiting = copying.asked({}, wait_ms=WAIT_MS)
    assert waiting.answer(False) is None
    assert spoken_of(waiting.answer(True)) == set()


def test_what_is_led_by_another_now_is_told(copying: Copying) -> None:
    copying.settle()
    copying.leader(0).end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert copying.looked_at() == [0]


def test_what_was_deleted_of_a_log_is_told(copying: Copying) -> None:
    copying.append(1)
    copying.settle()
    copying.desk.broker.advance_start(copying.leader(1), 1)
    assert copying.ask({}) == {1}


def test_a_follower_that_was_taken_back_among_the_replicas_shows_how_far_it_is(
    copying: Copying,
) -> None:
    copying.append(1)
    copying.settle()
    copying.lead(1, (NODE_ID,))
    copying.lead(1, (NODE_ID, FOLLOWER))
    copying.ask({})
    assert copying.leader(1).left_behind(10**9, 0, -1) == frozenset()
    assert copying.leader(1)._followers[FOLLOWER].end == 1


def test_what_is_forgotten_wakes_nobody(copying: Copying) -> None:
    copying.settle()
    copying.ask({}, forget=(2,))
    assert len(copying.leader(2).grown) == 0
    copying.append(2)
    assert copying.ask({}) == set()


def test_what_rests_is_looked_at_when_the_follower_speaks_of_it(copying: Copying) -> None:
    copying.settle()
    assert copying.ask({1: 7}) == {1}, "it asks for what is not there"


def test_a_session_that_ends_leaves_nothing_behind(copying: Copying) -> None:
    copying.settle()
    copying.epoch = 0
    copying.ask({0: 0})
    assert [len(copying.leader(index).grown) for index in range(PARTITIONS)] == [0] * PARTITIONS


def test_who_had_all_when_it_last_asked_is_not_behind_as_soon_as_there_is_more(
    copying: Copying, monkeypatch: pytest.MonkeyPatch
) -> None:
    copying.settle()
    monkeypatch.setattr(copying.desk.broker, "monotonic_ms", lambda: LATE_MS)
    copying.ask({})
    copying.append(0)
    leader = copying.leader(0)
    assert leader.left_behind(LATE_MS + 900, 1000, -1) == frozenset()
    assert leader.left_behind(LATE_MS + 1100, 1000, -1) == {FOLLOWER}


def test_a_session_of_a_follower_is_not_one_for_consumers(copying: Copying) -> None:
    copying.settle()
    request = FetchRequest(session_id=copying.id, session_epoch=copying.epoch)
    answer = copying.desk.ask(request, VERSION)
    assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
