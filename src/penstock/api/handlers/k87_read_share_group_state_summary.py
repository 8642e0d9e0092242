"""ReadShareGroupStateSummary: where shares begin, without what has become of each record.

Asked by brokers, for whoever wants to know how far a share group is. Version 1 says how many
records from the start offset on are finished (KIP-1226), and by a tagged field of ours from where
on nothing was said of any. The leader epoch that is asked with says nothing: whoever asks is no
leader.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.sharing.each_share import Decide, EachShare, Form
from penstock.coordination.share import deciding
from penstock.coordination.share.state import Summary
from penstock.wire.messages.k87_read_share_group_state_summary import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)


def read_share_group_state_summary(
    broker: Broker, request: ReadShareGroupStateSummaryRequest, call: Call
) -> Outcome[ReadShareGroupStateSummaryResponse]:
    return EachShare(broker, request, call, FORM, _decide, may_be_late=True).outcome()


def _decide(part: PartitionData) -> Decide:
    return deciding.summary


def _told(partition: int, state: Summary) -> PartitionResult:
    return PartitionResult(
        partition,
        0,
        None,
        state.state_epoch,
        state.leader_epoch,
        state.start_offset,
        state.complete_count,
        end_offset=state.end_offset,
    )


FORM = Form(ReadShareGroupStateSummaryResponse, ReadStateSummaryResult, PartitionResult, _told)
