"""ShareAcknowledge: what a member says of the records that it was given, without asking for more.

With the final epoch its session is over, and what it has not spoken of is given to others. Version
2 brought renewals, and tells how long these last.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.sharing.acknowledging import Said, acknowledge, check_member, once_stored
from penstock.api.sharing.leaders import led_by
from penstock.sharing.sessions import FINAL, Asked
from penstock.wire.messages.k79_share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)


def share_acknowledge(
    broker: Broker, request: ShareAcknowledgeRequest, call: Call
) -> Outcome[ShareAcknowledgeResponse]:
    who = check_member(broker, request.group_id, request.member_id)
    session = broker.shared.sessions.acknowledge(Asked(who, request.share_session_epoch))
    said = [
        acknowledge(broker, who, (topic.topic_id, each.partition_index), batches)
        for topic in request.topics
        for each in topic.partitions
        if (batches := each.acknowledgement_batches)
    ]

    def end() -> None:
        if request.share_session_epoch == FINAL:
            broker.shared.release(session, were_delivered=False)

    def then() -> ShareAcknowledgeResponse:
        end()
        return _answer(broker, who[0], said)

    end()  # at once, as nobody does if the connection is lost; then what could not be stored
    return once_stored(said, then)


def _answer(broker: Broker, group: str, said: Sequence[Said]) -> ShareAcknowledgeResponse:
    config = broker.image.settings.of_group(group)
    answer = ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=config.share_record_lock_duration_ms
    )
    for each in said:
        topic_id, index = each.place
        led = led_by(broker, each.place, each.problem)
        data = PartitionData(index, current_leader=LeaderIdAndEpoch(led.node_id, led.epoch))
        if (problem := each.problem) is not None:
            data.error_code, data.error_message = problem.code, problem.message
        if led.endpoint is not None:
            answer.node_endpoints.append(NodeEndpoint(*led.endpoint))
        topics = answer.responses
        if not topics or topics[-1].topic_id != topic_id:
            topics.append(ShareAcknowledgeTopicResponse(topic_id, []))
        topics[-1].partitions.append(data)
    return answer
