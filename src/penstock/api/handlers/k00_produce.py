"""Produce: append batches as they are.

Advertised from version 0, because older librdkafka turns compression off otherwise, and refused
below 3. Version 8 brought error messages, 10 the current leader, 13 topic ids in place of names.
acks=0 is never answered: where something is wrong the connection is closed, as in Kafka.
A request that must be looked into or compressed again waits for that off the loop as a whole, so
that the order of a pipelined producer is kept.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.api.broker import Broker
from penstock.api.call import Call, Unanswerable
from penstock.api.outcome import NO_ANSWER, Later, Outcome, Resume
from penstock.errors import ErrorCode, Refused
from penstock.log.validation import check_batch, is_heavy, look_inside
from penstock.replication.leader import Leader
from penstock.wire.batch import BatchHeader, read_header
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

NONE, LEADER, ALL = 0, 1, -1
TOPIC_IDS_SINCE = 13


class Piece(NamedTuple):
    """One partition's batch, checked and not yet appended."""

    leader: Leader
    batch: memoryview
    header: BatchHeader
    answer: PartitionProduceResponse


class Pledge(NamedTuple):
    """An append that is answered for once the high watermark has passed its end."""

    leader: Leader
    end: int
    answer: PartitionProduceResponse


def produce(broker: Broker, request: ProduceRequest, call: Call) -> Outcome[ProduceResponse]:
    if request.acks not in (NONE, LEADER, ALL):
        raise Refused(ErrorCode.INVALID_REQUIRED_ACKS, f"acks={request.acks} is none of 0, 1, -1")
    if request.transactional_id is not None:
        raise Refused(ErrorCode.INVALID_TXN_STATE, "transactions are not supported yet")
    pieces: list[Piece] = []
    response = ProduceResponse()
    for topic in request.topic_data:
        answers = [_check(broker, topic, part, call, pieces) for part in topic.partition_data]
        response.responses.append(TopicProduceResponse(topic.name, topic.topic_id, answers))
    heavy = [piece for piece in pieces if is_heavy(piece.header, piece.leader.log.config)]
    if not heavy:
        return _append_all(broker, request, call, response, pieces)
    return _look_inside_first(broker, request, call, response, pieces)


def _check(
    broker: Broker,
    topic: TopicProduceData,
    part: PartitionProduceData,
    call: Call,
    pieces: list[Piece],
) -> PartitionProduceResponse:
    answer = PartitionProduceResponse(part.index, base_offset=-1)
    try:
        broker.check_room()
        leader = (
            broker.leader_by_id(topic.topic_id, part.index)
            if call.version >= TOPIC_IDS_SINCE
            else broker.leader(topic.name, part.index)
        )
        batch = part.records
        if not isinstance(batch, memoryview):
            raise Refused(ErrorCode.INVALID_RECORD, "there is no batch for this partition")
        header = check_batch(batch, leader.log.config, call.now_ms)
        if header.is_transactional:
            raise Refused(ErrorCode.INVALID_TXN_STATE, "transactions are not supported yet")
    except Refused as refused:
        _refuse(answer, refused)
    else:
        pieces.append(Piece(leader, batch, header, answer))
        part.records = None  # or its memory would be held for as long as the answer waits
    return answer


def _refuse(answer: PartitionProduceResponse, refused: Refused) -> None:
    answer.error_code = refused.code
    answer.error_message = refused.message or None


def _append_all(
    broker: Broker,
    request: ProduceRequest,
    call: Call,
    response: ProduceResponse,
    pieces: list[Piece],
) -> Outcome[ProduceResponse]:
    pledges: list[Pledge] = []
    for piece in pieces:
        _append(broker, piece, call.now_ms, pledges)
    if request.acks == ALL and pledges:
        return _once_committed(response, pledges, request.timeout_ms)
    if request.acks == NONE:
        _close_on_error(response)
        return NO_ANSWER
    return response


def _append(broker: Broker, piece: Piece, now_ms: int, pledges: list[Pledge]) -> None:
    leader, batch, header, answer = piece
    log = leader.log
    try:
        if leader.deleted:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic was deleted")
        done = log.append(batch, header, now_ms, leader.epoch)
    except Refused as refused:
        _refuse(answer, refused)
        return
    broker.appended(leader)
    answer.base_offset = done.base_offset
    answer.log_append_time_ms = done.append_time_ms
    answer.log_start_offset = log.start_offset
    pledges.append(Pledge(leader, done.last_offset + 1, answer))


def _once_committed(
    response: ProduceResponse, pledges: list[Pledge], timeout_ms: int
) -> ProduceResponse | Later[ProduceResponse]:
    def answer(time_is_up: bool) -> ProduceResponse | None:
        for leader, end, part in pledges:
            if leader.high_watermark >= end:
                continue
            if leader.deleted:
                part.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif not time_is_up:
                return None
            else:
                part.error_code = ErrorCode.REQUEST_TIMED_OUT
        return response

    # A repeated batch may be committed already: then nothing is going to wake the wait.
    waiting = [pledge for pledge in pledges if pledge.leader.high_watermark < pledge.end]
    if not waiting:
        return response
    sources = [leader.reached(end) for leader, end, _ in waiting]
    return Later(sources, answer, max(timeout_ms, 0))


def _close_on_error(response: ProduceResponse) -> None:
    for topic in response.responses:
        for part in topic.partition_responses:
            if part.error_code:
                reason = part.error_message or ErrorCode(part.error_code).name
                raise Unanswerable(f"acks=0, {topic.name}-{part.index}: {reason}")


def _look_inside_first(
    broker: Broker,
    request: ProduceRequest,
    call: Call,
    response: ProduceResponse,
    pieces: list[Piece],
) -> Resume[ProduceResponse]:
    # The bytes are copied: the receive buffer is used again while this one waits.
    copies = [piece._replace(batch=memoryview(bytearray(piece.batch))) for piece in pieces]

    def work() -> list[Piece]:
        return [piece for piece in map(_looked_inside, copies) if piece is not None]

    def then(checked: list[Piece]) -> Outcome[ProduceResponse]:
        return _append_all(broker, request, call, response, checked)

    def _looked_inside(piece: Piece) -> Piece | None:
        config = piece.leader.log.config
        if not is_heavy(piece.header, config):
            return piece
        try:
            batch = memoryview(look_inside(piece.batch, piece.header, config, call.now_ms))
        except Refused as refused:
            _refuse(piece.answer, refused)
            return None
        return piece._replace(batch=batch, header=read_header(batch))

    return Resume(lambda: broker.disk.offload(work), then)


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
