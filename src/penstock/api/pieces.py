"""Batches on their way into the log: checked, and looked into where that is asked for."""

from __future__ import annotations

from typing import NamedTuple

from penstock.api.refused_batches import Place
from penstock.config import TopicConfig
from penstock.delays.asking import NOTHING, Asked, BadRecord, ask, refuse_any
from penstock.errors import ErrorCode, Refused
from penstock.log.validation import is_heavy, look_inside
from penstock.replication.leader import Leader
from penstock.wire.batch import BatchHeader, read_header
from penstock.wire.messages.k00_produce import BatchIndexAndErrorMessage, PartitionProduceResponse

MESSAGE_MAX = 1000
"""Characters of a message, which may quote what was sent."""


class Piece(NamedTuple):
    """One partition's batch, checked and not yet appended."""

    leader: Leader
    batch: memoryview
    header: BatchHeader
    answer: PartitionProduceResponse
    place: Place
    ended: int | None = None
    """How many transactions of its producer have ended in the partition, if it is of one, and its
    client keeps its epoch: if it is another number when it is appended, that was one of them. Of
    others, markers of the last transaction may come in between, and that of their own has the next
    epoch, which shuts out the record."""
    is_new: bool = False
    """Whether its transaction has not written to the partition before."""
    asked: Asked = NOTHING
    """What its records want to be held, or cancelled."""


class Looked(NamedTuple):
    """What has been looked into, and what would have taken too much memory for now."""

    done: list[Piece]
    rest: list[Piece]


def copied(pieces: list[Piece]) -> list[Piece]:
    return [piece._replace(batch=memoryview(bytearray(piece.batch))) for piece in pieces]


def bytes_in(pieces: list[Piece]) -> int:
    return sum(len(piece.batch) for piece in pieces)


def looked_inside(
    pieces: list[Piece], now_ms: int, limit: int, *, is_last_try: bool = False
) -> Looked:
    """Off the loop. All that is held at a time takes no more than the limit, in bytes."""
    done: list[Piece] = []
    for number, piece in enumerate(pieces):
        config = piece.leader.log.config
        if not is_heavy(piece.header, config):
            done.append(piece)
            continue
        try:
            looked = look_inside(piece.batch, piece.header, config, now_ms, limit)
            asked = _asked(looked, config, now_ms, limit)
        except Refused as refused:
            if refused.code is ErrorCode.MESSAGE_TOO_LARGE and not is_last_try:
                return Looked(done, pieces[number:])
            refuse(piece.answer, refused)
            continue
        limit = max(limit - len(looked), 0)
        batch, header = memoryview(looked), read_header(looked)
        done.append(piece._replace(batch=batch, header=header, asked=asked))
    return Looked(done, [])


def _asked(batch: bytearray, config: TopicConfig, now_ms: int, limit: int) -> Asked:
    if not config.delayed_delivery:
        if config.compacts:
            refuse_any(batch, limit)
        return NOTHING
    append_time = config.message_timestamp_type == "LogAppendTime"
    return ask(batch, now_ms, limit, append_time=append_time)


def refuse(answer: PartitionProduceResponse, refused: Refused) -> None:
    answer.error_code = refused.code
    answer.error_message = refused.message[:MESSAGE_MAX] or None
    if isinstance(refused, BadRecord):
        told = BatchIndexAndErrorMessage(refused.index, answer.error_message)
        answer.record_errors = [told]
