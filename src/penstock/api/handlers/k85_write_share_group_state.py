"""WriteShareGroupState: what has changed in shares, from the leader of their partitions.

Asked by brokers. Version 1 says how many records from the start offset on are finished (KIP-1226).
What was written last counts, so what comes over a connection that its broker has given up is
dropped.
"""

from __future__ import annotations

from functools import partial

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.sharing.each_share import Decide, EachShare, Form
from penstock.coordination.share import deciding
from penstock.coordination.share.deciding import Written
from penstock.wire.delivery import read_batches
from penstock.wire.messages.k85_write_share_group_state import (
    PartitionData,
    PartitionResult,
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
    WriteStateResult,
)

FORM = Form(WriteShareGroupStateResponse, WriteStateResult, PartitionResult, PartitionResult)


def write_share_group_state(
    broker: Broker, request: WriteShareGroupStateRequest, call: Call
) -> Outcome[WriteShareGroupStateResponse]:
    return EachShare(broker, request, call, FORM, _decide, may_be_late=False).outcome()


def _decide(part: PartitionData) -> Decide:
    written = Written(
        part.state_epoch,
        part.leader_epoch,
        part.start_offset,
        part.delivery_complete_count,
        read_batches(part.state_batches),
    )
    return partial(deciding.write, written=written)
