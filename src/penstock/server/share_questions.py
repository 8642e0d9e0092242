"""What is asked of the coordinators of shares: as a decision where this broker is the one, and as
a part of a request to another."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from penstock.api.sharing.each_share import Decide
from penstock.coordination.share import deciding
from penstock.coordination.share.deciding import Written
from penstock.coordination.share.names import ShareKey
from penstock.coordination.share.state import UNKNOWN, Share, State, Summary
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Malformed, Refused
from penstock.server.lines import ELEMENT_WEIGHT
from penstock.wire.delivery import read_batches, written_batches
from penstock.wire.messages import k83_initialize_share_group_state as k83
from penstock.wire.messages import k84_read_share_group_state as k84
from penstock.wire.messages import k85_write_share_group_state as k85
from penstock.wire.messages import k86_delete_share_group_state as k86
from penstock.wire.messages import k87_read_share_group_state_summary as k87

NO_LEADER = -1
"""As an epoch: whoever asks only wants to know."""


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """Of the messages of one API, which are made alike."""

    request: Callable[[str, Any], Any]
    topic: Callable[[bytes, Any], Any]
    response: type[Any]
    version: int


@dataclass(slots=True, eq=False)
class Question:
    form: Form
    key: ShareKey
    decide: Decide
    part: Callable[[], Any]
    """Makes what stands in a request. Most are never sent: their share is looked after here."""
    read: Callable[[Any], Any]
    """What was said in the answer to one."""
    batches: int = 0
    answer: Future[Any] | None = None
    """While another broker is asked."""

    @property
    def weight(self) -> int:
        return ELEMENT_WEIGHT * (2 + self.batches) + len(self.key.group.encode())

    @property
    def is_wanted(self) -> bool:
        return self.answer is not None and not self.answer.done()

    def give(self, came: Any) -> None:
        """The answer, or a Refused, unless nobody waits for it any more."""
        if self.answer is None or self.answer.done():
            return
        if isinstance(came, Refused):
            self.answer.set_exception(came)
        else:
            self.answer.set_result(came)


def request_of(questions: Sequence[Question]) -> Any:
    """Of one form, and of one group. Those of a topic that stand together are together."""
    form, last = questions[0].form, b""
    topics: list[Any] = []
    for each in questions:
        if not topics or each.key.topic_id != last:
            last = each.key.topic_id
            topics.append(form.topic(last, []))
        topics[-1].partitions.append(each.part())
    return form.request(questions[0].key.group, topics)


def answers_in(questions: Sequence[Question], response: Any) -> list[Any]:
    """Of each, in their order; Refused stands for itself. Raises Malformed."""
    told = [(topic.topic_id, part) for topic in response.results for part in topic.partitions]
    if [(topic_id, part.partition) for topic_id, part in told] != [
        (each.key.topic_id, each.key.partition) for each in questions
    ]:
        raise Malformed("the answer is about other shares than the question")
    return [_answer(each, part) for each, (_, part) in zip(questions, told, strict=True)]


def _answer(question: Question, part: Any) -> Any:
    if part.error_code:
        return Refused(_code(part.error_code), part.error_message or "")
    return question.read(part)


def _code(number: int) -> ErrorCode:
    """After a bug over there, nobody knows what was done."""
    code = ErrorCode(number)
    return ErrorCode.COORDINATOR_NOT_AVAILABLE if code is ErrorCode.UNKNOWN_SERVER_ERROR else code


# -- one for each API


def reading(key: ShareKey, leader_epoch: int) -> Question:
    def decide(turn: Turn, share: Share) -> State:
        state = deciding.read(turn, share, leader_epoch)
        return msgspec.structs.replace(state, complete_count=UNKNOWN)

    def read(told: k84.PartitionResult) -> State:
        batches = tuple(read_batches(told.state_batches))
        return State(told.state_epoch, leader_epoch, told.start_offset, UNKNOWN, batches)

    part = partial(k84.PartitionData, key.partition, leader_epoch)
    return Question(READ, key, decide, part, read)


def writing(key: ShareKey, written: Written) -> Question:
    def part() -> k85.PartitionData:
        return k85.PartitionData(
            key.partition,
            written.state_epoch,
            written.leader_epoch,
            written.start_offset,
            written.complete_count,
            written_batches(k85.StateBatch, written.batches),
        )

    decide = partial(deciding.write, written=written)
    return Question(WRITE, key, decide, part, _nothing, len(written.batches))


def initializing(key: ShareKey, state_epoch: int, start_offset: int) -> Question:
    decide = partial(deciding.initialize, state_epoch=state_epoch, start_offset=start_offset)
    part = partial(k83.PartitionData, key.partition, state_epoch, start_offset)
    return Question(INITIALIZE, key, decide, part, _nothing)


def deleting(key: ShareKey) -> Question:
    part = partial(k86.PartitionData, key.partition)
    return Question(DELETE, key, deciding.delete, part, _nothing)


def summing_up(key: ShareKey) -> Question:
    part = partial(k87.PartitionData, key.partition, NO_LEADER)
    return Question(SUMMARY, key, deciding.summary, part, _read_summary)


def _nothing(told: object) -> None:
    return None


def _read_summary(told: k87.PartitionResult) -> Summary:
    return Summary(
        told.state_epoch,
        told.leader_epoch,
        told.start_offset,
        told.delivery_complete_count,
        (),
        told.end_offset,
    )


INITIALIZE = Form(
    k83.InitializeShareGroupStateRequest,
    k83.InitializeStateData,
    k83.InitializeShareGroupStateResponse,
    0,
)
READ = Form(
    k84.ReadShareGroupStateRequest,
    k84.ReadStateData,
    k84.ReadShareGroupStateResponse,
    0,
)
WRITE = Form(
    k85.WriteShareGroupStateRequest,
    k85.WriteStateData,
    k85.WriteShareGroupStateResponse,
    1,
)
DELETE = Form(
    k86.DeleteShareGroupStateRequest,
    k86.DeleteStateData,
    k86.DeleteShareGroupStateResponse,
    0,
)
SUMMARY = Form(
    k87.ReadShareGroupStateSummaryRequest,
    k87.ReadStateSummaryData,
    k87.ReadShareGroupStateSummaryResponse,
    1,
)
