"""Produce: append batches as they are.

Advertised from version 0, because older librdkafka turns compression off otherwise, and refused
below 3. Version 8 brought error messages, 10 the current leader, 13 topic ids in place of names.
acks=0 is never answered: where something is wrong the connection is closed, as in Kafka.
A request that must be looked into or compressed again waits for that off the loop as a whole, so
that the order of a pipelined producer is kept. Where that takes much memory it waits until no other
request does so.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from penstock.api.broker import Broker
from penstock.api.call import Call, Unanswerable
from penstock.api.opening import NotOpen
from penstock.api.outcome import NO_ANSWER, Outcome, Resume
from penstock.api.pieces import Looked, Piece, bytes_in, copied, looked_inside, refuse
from penstock.api.pledges import Pledge, once_all_committed
from penstock.api.slices import in_slices
from penstock.api.verifying import (
    ADDING_SINCE,
    Codes,
    are_added,
    not_in_transaction,
    produce_code,
)
from penstock.coordination.transaction.state import Identity
from penstock.delays.asking import NOTHING
from penstock.errors import ErrorCode, Refused
from penstock.log.partition_log import PartitionLog
from penstock.log.segment import Amiss
from penstock.log.steps import Steps, exhaust
from penstock.log.validation import (
    EXPANDED_BYTES_ORDINARY,
    check_batch,
    expanded_bytes_max,
    is_heavy,
)
from penstock.metadata.internal_topics import refuse_internal
from penstock.replication.leader import Leader
from penstock.wire.batch import HEADER_SIZE, BatchHeader, read_header
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

T = TypeVar("T")

NONE, LEADER, ALL = 0, 1, -1
TOPIC_IDS_SINCE = 13
NEW_LOGS_AT_ONCE = 8
"""Logs that are written to for the first time in one go: each takes the file system up to a
millisecond."""
AT_ONCE = 250
"""Partitions that are looked up, or checked, between two pauses: a millisecond."""
WRITTEN_AT_ONCE = 100
"""Each takes a call of the operating system, and most of ten microseconds."""
NAME_MAX = 249
"""Characters that are told of a name."""


@dataclass(slots=True)
class Produce:
    broker: Broker
    request: ProduceRequest
    call: Call
    response: ProduceResponse
    pieces: list[Piece] = field(default_factory=list)
    has_heavy: bool = False
    """Whether one of them has to be looked into."""
    has_pauses: bool = False
    """Whether there are so many of them that others get their turn in between."""
    is_kept: bool = False
    """Whether the batches are copies, and not in a receive buffer that is used again."""

    def outcome(self) -> Outcome[ProduceResponse]:
        count = sum(len(topic.partition_data) for topic in self.request.topic_data)
        self.has_pauses = count > AT_ONCE
        if self.has_pauses:
            self.keep_records()
        return self.stepwise(self.closed(), self.once_found)

    def stepwise(
        self, steps: Generator[None, None, T], then: Callable[[T], Outcome[ProduceResponse]]
    ) -> Outcome[ProduceResponse]:
        """With pauses only if the batches have been copied: in a pause the receive buffer is used
        for what others send."""
        if self.has_pauses:
            return in_slices(self.broker, steps, then)
        return then(exhaust(steps))

    def once_found(self, closed: list[PartitionLog]) -> Outcome[ProduceResponse]:
        """A log that takes long to open is waited for, and so do the requests after this one: were
        it refused at once, and a later one taken, a producer's batches would be out of order."""
        if not closed:
            return self.once_open()
        self.keep_records()
        wait_ms = self.request.timeout_ms
        work = partial(self.broker.opening.waited_for, closed, wait_ms)
        return Resume(work, lambda _: self.once_open())

    def once_open(self) -> Outcome[ProduceResponse]:
        return self.stepwise(self.check_all(), lambda _: self.once_checked())

    def once_checked(self) -> Outcome[ProduceResponse]:
        new = [piece for piece in self.pieces if piece.is_new]
        return self.verify_first(new) if new else self.once_verified()

    def once_verified(self) -> Outcome[ProduceResponse]:
        if self.has_heavy:
            return self.look_inside_first()
        return self.append_all(self.pieces)

    def verify_first(self, new: list[Piece]) -> Outcome[ProduceResponse]:
        """Partitions that are new to the transaction: its coordinator is asked for them."""
        name, add = self.request.transactional_id or "", self.call.version >= ADDING_SINCE
        writer = _writer(new[0].header)
        places = [(piece.leader.topic, piece.leader.index) for piece in new]
        if not add and are_added(self.broker, name, writer, places):
            return self.once_verified()
        if not self.is_kept:
            self.pieces, self.is_kept = copied(self.pieces), True

        def then(codes: Codes) -> Outcome[ProduceResponse]:
            self.pieces = [piece for piece in self.pieces if self.belongs(piece, codes)]
            return self.once_verified()

        return Resume(lambda: self.broker.verify(name, writer, places, add=add), then)

    def belongs(self, piece: Piece, codes: Codes) -> bool:
        code = 0
        if piece.is_new:
            code = codes.get((piece.leader.topic, piece.leader.index), ErrorCode.INVALID_TXN_STATE)
        if not code:
            return True
        refused = Refused(
            produce_code(code, self.call.version),
            f"the coordinator of the transaction says {ErrorCode(code).name}",
        )
        self.refuse(piece, refused)
        return False

    def closed(self) -> Generator[None, None, list[PartitionLog]]:
        found = []
        for number, (topic, part) in enumerate(self.parts(), 1):
            try:
                self.leader(topic, part)
            except NotOpen as not_open:
                found.append(not_open.log)
            except Refused:
                pass  # the answer says so
            if number % AT_ONCE == 0:
                yield None
        return found

    def parts(self) -> Iterator[tuple[TopicProduceData, PartitionProduceData]]:
        for topic in self.request.topic_data:
            for part in topic.partition_data:
                yield topic, part

    def check_all(self) -> Generator[None, None, None]:
        count = 0
        for topic in self.request.topic_data:
            answered = TopicProduceResponse(topic.name, topic.topic_id, [])
            self.response.responses.append(answered)
            for part in topic.partition_data:
                answered.partition_responses.append(self.check(topic, part))
                count += 1
                if count % AT_ONCE == 0:
                    yield None

    def keep_records(self) -> None:
        """The receive buffer is used again while this request waits."""
        self.is_kept = True
        for _, part in self.parts():
            if isinstance(part.records, memoryview):
                part.records = memoryview(bytearray(part.records))

    def leader(self, topic: TopicProduceData, part: PartitionProduceData) -> Leader:
        if self.call.version >= TOPIC_IDS_SINCE:
            return self.broker.shown_leader(topic.topic_id, part.index)
        return self.broker.leader(topic.name, part.index)

    def check(
        self, topic: TopicProduceData, part: PartitionProduceData
    ) -> PartitionProduceResponse:
        """The answer for a partition, still empty, or with the reason why it is refused."""
        answer = PartitionProduceResponse(part.index, base_offset=-1)
        try:
            piece = self.checked(topic, part, answer)
            self.pieces.append(piece)
            self.has_heavy |= is_heavy(piece.header, piece.leader.log.config)
        except Refused as refused:
            refuse(answer, refused)
            self.note_refused(topic, part, refused.code)
        part.records = None  # or its memory would be held for as long as the answer waits
        return answer

    def checked(
        self, topic: TopicProduceData, part: PartitionProduceData, answer: PartitionProduceResponse
    ) -> Piece:
        self.broker.check_room()
        leader = self.leader(topic, part)
        if leader.is_internal:
            refuse_internal(leader.topic)
        if not leader.writing.is_usual:
            leader.writing.check(_name(leader), self.call.client_id or "", self.call.now_ms)
        by_all = self.request.acks == ALL
        if by_all:
            leader.check_enough_in_sync()
        self.broker.check_lease(leader, by_all=by_all)
        batch = part.records
        if not isinstance(batch, memoryview):
            raise Refused(ErrorCode.INVALID_RECORD, "there is no batch for this partition")
        header = check_batch(batch, leader.log.config, self.call.now_ms)
        ended, is_new = None, False
        if header.is_transactional:
            is_new = self.check_transaction(leader, header)
            if self.call.version < ADDING_SINCE:
                ended = leader.log.producers.ended(header.producer_id)
        _check_open(leader, header)
        place = topic.name, topic.topic_id, part.index
        if refused := self.call.client.refused:
            is_next = leader.log.producers.follows(header)
            refused.check(place, header, self.call.now_ms, is_next=is_next)
        return Piece(leader, batch, header, answer, place, ended, is_new)

    def check_transaction(self, leader: Leader, header: BatchHeader) -> bool:
        """Whether its transaction is new here."""
        if self.request.transactional_id is None:
            raise Refused(ErrorCode.INVALID_TXN_STATE, "the request has no transactional id")
        writer = _writer(header)
        if self.call.version < ADDING_SINCE:
            self.broker.speakers.of_records.check(writer, self.call.client)
        if self.pieces and _writer(self.pieces[0].header) != writer:
            raise Refused(
                ErrorCode.INVALID_PRODUCER_ID_MAPPING, "the request has batches of two producers"
            )
        self.broker.speakers.of_records.note(writer, self.call.client)
        return not leader.log.producers.is_open_for(*writer)

    def note_refused(
        self, topic: TopicProduceData, part: PartitionProduceData, code: ErrorCode
    ) -> None:
        refused, batch = self.call.client.refused, part.records
        if refused is not None and isinstance(batch, memoryview) and len(batch) >= HEADER_SIZE:
            place = topic.name, topic.topic_id, part.index
            refused.note(place, read_header(batch), code, self.call.now_ms)

    def look_inside_first(self) -> Resume[ProduceResponse]:
        kept = self.pieces if self.is_kept else copied(self.pieces)
        self.is_kept = True
        limit = EXPANDED_BYTES_ORDINARY + bytes_in(kept)
        work = partial(looked_inside, kept, self.call.now_ms, limit)
        return Resume(lambda: self.broker.disk.offload(work), self.look_into_the_rest)

    def look_into_the_rest(self, looked: Looked) -> Outcome[ProduceResponse]:
        """Into what takes more memory: for one request at a time."""
        done, rest = looked
        if not rest:
            return self.once_looked(done)
        limit = expanded_bytes_max(bytes_in(rest))
        work = partial(looked_inside, rest, self.call.now_ms, limit, is_last_try=True)
        return Resume(
            lambda: self.broker.disk.offload_large(work),
            lambda more: self.once_looked([*done, *more.done]),
        )

    def once_looked(self, pieces: list[Piece]) -> Outcome[ProduceResponse]:
        """What is to be cancelled is looked up in schedules that know all that is committed."""
        leaders = [piece.leader for piece in pieces if piece.asked.cancels]
        if not leaders:
            return self.append_all(pieces)
        schedules = self.broker.schedules
        steps = _one_by_one([schedules.caught_up(leader) for leader in leaders])
        return Resume(lambda: self.broker.in_steps(steps), lambda _: self.append_all(pieces))

    def append_all(self, pieces: list[Piece]) -> Outcome[ProduceResponse]:
        new = [piece.leader.log for piece in pieces if not piece.leader.log.has_folder]
        if len(new) <= NEW_LOGS_AT_ONCE and len(pieces) <= AT_ONCE:
            return self.once_appended(self.append_some(pieces))
        kept = pieces if self.is_kept else copied(pieces)
        return Resume(
            lambda: self.broker.in_steps(self.append_in_slices(new, kept)), self.once_appended
        )

    def append_in_slices(self, new: list[PartitionLog], pieces: list[Piece]) -> Steps[list[Pledge]]:
        """And each slice is written: all of them together would take much longer than to append."""
        yield from _prepared(new)
        pledges: list[Pledge] = []
        for start in range(0, len(pieces), WRITTEN_AT_ONCE):
            some = pieces[start : start + WRITTEN_AT_ONCE]
            pledges += self.append_some(some)
            for piece in some:
                piece.leader.log.write_out()
            yield None
        return pledges

    def append_some(self, pieces: list[Piece]) -> list[Pledge]:
        appended = (self.append(piece) for piece in pieces)
        return [pledge for pledge in appended if pledge is not None]

    def once_appended(self, pledges: list[Pledge]) -> Outcome[ProduceResponse]:
        if self.request.acks == ALL:
            wait_ms = max(self.request.timeout_ms, 0)
            return once_all_committed(pledges, self.response, wait_ms)
        if self.request.acks == NONE:
            _close_on_error(self.response)
            return NO_ANSWER
        return self.response

    def refuse(self, piece: Piece, refused: Refused) -> None:
        refuse(piece.answer, refused)
        if self.call.client.refused is not None:
            now_ms = self.call.now_ms
            self.call.client.refused.note(piece.place, piece.header, refused.code, now_ms)

    def unless_deposed(self, refused: Refused) -> Refused:
        """Without the lease another broker may lead, and have what seems to be missing here. A
        producer would give up for that."""
        if refused.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not self.broker.has_lease():
            text = "others may lead the partition, and have more"
            return Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, text)
        return refused

    def check_is_next(self, piece: Piece) -> None:
        """What its producer sent before it may be late: then it is not lost, and this is not the
        first."""
        refused, header = self.call.client.refused, piece.header
        if refused is None or not piece.leader.log.producers.lacks_some_before(header):
            return
        if refused.may_come_late(piece.place, header, self.call.now_ms):
            text = "a batch before this one has not come yet; send that first"
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, text)

    def check_schedule(self, piece: Piece) -> None:
        """What was appended before is answered as usual."""
        leader = piece.leader
        if piece.header.producer_id < 0 or leader.log.producers.known(piece.header) is None:
            most = self.broker.config.delays_pending_max
            self.broker.schedules.check(leader, piece.asked, most)

    def append(self, piece: Piece) -> Pledge | None:
        leader, batch, header, answer, _, ended, _, asked = piece
        log = leader.log
        try:
            if leader.over is not None:
                raise Refused(leader.over, "this broker does not lead the partition any more")
            _check_open(leader, header)
            if ended not in (None, log.producers.ended(header.producer_id)):
                code = not_in_transaction(self.call.version)
                raise Refused(code, "the transaction has ended meanwhile")
            self.check_is_next(piece)
            if asked is not NOTHING:
                self.check_schedule(piece)
            done = log.append(batch, header, self.call.now_ms, leader.epoch)
        except Refused as refused:
            self.refuse(piece, self.unless_deposed(refused))
            return None
        if asked.cancels and not done.duplicate:
            self.broker.schedules.take_out(leader, asked, done.base_offset)
        self.broker.appended(leader)
        answer.base_offset = done.base_offset
        answer.log_append_time_ms = done.append_time_ms
        answer.log_start_offset = log.start_offset
        return Pledge(leader, done.last_offset + 1, answer)


def produce(broker: Broker, request: ProduceRequest, call: Call) -> Outcome[ProduceResponse]:
    if request.acks not in (NONE, LEADER, ALL):
        raise Refused(ErrorCode.INVALID_REQUIRED_ACKS, f"acks={request.acks} is none of 0, 1, -1")
    return Produce(broker, request, call, ProduceResponse()).outcome()


def _writer(header: BatchHeader) -> Identity:
    return Identity(header.producer_id, header.producer_epoch)


def _name(leader: Leader) -> str:
    return f"{leader.topic}-{leader.index}"


def _check_open(leader: Leader, header: BatchHeader) -> None:
    """A closed partition takes nothing new. What it has is answered as usual: its producer has not
    heard of it, and would take it for lost when the partition is gone."""
    if leader.writing.is_closed and leader.log.producers.known(header) is None:
        leader.writing.check_open(_name(leader))


def _one_by_one(all_steps: list[Steps[None]]) -> Steps[None]:
    for steps in all_steps:
        with suppress(OSError, Amiss, Refused):  # then what is not known is not cancelled
            yield from steps


def _prepared(logs: list[PartitionLog]) -> Steps[None]:
    for log in logs:
        log.prepare()
        yield None


def _close_on_error(response: ProduceResponse) -> None:
    for topic in response.responses:
        for part in topic.partition_responses:
            if part.error_code:
                reason = part.error_message or ErrorCode(part.error_code).name
                name = topic.name[:NAME_MAX] or topic.topic_id.hex()
                raise Unanswerable(f"acks=0, partition {part.index} of {name!r}: {reason}")


def produce_failed(request: ProduceRequest, code: ErrorCode, message: str) -> ProduceResponse:
    if request.acks == NONE:
        raise Unanswerable(f"acks=0: {message}")
    return ProduceResponse(
        [
            TopicProduceResponse(
                topic.name,
                topic.topic_id,
                [
                    PartitionProduceResponse(
                        part.index, code, base_offset=-1, error_message=message
                    )
                    for part in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )
