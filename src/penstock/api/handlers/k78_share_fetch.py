"""ShareFetch: a member of a share group is given records, which are then its own for a while.

With it come acknowledgements of those that it has had; the answer waits until these are stored. A
member names its partitions once, then only changes (`sharing/sessions.py`); with the final epoch it
is done, and is given nothing more. Who finds nothing waits for its turn (`api/sharing/shared.py`):
the first who came is served first. Version 2 lets a member ask for no more records than it says,
and brought renewals, with which nothing is fetched.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.opening import NotOpen
from penstock.api.outcome import Later, Outcome, Resume
from penstock.api.sharing.acknowledging import Said, acknowledge, check_member, once_stored
from penstock.api.sharing.handing_out import NOTHING, NOTHING_YET, Handed, Room, hand_out
from penstock.api.sharing.held_offsets import HeldOffsets, Unlooked
from penstock.api.sharing.leaders import led_by
from penstock.api.sharing.shared import Shared
from penstock.api.slices import in_slices
from penstock.errors import ErrorCode, Refused
from penstock.log.reindexing import reindex
from penstock.log.segment import Amiss
from penstock.log.steps import Steps
from penstock.replication.leader import Leader
from penstock.sharing.sessions import FINAL, INITIAL, Asked, Place, ShareSession, Who
from penstock.wire.messages.k78_share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from penstock.world.ports import Cold

log = logging.getLogger(__name__)

WARMED_AT_MOST = 16
LOOKED_AT_AT_ONCE = 250
STRICT = 1
"""How records are acquired: as many as were asked for, and not up to the end of a batch."""


def share_fetch(
    broker: Broker, request: ShareFetchRequest, call: Call
) -> Outcome[ShareFetchResponse]:
    who = check_member(broker, request.group_id, request.member_id)
    _check(request)
    session = broker.shared.sessions.fetch(_asked(who, request), call.client.number)
    said = [
        acknowledge(broker, who, (topic.topic_id, each.partition_index), batches)
        for topic in request.topics
        for each in topic.partitions
        if (batches := each.acknowledgement_batches)
    ]
    fetching = ShareFetching(broker, request, session, {each.place: each for each in said})
    fetching.end_session()  # at once, as nobody does if the connection is lost
    return once_stored(said, fetching.outcome)


def _check(request: ShareFetchRequest) -> None:
    if request.share_session_epoch == INITIAL and any(
        each.acknowledgement_batches for topic in request.topics for each in topic.partitions
    ):
        raise Refused(
            ErrorCode.INVALID_REQUEST, "who begins a share session has nothing to acknowledge yet"
        )


def _asked(who: Who, request: ShareFetchRequest) -> Asked:
    return Asked(
        who,
        request.share_session_epoch,
        [
            (topic.topic_id, each.partition_index)
            for topic in request.topics
            for each in topic.partitions
        ],
        [
            (topic.topic_id, index)
            for topic in request.forgotten_topics_data
            for index in topic.partitions
        ],
    )


@dataclass(slots=True)
class ShareFetching:
    broker: Broker
    request: ShareFetchRequest
    session: ShareSession
    said: dict[Place, Said]
    handed: dict[Place, Handed] = field(default_factory=dict)
    problems: dict[Place, Refused] = field(default_factory=dict)
    waiting: dict[Place, Shared] = field(default_factory=dict)
    """Partitions that have nothing to give yet."""
    held: dict[Place, HeldOffsets] = field(default_factory=dict)
    size_bytes: int = 0
    count: int = 0
    warmed: int = 0

    def outcome(self) -> Outcome[ShareFetchResponse]:
        request = self.request
        if self.end_session():
            return self.answer()
        if request.is_renew_ack or request.max_records <= 0:
            return self.answer()
        return self.look_at_all()

    def end_session(self) -> bool:
        """If this is its last request: others may have what it has. What was said with it and could
        not be stored is left to them as well."""
        if self.request.share_session_epoch != FINAL:
            return False
        self.broker.shared.release(self.session, were_delivered=False)
        return True

    def look_at_all(self) -> Outcome[ShareFetchResponse]:
        return in_slices(self.broker, self.gather(), self.found)

    def gather(self) -> Steps[Resume[ShareFetchResponse] | None]:
        """What has to be done off the loop first, if anything has."""
        for number, place in enumerate(self.session.to_look_at(), 1):
            if self.is_full:
                break
            if (wait := self.look_at(place)) is not None:
                return wait
            if number % LOOKED_AT_AT_ONCE == 0:
                yield None
        return None

    def found(self, wait: Resume[ShareFetchResponse] | None) -> Outcome[ShareFetchResponse]:
        if wait is not None:
            return wait
        if self.is_enough or self.request.max_wait_ms <= 0:
            return self.answer()
        sources = list(self.waiting.values())
        return Later(sources, self.look_again, self.request.max_wait_ms, is_poll=True)

    def look_again(
        self, time_is_up: bool
    ) -> ShareFetchResponse | Resume[ShareFetchResponse] | None:
        must_answer = time_is_up
        for place, shared in list(self.waiting.items()):
            if self.is_full:
                break
            must_answer |= not shared.is_current  # another would not wake us
            if shared.has_records and (wait := self.look_at(place)) is not None:
                return wait
        return self.answer() if must_answer or self.is_enough else None

    @property
    def is_full(self) -> bool:
        return self.count >= self.request.max_records or self.size_bytes >= self.request.max_bytes

    @property
    def is_enough(self) -> bool:
        return bool(self.handed or self.problems or not self.waiting)

    def look_at(self, place: Place) -> Resume[ShareFetchResponse] | None:
        """Give out what there is; or what is to be done before that can be."""
        if place in self.handed:
            return None
        try:
            leader = self.broker.shown_leader(*place)
            return self.read_safely(place, leader)
        except NotOpen as not_open:
            work = partial(self.broker.opening.waited_for, [not_open.log], self.request.max_wait_ms)
            return self.once(work) if self.may_wait() else None
        except Refused as refused:
            self.problems[place] = refused
            self.waiting.pop(place, None)
            return None

    def read_safely(self, place: Place, leader: Leader) -> Resume[ShareFetchResponse] | None:
        try:
            self.take(place, leader)
        except Cold as cold:
            self.warmed += 1
            return self.once(partial(self.broker.warm, cold))
        except Unlooked as unlooked:
            return self.once(partial(self.broker.disk.offload_large, unlooked.look))
        except Amiss as amiss:
            if not self.may_wait():
                raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, str(amiss)) from amiss
            steps = reindex(leader.log, amiss.segment)
            return self.once(lambda: self.broker.in_steps(steps))
        except OSError as problem:
            log.error("%s-%d cannot be read: %s", leader.topic, leader.index, problem)
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, "it cannot be read") from problem
        return None

    def may_wait(self) -> bool:
        self.warmed += 1
        return self.warmed <= WARMED_AT_MOST

    def once(self, work: Callable[[], Awaitable[Any]]) -> Resume[ShareFetchResponse]:
        return Resume(work, lambda _: self.look_at_all())

    def take(self, place: Place, leader: Leader) -> None:
        group, member = self.session.who
        shared = self.waiting[place] = self.broker.shared.of(group, leader)
        share = shared.share
        if share is None or not self.broker.shared.sessions.is_open(self.session):
            return  # who has gone while something was read must not be given anything
        share.limits = shared.limits
        handed = hand_out(
            shared,
            share,
            member,
            self.room,
            self.broker.monotonic_ms(),
            self.held.setdefault(place, HeldOffsets()),
            cold_ok=self.warmed > WARMED_AT_MOST,
        )
        if handed is NOTHING_YET:
            self.broker.shared.wake_soon(shared)
        elif handed is not NOTHING:
            self.handed[place] = handed
            self.size_bytes += len(handed.records)
            self.count += handed.record_count
            self.session.has_had(place)
        if handed.acquired or share.has_changes:  # what holds no records may be all there was
            self.broker.shared.on_changed(shared)

    @property
    def room(self) -> Room:
        request = self.request
        return Room(
            request.max_bytes - self.size_bytes,
            request.max_records - self.count,
            request.share_acquire_mode == STRICT,
            not self.size_bytes,
        )

    # -- the answer

    def answer(self) -> ShareFetchResponse:
        config = self.broker.image.settings.of_group(self.session.who[0])
        answer = ShareFetchResponse(
            acquisition_lock_timeout_ms=config.share_record_lock_duration_ms
        )
        told = dict.fromkeys((*self.said, *self.handed, *self.problems))
        for place in sorted(told):
            topics = answer.responses
            if not topics or topics[-1].topic_id != place[0]:
                topics.append(ShareFetchableTopicResponse(place[0], []))
            topics[-1].partitions.append(self.tell(place, answer))
        return answer

    def tell(self, place: Place, answer: ShareFetchResponse) -> PartitionData:
        handed, problem = self.handed.get(place, NOTHING), self.problems.get(place)
        said = self.said.get(place)
        refused = said.problem if said is not None else None
        led = led_by(self.broker, place, problem or refused)
        if led.endpoint is not None:
            answer.node_endpoints.append(NodeEndpoint(*led.endpoint))
        return PartitionData(
            place[1],
            problem.code if problem else 0,
            problem.message if problem else None,
            refused.code if refused else 0,
            refused.message if refused else None,
            LeaderIdAndEpoch(led.node_id, led.epoch),
            handed.records,
            _acquired(handed),
        )


def _acquired(handed: Handed) -> list[AcquiredRecords]:
    return [AcquiredRecords(*each) for each in handed.acquired]
