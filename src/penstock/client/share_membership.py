"""Being a member of a share group, as its coordinator sees it: joined, alive, gone.

The coordinator says by heartbeats which partitions are ours. A member that it has forgotten joins
again, under the same id.
"""

from __future__ import annotations

import base64
import uuid

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError, refused
from penstock.client.groups import coordinator_of
from penstock.client.share_held import Place
from penstock.errors import ErrorCode
from penstock.wire.messages.k76_share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

JOINING, LEAVING = 0, -1
_FORGOTTEN = frozenset(
    {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND}
)
"""The last one is for good if it is said of one that joins: then the group is of another kind."""


class Membership:
    def __init__(self, client: WireClient, group: str, topic: str) -> None:
        self.member_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        self.assigned: frozenset[Place] = frozenset()
        self.interval_s = 5.0
        self._client = client
        self._group = group
        self._topic = topic
        self._epoch = JOINING
        self._coordinator: int | None = None

    def beat(self, deadline: float) -> bool:
        """Whether what is ours has changed. Raises ClientError; then the coordinator is looked for
        again."""
        try:
            answer = self._ask(self._epoch, deadline)
            if answer.error_code in _FORGOTTEN and self._epoch != JOINING:
                self._epoch = JOINING
                answer = self._ask(self._epoch, deadline)
            self._check(answer)
        except ClientError:
            self._coordinator = None
            raise
        self._epoch = answer.member_epoch
        self.interval_s = answer.heartbeat_interval_ms / 1000
        if answer.assignment is None:
            return False
        before, self.assigned = self.assigned, _places(answer)
        return self.assigned != before

    def leave(self, deadline: float) -> None:
        if self._epoch == JOINING:
            return
        self._check(self._ask(LEAVING, deadline))
        self._epoch = JOINING

    def _ask(self, epoch: int, deadline: float) -> ShareGroupHeartbeatResponse:
        client = self._client
        is_new = self._coordinator is None or epoch == JOINING
        if self._coordinator is None:
            self._coordinator = coordinator_of(client, self._group, deadline)
        request = ShareGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self.member_id,
            member_epoch=epoch,
            subscribed_topic_names=[self._topic] if is_new and epoch != LEAVING else None,
        )
        return client.ask_node(self._coordinator, request, ShareGroupHeartbeatResponse, deadline)

    def _check(self, answer: ShareGroupHeartbeatResponse) -> None:
        if not answer.error_code:
            return
        raise refused(f"share group {self._group}", answer.error_code, answer.error_message)


def _places(answer: ShareGroupHeartbeatResponse) -> frozenset[Place]:
    assert answer.assignment is not None
    return frozenset(
        (topic.topic_id, index)
        for topic in answer.assignment.topic_partitions
        for index in topic.partitions
    )
