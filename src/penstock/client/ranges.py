"""Reading ranges of offsets, whole and fast: raw batches, the next fetch under way meanwhile.

Who reads a range has been told where it begins and ends, and must get all of it or an error: what
retention has removed meanwhile is a `Gap`, unless the caller passes over it. Of transactions, only
what was committed is given where that is asked for.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from penstock.client.cluster import WireClient
from penstock.client.connection import Connection
from penstock.client.errors import ClientError, code_of, refused
from penstock.client.metadata import Topic
from penstock.client.offsets import EARLIEST, ends
from penstock.client.reader import Arrived, batches, damaged
from penstock.client.where_views import open_view
from penstock.errors import ErrorCode, Refused
from penstock.predicate.predicate import Predicate
from penstock.wire.batch import BatchHeader
from penstock.wire.messages.k01_fetch import (
    AbortedTransaction,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from penstock.wire.messages.k01_fetch import (
    PartitionData as Answered,
)

FETCH_BYTES = 4 << 20
ROOM_BYTES = 256 << 10
"""More than what is left seems to take, so that it mostly comes whole."""
RECORD_BYTES = 16 << 10
"""What a record is taken for before any has come."""
WAIT_MS = 500
READ_COMMITTED = 1


class Range(NamedTuple):
    """From `start` to before `end`, of the partition whose records have this id. Its topic may
    have lost it meanwhile; then they are read where they are now."""

    topic: str
    log_id: bytes
    partition: int
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} from {self.start} to {self.end}"


class Gap(NamedTuple):
    """Offsets that are not there any more."""

    place: Range
    first: int
    end: int
    is_of_deleted: bool = False
    """Nobody has any of the partition's records: its topic was deleted, or made anew since."""

    def __str__(self) -> str:
        place = f"{self.place.topic}-{self.place.partition}"
        return f"offsets {self.first} to {self.end - 1} of {place}"


OnGap = Callable[[Gap], None]
"""May raise; who returns goes on behind it."""


class Gone(ClientError):
    """Nobody has the records of a partition."""

    def __init__(self, place: Range) -> None:
        super().__init__(
            ErrorCode.UNKNOWN_TOPIC_ID,
            f"the records of {place} are not there any more: their topic was deleted, and may "
            "have been made anew",
        )


class RangeReader:
    """Reads one range at a time, over connections of its own."""

    def __init__(
        self,
        client: WireClient,
        on_gap: OnGap,
        *,
        committed: bool = True,
        where: Predicate | None = None,
    ) -> None:
        """With a predicate, only what matches comes, through views of the topics."""
        self._client = client
        self._where = where
        self._views: dict[str, str] = {}
        """By topic."""
        self._on_gap = on_gap
        self._committed = committed
        self._ahead: Connection | None = None
        """Where an answer is on its way."""
        self._bytes_each: float = RECORD_BYTES
        """What a record took in the last answer."""

    def batches(self, place: Range) -> Iterator[Arrived]:
        """Whole batches of records; `wanted_from` is where the range begins in them."""
        position, self._bytes_each = place.start, RECORD_BYTES
        aborted = _Aborted()
        try:
            while position < place.end:
                answer = self._fetch_some(place, position)
                if code_of(answer.error_code) is ErrorCode.OFFSET_OUT_OF_RANGE:
                    position = self._pass_gap(place, position)
                    continue
                found = _whole(place, position, answer)
                next_position = max(position, found[-1][0].next_offset)
                if next_position < place.end:
                    self._bytes_each = _bytes_each(found)
                    self._ask_ahead(place, next_position)
                aborted.note(answer.aborted_transactions or [])
                for header, data in found:
                    if header.base_offset < place.end and not aborted.has(header):
                        yield Arrived(place.partition, header, data, position)
                position = next_position
        except Gone:
            self._on_gap(Gap(place, position, place.end, is_of_deleted=True))
        finally:
            self._leave_ahead()

    def _fetch_some(self, place: Range, position: int) -> Answered:
        """Who planned the range saw its end, so something has to come."""
        deadline = self._client.deadline()
        while True:
            answer = self._fetch(place, position)
            if answer.records or answer.error_code:
                return answer
            if time.monotonic() >= deadline:
                raise refused(
                    str(place),
                    ErrorCode.REQUEST_TIMED_OUT,
                    f"nothing comes from offset {position} on: it ends at {answer.high_watermark}, "
                    f"and what is committed for good at {answer.last_stable_offset}",
                )

    def _fetch(self, place: Range, position: int) -> Answered:
        if self._ahead is not None:
            connection, self._ahead = self._ahead, None
            try:
                return _read(place, connection.receive(FetchResponse, self._client.deadline()))
            except ClientError:
                self._client.forget()  # it is asked again, wherever the leader is by now
        return self._client.retry(lambda deadline: self._attempt(place, position, deadline))

    def _attempt(self, place: Range, position: int, deadline: float) -> Answered:
        topic, index = self._located(place, deadline)
        request = self._request(topic, index, position, place.end)
        answer = self._client.ask_node(topic.leader_of(index), request, FetchResponse, deadline)
        return _read(place, answer)

    def _located(self, place: Range, deadline: float) -> tuple[Topic, int]:
        found = located(self._client, place.topic, place.partition, place.log_id, deadline)
        if found is None:
            raise Gone(place)
        topic, index = found
        return (topic if self._where is None else self._view(topic, self._where, deadline)), index

    def _view(self, topic: Topic, where: Predicate, deadline: float) -> Topic:
        """It has the partitions of its topic, and their offsets."""
        name = self._views.get(topic.name)
        view = name and self._client.topic_if_any(name, deadline=deadline)
        if not view:
            name = self._views[topic.name] = open_view(self._client, topic.name, where)
            view = self._client.topic(name, deadline=deadline)
        return view

    def _ask_ahead(self, place: Range, position: int) -> None:
        deadline = self._client.deadline()
        try:
            topic, index = self._located(place, deadline)
            connection = self._client.node(topic.leader_of(index), deadline)
            connection.send(self._request(topic, index, position, place.end), deadline)
        except ClientError:
            return  # it is asked for in its turn, and what is wrong is told then
        self._ahead = connection

    def _leave_ahead(self) -> None:
        """An answer that nobody waits for must not be taken for another's."""
        if self._ahead is not None:
            self._ahead.close()
            self._ahead = None

    def _request(self, topic: Topic, index: int, position: int, end: int) -> FetchRequest:
        """No more than is left, as far as the last answer tells how much that is: whoever reads on
        from there asks for the rest."""
        left = int((end - position) * self._bytes_each) + ROOM_BYTES
        bytes_max = min(FETCH_BYTES, left)
        wanted = FetchPartition(
            partition=index,
            current_leader_epoch=topic.partitions[index].leader_epoch,
            fetch_offset=position,
            partition_max_bytes=bytes_max,
        )
        return FetchRequest(
            max_wait_ms=WAIT_MS,
            min_bytes=1,
            max_bytes=bytes_max,
            isolation_level=READ_COMMITTED if self._committed else 0,
            topics=[FetchTopic(topic.name, topic.topic_id, [wanted])],
        )

    def _pass_gap(self, place: Range, position: int) -> int:
        """Where what is left begins."""
        topic, index = self._located(place, self._client.deadline())
        start = ends(self._client, topic.name, [index], EARLIEST)[index]
        if start <= position:
            raise refused(
                str(place), ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {position} is past the end"
            )
        end = min(start, place.end)
        self._on_gap(Gap(place, position, end))
        return end


class _Aborted:
    """Which producers' batches lie in transactions that were aborted, as the log goes on."""

    def __init__(self) -> None:
        self._to_come: deque[AbortedTransaction] = deque()
        self._noted: set[tuple[int, int]] = set()
        self._now: set[int] = set()

    def note(self, told: list[AbortedTransaction]) -> None:
        """Each answer tells of all that reach into it, those of before among them."""
        fresh = [each for each in told if (each.producer_id, each.first_offset) not in self._noted]
        self._noted |= {(each.producer_id, each.first_offset) for each in fresh}
        merged = sorted([*self._to_come, *fresh], key=lambda each: each.first_offset)
        self._to_come = deque(merged)

    def has(self, header: BatchHeader) -> bool:
        """Whether a batch is to be left out; markers always are."""
        while self._to_come and self._to_come[0].first_offset <= header.last_offset:
            self._now.add(self._to_come.popleft().producer_id)
        if header.is_control:
            self._now.discard(header.producer_id)
            return True
        return header.is_transactional and header.producer_id in self._now


def located(
    client: WireClient, name: str, index: int, log_id: bytes, deadline: float
) -> tuple[Topic, int] | None:
    """Where the records of a partition are now: a topic that has lost it has left them to another,
    which is sealed. None if nobody has them."""
    topic = client.topic_if_any(name, deadline=deadline)
    if topic and index in topic.partitions and topic.log_id_of(index) == log_id:
        return topic, index
    for each in client.metadata(deadline=deadline).topics.values():
        at = index - each.sealed_first
        is_sealed = each.sealed_from == name and at in each.partitions
        if is_sealed and each.log_id_of(at) == log_id:
            return each, at
    return None


def _read(place: Range, answer: FetchResponse) -> Answered:
    """What came of the one partition."""
    if answer.error_code:
        raise refused(str(place), answer.error_code)
    ((found,),) = ([*told.partitions] for told in answer.responses)
    if found.error_code not in (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE):
        raise refused(str(place), found.error_code)
    return found


def _bytes_each(found: list[tuple[BatchHeader, memoryview]]) -> float:
    """By offsets, as a range is: compaction leaves gaps, and what is left out is not sent."""
    offsets = found[-1][0].next_offset - found[0][0].base_offset
    return sum(len(data) for _, data in found) / max(1, offsets)


def _whole(place: Range, position: int, answer: Answered) -> list[tuple[BatchHeader, memoryview]]:
    data = memoryview(b"") if answer.records is None else memoryview(answer.records)  # type: ignore[arg-type]
    try:
        found = list(batches(data))
    except Refused as error:
        raise damaged(str(place), position, error.message) from None
    if not found:
        raise damaged(str(place), position, f"{len(data)} bytes came, and no whole batch")
    return found
