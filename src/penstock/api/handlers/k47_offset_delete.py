"""OffsetDelete: a group forgets where it was in some partitions.

Not those of a topic that its members are subscribed to: they would begin anew without notice. A
partition that is not there is told so, as Kafka does, rather than that all is well. Where there are
many, everything else goes on meanwhile, and each turn sees the members that there are by then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.replies import once_committed
from penstock.api.slices import in_slices, written
from penstock.coordination.group.groups import Group
from penstock.coordination.group.offsets import forget, is_awaited
from penstock.coordination.group.protocols import check_may_forget
from penstock.coordination.group.readers import Readers
from penstock.coordination.pace import Pace
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.log.steps import Steps
from penstock.metadata.image import Image
from penstock.wire.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

OFFSETS_A_TURN = 1000
OFFSET_COST = 10
"""Of one that is forgotten, in names of topics."""

Place = tuple[str, int]


def offset_delete(
    broker: Broker, request: OffsetDeleteRequest, call: Call
) -> Outcome[OffsetDeleteResponse]:
    shard = broker.groups.shard(request.group_id)
    if shard.kept.get(request.group_id) is None:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, "there is no such group")
    deletion = _Deletion(broker, request)

    def then(topics: Any) -> Outcome[OffsetDeleteResponse]:
        rest = broker.groups.shard(request.group_id).rest(None)
        return once_committed([rest], OffsetDeleteResponse(topics=topics))

    return in_slices(broker, deletion.carry_out(call.version), then)


class _Deletion:
    def __init__(self, broker: Broker, request: OffsetDeleteRequest) -> None:
        self._broker = broker
        self._name = request.group_id
        self._codes: dict[str, dict[int, ErrorCode]] = {}
        """By topic and partition."""
        for topic in request.topics:
            partitions = self._codes.setdefault(topic.name, {})
            partitions.update((part.partition_index, ErrorCode.NONE) for part in topic.partitions)
        self._pace = Pace()
        self._readers = Readers(self._codes, self._pace)

    def carry_out(self, version: int) -> Steps[Any]:
        places = ((topic, index) for topic, parts in self._codes.items() for index in parts)
        is_first = True
        while some := list(islice(places, OFFSETS_A_TURN)):
            try:
                yield from self._take_turn(some)
            except Refused as refused:
                if is_first:
                    raise
                for topic, index in some:
                    self._codes[topic][index] = refused.code
            is_first = False
            if self._pace.is_spent(OFFSET_COST * len(some)):
                yield None
        return (yield from written(version, self._answers()))

    def _take_turn(self, places: Collection[Place]) -> Steps[None]:
        """On the group as it is by then. It may have gone with the last of its offsets."""
        group = self._broker.groups.shard(self._name).kept.get(self._name)
        if group is not None:
            yield from self._readers.look(group)
        shard = self._broker.groups.shard(self._name)
        group = shard.kept.get(self._name)
        if group is not None:
            shard.take_away(group, lambda turn, group: self._forget(turn, group, places))
            return
        for topic, index in places:
            self._codes[topic][index] = _check(self._broker.image, topic, index, is_read=False)

    def _forget(self, turn: Turn, group: Group, places: Collection[Place]) -> None:
        check_may_forget(group)
        read = self._readers.may_be_read(group)
        for topic, index in places:
            code = _check(turn.image, topic, index, is_read=topic in read)
            self._codes[topic][index] = code
            is_known = index in group.offsets.get(topic, ()) or is_awaited(group, topic, index)
            if not code and is_known:
                forget(turn, group.name, topic, index)

    def _answers(self) -> Iterator[OffsetDeleteResponseTopic]:
        for topic, codes in self._codes.items():
            parts = [OffsetDeleteResponsePartition(*each) for each in codes.items()]
            yield OffsetDeleteResponseTopic(topic, parts)


def _check(image: Image, topic: str, index: int, *, is_read: bool) -> ErrorCode:
    known = image.readable.topic(topic)
    if known is None or known.partition(index) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if is_read else ErrorCode.NONE
