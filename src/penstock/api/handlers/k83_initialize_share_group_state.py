"""InitializeShareGroupState: a share begins, or begins anew, at an offset. Asked by brokers."""

from __future__ import annotations

from functools import partial

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.sharing.each_share import Decide, EachShare, Form
from penstock.coordination.share import deciding
from penstock.wire.messages.k83_initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionData,
    PartitionResult,
)

FORM = Form(
    InitializeShareGroupStateResponse, InitializeStateResult, PartitionResult, PartitionResult
)


def initialize_share_group_state(
    broker: Broker, request: InitializeShareGroupStateRequest, call: Call
) -> Outcome[InitializeShareGroupStateResponse]:
    return EachShare(broker, request, call, FORM, _decide, may_be_late=False).outcome()


def _decide(part: PartitionData) -> Decide:
    return partial(
        deciding.initialize, state_epoch=part.state_epoch, start_offset=part.start_offset
    )
