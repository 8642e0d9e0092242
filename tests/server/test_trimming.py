"""Queues that lose what all of their groups have done with, and nothing else."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial

import pytest
from tests.server.share_house import ACCEPT, GROUP, TOPIC, Ack, Member, ShareHouse

from penstock.coordination.group.groups import Group
from penstock.coordination.group.share import shares as group_shares
from penstock.coordination.group.share.heartbeat import heartbeat
from penstock.coordination.share.deciding import Written
from penstock.coordination.share.names import ShareKey
from penstock.coordination.turn import Turn
from penstock.delays.pending import Entry
from penstock.delays.schedule import Event
from penstock.errors import ErrorCode, Refused
from penstock.server.trimming import Trimming
from penstock.wire.messages.k10_find_coordinator import FindCoordinatorRequest
from penstock.wire.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest
from penstock.world.real import RealNetwork

MEMBER = "a-member-of-the-group"
DELETES = {"queue_delete_on_ack": "true"}


class Queue:
    """A topic whose records go away, and the groups that share it."""

    def __init__(self, house: ShareHouse) -> None:
        self.house = house
        self.topic_id = house.desk.create(TOPIC, 1, 1, segment_bytes="1024", **DELETES)
        self.trimming = Trimming(RealNetwork(), house.door)

    async def begin(self) -> None:
        await self.house.ask(self.house.connect(), FindCoordinatorRequest(coordinator_keys=["any"]))
        self.house.broker.groups.follow()

    def key(self, group: str = GROUP) -> ShareKey:
        return ShareKey(group, self.topic_id, 0)

    def join(self, group: str = GROUP) -> None:
        """It is about to begin with the topic."""
        self._beat(group, 0)

    def has_begun(self, group: str = GROUP, start: int = 0) -> None:
        """It has members, and its share is there."""
        self.join(group)
        self.house.states.begin(self.key(group), start_offset=start)
        done = {self.topic_id: frozenset({0})}

        def initialized(turn: Turn, group: Group) -> bool:
            group_shares.initialized(turn, group, done)
            return True

        self._decide(group, initialized)

    def leave(self, group: str = GROUP) -> None:
        self._beat(group, -1)

    def _beat(self, group: str, epoch: int) -> None:
        request = ShareGroupHeartbeatRequest(group, MEMBER, epoch, None, [TOPIC])
        self._decide(group, partial(heartbeat, request=request, client_id="t", client_host="/t"))

    def _decide(self, group: str, decide: object) -> None:
        self.house.broker.groups.shard(group).decide_part(group, decide)  # type: ignore[arg-type]
        self.house.door.settle()

    async def is_at(self, offset: int, group: str = GROUP) -> None:
        """All below is stored as finished."""
        await self.house.states.write(self.key(group), Written(0, 0, offset, 0, ()))

    async def trimmed(self) -> int:
        """Where the log begins after a round."""
        await self.trimming.trim_all()
        return self.house.broker.leader(TOPIC, 0).log.start_offset

    def member(self) -> Member:
        return self.house.member("a", self.topic_id)


@pytest.fixture
async def queue(shares: ShareHouse) -> AsyncIterator[Queue]:
    made = Queue(shares)
    await made.begin()
    for _ in range(10):
        shares.append(count=10)
    yield made
    await made.trimming.stop()


async def test_without_a_group_nothing_goes(queue: Queue) -> None:
    assert await queue.trimmed() == 0


async def test_what_the_only_group_has_done_with_goes(queue: Queue) -> None:
    queue.has_begun()
    await queue.is_at(57)
    assert await queue.trimmed() == 57
    segments = queue.house.broker.leader(TOPIC, 0).log.segments
    assert 0 < segments[0].base <= 57, "and so do segments, when all of them has gone"


async def test_what_members_accept_goes(shares: ShareHouse, queue: Queue) -> None:
    queue.has_begun()
    await shares.ready()
    a = queue.member()
    assert await a.take(max_records=1000) == [(0, 39, 1)], "all of a segment"
    assert await queue.trimmed() == 0
    assert await a.acknowledge(Ack(0, 9, [ACCEPT]), Ack(20, 29, [ACCEPT])) == ErrorCode.NONE
    assert await queue.trimmed() == 10, "not what lies behind others"
    assert await a.acknowledge(Ack(10, 19, [ACCEPT])) == ErrorCode.NONE
    assert await queue.trimmed() == 30


async def test_the_slowest_group_counts(queue: Queue) -> None:
    for group, offset in (("fast", 90), ("slow", 20)):
        queue.has_begun(group)
        await queue.is_at(offset, group)
    assert await queue.trimmed() == 20


async def test_a_group_that_has_not_begun_holds_everything(queue: Queue) -> None:
    queue.has_begun("fast")
    await queue.is_at(90, "fast")
    queue.join("late")
    assert await queue.trimmed() == 0
    queue.has_begun("late", start=-1)
    assert await queue.trimmed() == 0
    await queue.is_at(40, "late")
    assert await queue.trimmed() == 40


async def test_a_group_that_reads_another_topic_holds_nothing(queue: Queue) -> None:
    queue.house.desk.create("others")
    queue.has_begun()
    await queue.is_at(30)
    request = ShareGroupHeartbeatRequest("else", MEMBER, 0, None, ["others"])
    beat = partial(heartbeat, request=request, client_id="t", client_host="/t")
    queue._decide("else", beat)
    assert await queue.trimmed() == 30


async def test_an_abandoned_group_holds_what_it_has_not_done_and_that_is_said(
    queue: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    for group, offset in (("busy", 90), ("gone", 20)):
        queue.has_begun(group)
        await queue.is_at(offset, group)
    queue.leave("gone")
    with caplog.at_level(logging.WARNING):
        assert await queue.trimmed() == 20
        assert await queue.trimmed() == 20
    (line,) = [each.getMessage() for each in caplog.records]
    assert "nobody reads it for group gone, which keeps all from offset 20" in line


async def test_what_is_not_known_holds_everything(
    queue: Queue, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    queue.has_begun()
    await queue.is_at(50)
    states = queue.house.states
    summaries = states.summaries

    async def silent(keys):  # type: ignore[no-untyped-def]
        return {key: Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "nobody") for key in keys}

    monkeypatch.setattr(states, "summaries", silent)
    assert await queue.trimmed() == 0
    monkeypatch.setattr(states, "summaries", summaries)
    loaded = queue.house.broker.groups.loaded()
    monkeypatch.setattr(queue.house.broker.groups, "loaded", lambda: loaded[1:])
    assert await queue.trimmed() == 0
    assert "nothing is deleted for now: some groups have no coordinator" in caplog.text
    monkeypatch.undo()
    assert await queue.trimmed() == 50


async def test_only_queues_that_want_it_are_trimmed(shares: ShareHouse, queue: Queue) -> None:
    queue.has_begun()
    await queue.is_at(50)
    leader = shares.broker.leader(TOPIC, 0)
    shares.desk.create("plain")
    leader.log.config = shares.desk.image.settings.of_topic(shares.desk.image.topics["plain"])
    assert await queue.trimmed() == 0


async def test_what_is_held_until_it_is_due_stays(shares: ShareHouse, queue: Queue) -> None:
    queue.has_begun()
    await queue.is_at(50)
    log = shares.broker.leader(TOPIC, 0).log
    log.config = replace(log.config, delayed_delivery=True)
    assert await queue.trimmed() == 0, "as it is not known what is held"
    schedule = shares.broker.schedules.of(log)
    schedule.begin(0)
    deque(schedule.apply(Event([Entry(30, 10**15, 30), Entry(40, 10**15, 40)], [])), maxlen=0)
    schedule.offset = 100
    assert await queue.trimmed() == 30
    deque(schedule.apply(Event([], [30])), maxlen=0)
    assert await queue.trimmed() == 40
    deque(schedule.apply(Event([], [40])), maxlen=0)
    assert await queue.trimmed() == 50


async def test_it_is_no_order_so_an_archive_keeps_what_it_has(queue: Queue) -> None:
    queue.has_begun()
    await queue.is_at(50)
    assert await queue.trimmed() == 50
    assert queue.house.broker.leader(TOPIC, 0).log.deleted_to == 0


async def test_a_leader_whose_term_ends_meanwhile_deletes_nothing(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.has_begun()
    await queue.is_at(50)
    summaries, house = queue.house.states.summaries, queue.house

    async def slow(keys):  # type: ignore[no-untyped-def]
        found = await summaries(keys)
        house.desk.new_term(TOPIC)
        house.broker.follow_partition(queue.topic_id, 0)
        return found

    monkeypatch.setattr(house.states, "summaries", slow)
    assert await queue.trimmed() == 0


def test_compacted_topics_are_refused_it(shares: ShareHouse) -> None:
    with pytest.raises(Refused, match=r"queue\.delete\.on\.ack needs cleanup\.policy=delete"):
        shares.desk.create("both", 1, 1, cleanup_policy="compact", **DELETES)
