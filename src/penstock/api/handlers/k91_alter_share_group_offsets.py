"""AlterShareGroupOffsets: a share group without members is to begin at other offsets.

Its shares begin anew with the next state epoch, so what a leader still has in memory is not stored
any more. Each partition is answered by itself. Topics that the group has not read are its own from
then on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome, Resume
from penstock.api.replies import once_committed
from penstock.api.sharing.groups import check_empty, is_deleting, share_group, shareable_topic
from penstock.api.slices import SLICE_ELEMENTS, in_slices
from penstock.coordination.group.groups import Group
from penstock.coordination.group.share import shares
from penstock.coordination.share.names import ShareKey
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.metadata.cluster import Topic
from penstock.wire.messages.k91_alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)

Place = tuple[str, int]


def alter_share_group_offsets(
    broker: Broker, request: AlterShareGroupOffsetsRequest, call: Call
) -> Outcome[AlterShareGroupOffsetsResponse]:
    _, group = share_group(broker, request.group_id)
    check_empty(group)
    altering = Altering(broker, request)
    return in_slices(broker, altering.look(group), altering.set)


@dataclass(slots=True)
class Altering:
    broker: Broker
    request: AlterShareGroupOffsetsRequest
    topics: dict[str, Topic] = field(default_factory=dict)
    offsets: dict[ShareKey, int] = field(default_factory=dict)
    came: dict[Place, Refused | None] = field(default_factory=dict)

    def look(self, group: Group) -> Steps[None]:
        """What can be done."""
        for topic in self.request.topics:
            for part in topic.partitions:
                place = topic.topic_name, part.partition_index
                self.came[place] = self._look_at(group, topic.topic_name, part)
                if len(self.came) % SLICE_ELEMENTS == 0:
                    yield None

    def _look_at(
        self, group: Group, name: str, part: AlterShareGroupOffsetsRequestPartition
    ) -> Refused | None:
        try:
            topic = self._topic(group, name)
            _check(topic, part)
        except Refused as refused:
            return refused
        self.offsets[ShareKey(group.name, topic.id, part.partition_index)] = part.start_offset
        return None

    def set(self, _: None) -> Outcome[AlterShareGroupOffsetsResponse]:
        return Resume(partial(self.broker.share_admin.set_to, self.offsets), self.note)

    def _topic(self, group: Group, name: str) -> Topic:
        topic = self.topics.get(name)
        if topic is None:
            topic = shareable_topic(self.broker.image, name)
            if is_deleting(group, topic.id):
                raise Refused(
                    ErrorCode.COORDINATOR_NOT_AVAILABLE,
                    f"what group {group.name} has in {name} is being deleted; try again",
                )
            self.topics[name] = topic
        return topic

    def note(
        self, came: Mapping[ShareKey, Refused | None]
    ) -> Outcome[AlterShareGroupOffsetsResponse]:
        """The group has these shares now, whoever may have joined it meanwhile."""
        names = {topic.id: name for name, topic in self.topics.items()}
        done: dict[bytes, set[int]] = {}
        for key, refused in came.items():
            self.came[names[key.topic_id], key.partition] = refused
            if refused is None:
                done.setdefault(key.topic_id, set()).add(key.partition)
        initialized = {topic_id: frozenset(parts) for topic_id, parts in done.items()}
        shard, group = share_group(self.broker, self.request.group_id)

        def decide(turn: Turn, group: Group) -> bool:
            shares.initialized(turn, group, initialized, names)
            return True

        _, rest = shard.decide_part(group.name, decide)
        return once_committed([rest], self._answer())

    def _answer(self) -> AlterShareGroupOffsetsResponse:
        return AlterShareGroupOffsetsResponse(
            responses=[
                AlterShareGroupOffsetsResponseTopic(
                    topic.topic_name,
                    self._shown_id(topic.topic_name),
                    [self._part(topic.topic_name, part) for part in topic.partitions],
                )
                for topic in self.request.topics
            ]
        )

    def _part(self, topic: str, part: Any) -> AlterShareGroupOffsetsResponsePartition:
        refused = self.came[topic, part.partition_index]
        if refused is None:
            return AlterShareGroupOffsetsResponsePartition(part.partition_index)
        return AlterShareGroupOffsetsResponsePartition(
            part.partition_index, refused.code, refused.message
        )

    def _shown_id(self, name: str) -> bytes:
        return self.topics[name].shown_id if name in self.topics else bytes(16)


def _check(topic: Topic, part: AlterShareGroupOffsetsRequestPartition) -> None:
    if topic.partition(part.partition_index) is None:
        raise Refused(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"{topic.name} has {topic.record.partitions} partitions, so there is no "
            f"{part.partition_index}",
        )
    if part.start_offset < 0:
        raise Refused(ErrorCode.INVALID_REQUEST, "a group begins at an offset from 0 on")
