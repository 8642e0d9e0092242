"""A broker that leads a partition of a shared topic: it reads the share and stores one value after
the other, for as long as its process lives and believes that it leads."""

from __future__ import annotations

import asyncio
from random import Random

from penstock.api.sharing.states import UNCERTAIN
from penstock.coordination.share.deciding import Written
from penstock.coordination.share.names import ShareKey
from penstock.coordination.share.state import State
from penstock.errors import ErrorCode, Refused
from penstock.node.node import Node
from penstock.sim.shares.history import NOTHING, ShareHistory, Value
from penstock.sim.workload import TOPIC
from penstock.wire.delivery import Delivery, StateBatch

GROUP = "workers"
PAUSE_S = (0.001, 0.2)
RETRY_S = 0.1


class ShareLeader:
    def __init__(
        self, node: Node, history: ShareHistory, share: int, random: Random, *, goes_on: bool = True
    ) -> None:
        """Unless it goes on, it is over once it has read."""
        self._node, self._history, self._share, self._random = node, history, share, random
        self._goes_on = goes_on
        self.is_stopping = False
        self.has_read = False

    async def run(self) -> None:
        while not self.is_stopping and (self._goes_on or not self.has_read):
            epoch = self._epoch()
            if epoch is not None:
                await self._lead(epoch)
            await asyncio.sleep(RETRY_S)

    def _epoch(self) -> int | None:
        topic = self._node.image.topic(TOPIC)
        record = topic.partition(self._share) if topic is not None else None
        if record is None or record.leader != self._node.broker.node_id:
            return None
        return record.leader_epoch

    @property
    def _key(self) -> ShareKey:
        return ShareKey(GROUP, self._node.image.topics[TOPIC].id, self._share)

    async def _lead(self, epoch: int) -> None:
        """Until another one does, or something has to be read again."""
        goes_on = await self._read(epoch) and self._goes_on
        while goes_on and not self.is_stopping and self._epoch() == epoch:
            goes_on = await self._write(epoch)
            await asyncio.sleep(self._random.uniform(*PAUSE_S))

    async def _read(self, epoch: int) -> bool:
        states, step = self._node.broker.share_states, self._history.reads(self._share, epoch)
        try:
            await states.initialize(self._key, 0, 0)
            state = await states.read(self._key, epoch)
        except Refused as refused:
            self._check(refused)
            return False
        step.value = _value(state)
        self._history.ends(step)
        self.has_read = True
        return True

    async def _write(self, epoch: int) -> bool:
        """What nobody knows of is followed by the next, as a leader does it. What was refused was
        not done, and is read again."""
        step = self._history.writes(self._share, epoch)
        try:
            await self._node.broker.share_states.write(self._key, _written(step.value))
        except Refused as refused:
            self._check(refused)
            return refused.code in UNCERTAIN
        self._history.ends(step)
        return True

    def _check(self, refused: Refused) -> None:
        if refused.code not in UNCERTAIN and refused.code is not ErrorCode.FENCED_LEADER_EPOCH:
            self._history.problems.append(f"share {self._share}: {refused.code.name}: {refused}")


def _written(value: Value) -> Written:
    batches = [
        StateBatch(0, 0, Delivery.AVAILABLE, value.epoch),
        StateBatch(1, 1, Delivery.AVAILABLE, value.number),
    ]
    return Written(0, value.epoch, 0, 0, batches)


def _value(state: State) -> Value:
    """The two stretches are one where their counts are the same."""
    counts = {
        offset: batch.deliveries
        for batch in state.batches
        for offset in range(batch.first, batch.last + 1)
    }
    return Value(counts[0], counts[1]) if counts else NOTHING
