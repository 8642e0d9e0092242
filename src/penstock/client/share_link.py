"""The way of a member to one leader: a connection, the share session on it, what came by it.

A session lives as long as its connection, and a record is ours as long as the session. So when the
connection is lost, or the broker knows nothing of the session, all that came this way is ours no
more, and the next link begins anew. One fetch and one acknowledgement are under way at most. The
second goes out behind the first: our brokers end a fetch that waits then, Kafka's answer both when
it has ended.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from penstock.client.connection import Connection
from penstock.client.errors import ClientError, code_of, refused
from penstock.client.share_acks import (
    Outbox,
    Parcel,
    acknowledge_batches,
    by_place,
    fetch_batches,
)
from penstock.client.share_held import Ack, Held, LockLost, Phase, Place
from penstock.client.share_records import given
from penstock.errors import ErrorCode
from penstock.metadata.features import PENSTOCK_VERSION
from penstock.sharing.sessions import EPOCH_MAX, FINAL, INITIAL
from penstock.wire.messages.k78_share_fetch import (
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ShareFetchRequest,
    ShareFetchResponse,
)
from penstock.wire.messages.k79_share_acknowledge import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from penstock.wire.records import Record

WAIT_MS = 500
FETCH_S_MAX, STORE_S_MAX = 10.0, 30.0
"""After that the broker counts as hanging. It may take 15 s to store what was said."""
SEND_S_MAX = 5.0
FETCH_BYTES_MAX = 8 << 20
STRICT = 1
STRICT_SINCE = 2
"""The version that can be asked for no more records than there is room for, and that renews."""

_NOT_OURS = frozenset({ErrorCode.INVALID_RECORD_STATE, ErrorCode.INVALID_REQUEST})


class Who(NamedTuple):
    group: str
    member: str


class _Asked(NamedTuple):
    """A request that is under way."""

    parcel: Parcel
    deadline_s: float
    records: int
    """That may come with its answer; none if it is an acknowledgement."""
    is_fetch: bool
    ends_session: bool


class Arrival(NamedTuple):
    """What came of an answer."""

    held: list[Held]
    moved: dict[Place, ClientError]
    """Partitions that were not to be had here, and why."""


def _nothing(_: ClientError | None) -> None:
    pass


class Link:
    def __init__(
        self, node: int, connection: Connection, who: Who, clock: Callable[[], float]
    ) -> None:
        self.node = node
        self.connection = connection
        self.outbox = Outbox()
        self.wanted: set[Place] = set()
        """What to fetch from."""
        self.held: dict[tuple[Place, int], Held] = {}
        """Given to us by it, and not spoken of to the end."""
        self.lock_s = 0.0
        self.version = connection.version_of(ShareFetchRequest)
        self._who = who
        self._clock = clock
        self._epoch = INITIAL
        self._named: set[Place] = set()
        self._asked: deque[_Asked] = deque()

    # -- what is under way

    @property
    def can_renew(self) -> bool:
        return self.version >= STRICT_SINCE

    @property
    def knows_unseen(self) -> bool:
        """A record can be given back without counting as delivered: Kafka has no word for that."""
        return PENSTOCK_VERSION in self.connection.features

    @property
    def claimed(self) -> int:
        """Records that may be on their way to us."""
        return sum(each.records for each in self._asked)

    @property
    def is_fetching(self) -> bool:
        return any(each.is_fetch for each in self._asked)

    @property
    def is_ending(self) -> bool:
        return any(each.ends_session for each in self._asked)

    @property
    def is_quiet(self) -> bool:
        return not self._asked and not self.outbox

    @property
    def is_saying(self) -> bool:
        """What was said can be said in this session, and is not answered yet."""
        has_more = bool(self.outbox) and self._epoch != INITIAL
        return has_more or any(each.parcel for each in self._asked)

    @property
    def overdue_s(self) -> float | None:
        """When one of the requests counts as lost; answers come in their order."""
        return min((each.deadline_s for each in self._asked), default=None)

    # -- asking

    def say(self) -> None:
        """What is to be said, once what was said before is answered. Raises ClientError."""
        is_saying = any(each.parcel for each in self._asked)
        has_session = self._epoch != INITIAL and not self.is_ending
        if self.outbox and has_session and not is_saying:
            self._acknowledge(self.outbox.next_parcel())

    def fetch(self, records: int) -> None:
        """So many at most. What is to be said goes with it, and then it does not wait for records:
        somebody waits for the answer. Raises ClientError."""
        parcel: Parcel = []
        is_saying = any(each.parcel for each in self._asked)
        if self._epoch != INITIAL and not is_saying:
            if self.outbox.may_go_with_fetch(self.wanted):
                parcel = self.outbox.next_parcel() if self.outbox else []
            else:
                self.say()
        said = by_place(parcel)
        names = self.wanted - self._named
        request = ShareFetchRequest(
            group_id=self._who.group,
            member_id=self._who.member,
            share_session_epoch=self._epoch,
            max_wait_ms=0 if parcel else WAIT_MS,
            min_bytes=1,
            max_bytes=FETCH_BYTES_MAX,
            max_records=records,
            batch_size=records,
            share_acquire_mode=STRICT if self.version >= STRICT_SINCE else 0,
            topics=_fetch_topics(names | said.keys(), said),
            forgotten_topics_data=_forgotten(self._named - self.wanted),
        )
        self._named = set(self.wanted)
        self._send(request, _Asked(parcel, self._late(parcel), records, True, False))

    def end_session(self) -> None:
        """What was not spoken of goes to others, and does not count as delivered."""
        if self._epoch == INITIAL or self.is_ending:
            return
        for held in self.held.values():
            if held.phase is Phase.WAITING:
                held.phase = Phase.LOST
        self.outbox.drop_renewals()
        while len(parcel := self.outbox.next_parcel()) and self.outbox:
            self._acknowledge(parcel)
        self._epoch = FINAL
        self._acknowledge(parcel, ends_session=True)
        self._epoch = INITIAL
        self._named = set()

    def _acknowledge(self, parcel: Parcel, *, ends_session: bool = False) -> None:
        is_renewal = any(not ack.is_final for ack in parcel)
        request = ShareAcknowledgeRequest(
            group_id=self._who.group,
            member_id=self._who.member,
            share_session_epoch=self._epoch,
            is_renew_ack=is_renewal,
            topics=_acknowledge_topics(by_place(parcel)),
        )
        self._send(request, _Asked(parcel, self._late(parcel), 0, False, ends_session))

    def _send(self, request: ShareFetchRequest | ShareAcknowledgeRequest, asked: _Asked) -> None:
        self._asked.append(asked)
        if self._epoch != FINAL:
            self._epoch = 1 if self._epoch == EPOCH_MAX else self._epoch + 1
        self.connection.send(request, time.monotonic() + SEND_S_MAX)

    def _late(self, parcel: Parcel) -> float:
        return self._clock() + (STORE_S_MAX if parcel else FETCH_S_MAX)

    # -- answers

    def receive(self) -> Arrival:
        """Takes in what has come. Raises ClientError if the link is of no more use."""
        arrival = Arrival([], {})
        while self._asked:
            kind = ShareFetchResponse if self._asked[0].is_fetch else ShareAcknowledgeResponse
            answer = self.connection.take(kind)
            if answer is None:
                break
            if isinstance(answer, ShareFetchResponse):
                self._fetched(answer, arrival)
            elif isinstance(answer, ShareAcknowledgeResponse):
                self._acknowledged(answer)
        return arrival

    def _fetched(self, answer: ShareFetchResponse, arrival: Arrival) -> None:
        self._check(answer.error_code, answer.error_message)
        asked = self._asked.popleft()
        self.lock_s = answer.acquisition_lock_timeout_ms / 1000
        told = [
            ((topic.topic_id, each.partition_index), each)
            for topic in answer.responses
            for each in topic.partitions
        ]
        # First what was said: a record that was given back may have come again with this answer.
        results = {
            place: (each.acknowledge_error_code, each.acknowledge_error_message)
            for place, each in told
        }
        self._settle(asked.parcel, results)
        for place, each in told:
            if each.error_code:
                arrival.moved[place] = refused(_about(place), each.error_code)
                self.wanted.discard(place)
            elif not self.is_ending:
                arrival.held.extend(self._given(place, each))

    def _given(self, place: Place, data: PartitionData) -> list[Held]:
        until_s = self._clock() + self.lock_s
        found = given(data)
        held = [Held(self, place, record, count, until_s) for record, count in found.records]
        for each in held:
            self.held[place, each.record.offset] = each
        for offset, answer in found.others:
            nobody = Held(self, place, Record(offset, 0, None, None), 0, until_s)
            self.outbox.add(Ack(nobody, answer, 0, _nothing))
        return held

    def _acknowledged(self, answer: ShareAcknowledgeResponse) -> None:
        self._check(answer.error_code, answer.error_message)
        asked = self._asked.popleft()
        if answer.acquisition_lock_timeout_ms:
            self.lock_s = answer.acquisition_lock_timeout_ms / 1000
        results = {
            (topic.topic_id, each.partition_index): (each.error_code, each.error_message)
            for topic in answer.responses
            for each in topic.partitions
        }
        self._settle(asked.parcel, results, is_last=asked.ends_session)
        if asked.ends_session:
            self._lose(self._all_held())

    def _check(self, number: int, message: str | None) -> None:
        if number:
            raise refused(f"share session with broker {self.node}", number, message)

    def _settle(
        self,
        parcel: Parcel,
        results: dict[Place, tuple[int, str | None]],
        *,
        is_last: bool = False,
    ) -> None:
        """After the last of a session nothing can be said again."""
        for place, said in by_place(parcel).items():
            number, message = results.get(place, (ErrorCode.UNKNOWN_SERVER_ERROR, None))
            if not number:
                self._took(said)
            elif len(said) > 1 and code_of(number) in _NOT_OURS and not is_last:
                self.outbox.say_again(said)
            else:
                self._refused(said, refused(_about(place), number, message))

    def _took(self, said: Parcel) -> None:
        until_s = self._clock() + self.lock_s
        for ack in said:
            held = ack.held
            if ack.is_final:
                self._forget(held, Phase.DONE)
            else:
                held.locked_until_s, held.is_renewing = until_s, False
            ack.on_done(None)

    def _refused(self, said: Parcel, error: ClientError) -> None:
        is_unsure = error.code not in _NOT_OURS  # a leader that was lost may have stored it
        lost = LockLost(
            f"the lock had ended, or its leader has changed ({error.said})", may_be_stored=is_unsure
        )
        for ack in said:
            held = ack.held
            held.is_renewing = held.may_renew = False
            if ack.is_final:
                self._forget(held, Phase.LOST)
            ack.on_done(lost)

    def _forget(self, held: Held, phase: Phase) -> None:
        held.phase = phase
        if self.has(held):
            del self.held[held.place, held.record.offset]

    # -- the end

    def has(self, held: Held) -> bool:
        return self.held.get((held.place, held.record.offset)) is held

    def lose_place(self, place: Place) -> None:
        """Another broker leads it, and knows nothing of what we have."""
        self._lose([each for each in self._all_held() if each.place == place])

    def lose_dropped(self, now: float) -> None:
        """What nobody works on any more, once its lock has ended by itself."""
        self._lose([each for each in self._all_held() if each.is_dropped(now)])

    def lose_all(self, error: ClientError) -> None:
        """The connection, or the session on it, is over."""
        self.connection.close()
        unsure = LockLost(f"{error.said}; whether it was stored is not known", may_be_stored=True)
        under_way = [ack for each in self._asked for ack in each.parcel]
        self._asked.clear()
        unsaid = self.outbox.clear()
        self._lose(self._all_held())
        for ack in under_way:
            ack.on_done(unsure)
        for ack in unsaid:
            ack.on_done(LockLost(error.said))

    def _all_held(self) -> list[Held]:
        return list(self.held.values())

    def _lose(self, lost: list[Held]) -> None:
        for held in lost:
            if held.phase is not Phase.SAID:  # who has spoken of it hears of it otherwise
                held.phase = Phase.LOST
            self.held.pop((held.place, held.record.offset), None)


def _about(place: Place) -> str:
    return f"partition {place[1]}"


def _fetch_topics(places: set[Place], said: dict[Place, Parcel]) -> list[FetchTopic]:
    found: dict[bytes, FetchTopic] = {}
    for topic_id, index in sorted(places):
        topic = found.setdefault(topic_id, FetchTopic(topic_id, []))
        parcel = said.get((topic_id, index))
        batches = fetch_batches(parcel) if parcel else []
        topic.partitions.append(FetchPartition(index, batches))
    return list(found.values())


def _acknowledge_topics(said: dict[Place, Parcel]) -> list[AcknowledgeTopic]:
    found: dict[bytes, AcknowledgeTopic] = {}
    for (topic_id, index), parcel in said.items():
        topic = found.setdefault(topic_id, AcknowledgeTopic(topic_id, []))
        topic.partitions.append(AcknowledgePartition(index, acknowledge_batches(parcel)))
    return list(found.values())


def _forgotten(places: set[Place]) -> list[ForgottenTopic]:
    found: dict[bytes, list[int]] = {}
    for topic_id, index in sorted(places):
        found.setdefault(topic_id, []).append(index)
    return [ForgottenTopic(topic_id, indexes) for topic_id, indexes in found.items()]
