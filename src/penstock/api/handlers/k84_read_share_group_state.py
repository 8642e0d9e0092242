"""ReadShareGroupState: all that is stored of shares, for the leader of their partitions.

Asked by brokers. Who reads shuts out leaders before it, and that is committed before the answer is
given. Where shares are long, some of them are to be asked for again, and say so.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.sharing.each_share import Decide, EachShare, Form
from penstock.coordination.share import deciding
from penstock.coordination.share.state import Share, State
from penstock.coordination.share.writing import BATCH_COST
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.wire.delivery import written_batches
from penstock.wire.messages.k84_read_share_group_state import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)

BATCHES_MAX = 100_000
"""Of an answer, so many that it goes on growing no more: 2 MB."""


def read_share_group_state(
    broker: Broker, request: ReadShareGroupStateRequest, call: Call
) -> Outcome[ReadShareGroupStateResponse]:
    decide = Reading().decide
    return EachShare(broker, request, call, FORM, decide, may_be_late=True).outcome()


class Reading:
    """What one request has found so far."""

    def __init__(self) -> None:
        self._batches = 0

    def decide(self, part: PartitionData) -> Decide:
        def read(turn: Turn, share: Share) -> State:
            if self._batches > BATCHES_MAX:
                raise Refused(
                    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
                    "the shares before this one fill the answer; ask for this one again",
                )
            state = deciding.read(turn, share, part.leader_epoch)
            turn.spend(BATCH_COST * len(state.batches))
            self._batches += len(state.batches)
            return state

        return read


def _told(partition: int, state: State) -> PartitionResult:
    batches = written_batches(StateBatch, state.batches)
    return PartitionResult(partition, 0, None, state.state_epoch, state.start_offset, batches)


FORM = Form(ReadShareGroupStateResponse, ReadStateResult, PartitionResult, _told)
