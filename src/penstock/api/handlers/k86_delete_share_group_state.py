"""DeleteShareGroupState: shares are forgotten. Asked by brokers."""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.sharing.each_share import Decide, EachShare, Form
from penstock.coordination.share import deciding
from penstock.wire.messages.k86_delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionData,
    PartitionResult,
)

FORM = Form(DeleteShareGroupStateResponse, DeleteStateResult, PartitionResult, PartitionResult)


def delete_share_group_state(
    broker: Broker, request: DeleteShareGroupStateRequest, call: Call
) -> Outcome[DeleteShareGroupStateResponse]:
    return EachShare(broker, request, call, FORM, _decide, may_be_late=False).outcome()


def _decide(part: PartitionData) -> Decide:
    return deciding.delete
