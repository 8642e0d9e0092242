"""A member of the consumer protocol (KIP-848): the broker says what is its own, beat by beat."""

from __future__ import annotations

from penstock.sim.groups.asking import Out
from penstock.sim.groups.history import Found
from penstock.sim.groups.member import SESSION_MS, Member
from penstock.wire.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

HEARTBEAT_VERSION = 1
JOIN, LEAVE = 0, -1


class ConsumerMember(Member):
    _topic_id = b""

    async def beat(self) -> None:
        """All that there is to say is said each time: an answer may have been lost before."""
        if not self.id:
            self.id = self.client.random.randbytes(8).hex()
        self.epoch = max(self.epoch, JOIN)
        answer = await self._asked(self.epoch)
        self.judge(answer.error_code)
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            told = answer.assignment.topic_partitions
            self._topic_id = told[0].topic_id if told else self._topic_id
            self.own([index for each in told for index in each.partitions])

    async def find_places(self, partitions: list[int]) -> list[Found]:
        return await self.places(self.topic, partitions, self.id, self.epoch)

    async def leave(self) -> None:
        await self._asked(LEAVE)
        self.id = ""
        raise Out

    async def _asked(self, epoch: int) -> ConsumerGroupHeartbeatResponse:
        owned = [TopicPartitions(self._topic_id, sorted(self.terms))] if self.terms else []
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.id,
            member_epoch=epoch,
            rebalance_timeout_ms=SESSION_MS,
            subscribed_topic_names=[self.topic],
            topic_partitions=owned,
        )
        return await self.ask(request, HEARTBEAT_VERSION, ConsumerGroupHeartbeatResponse)
