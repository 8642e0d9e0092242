"""Who looks after a simulated cluster: makes its topic, moves replicas, drains a broker.

What is asked may be lost, or refused for now; so it is asked until the store shows that it is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from penstock.errors import ErrorCode
from penstock.metadata.balancing import off_broker
from penstock.metadata.reassignment import is_moving, target
from penstock.sim.client import RETRY_S, SimClient, Unreached
from penstock.sim.cluster import Cluster
from penstock.sim.machine import Machine
from penstock.wire.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from penstock.wire.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from penstock.wire.messages.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)

CREATE_VERSION, ALTER_VERSION, REASSIGN_VERSION = 5, 1, 1
TOPIC, BROKER = 2, 4
SET = 0
LOOK_S = 0.05
AGAIN_S = 0.5
TIMEOUT_MS = 30_000

Plan = Mapping[tuple[str, int], Sequence[int]]


class Admin:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._client = SimClient(cluster, "admin")

    async def _done(self, work: Coroutine[Any, Any, bool]) -> bool:
        """Carried out on the loop of the admin's own process; False if nobody answered."""
        task = self._client.loop.create_task(work)
        while not task.done():
            await asyncio.sleep(LOOK_S)
        try:
            return task.result()
        except Unreached:
            return False

    async def create_topic(
        self, name: str, partitions: int, replication: int, configs: Mapping[str, str]
    ) -> None:
        settings = [CreatableTopicConfig(key, value) for key, value in configs.items()]
        topic = CreatableTopic(name, partitions, replication, configs=settings)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)

        async def ask() -> bool:
            answer = await self._client.ask_any(request, CREATE_VERSION, CreateTopicsResponse)
            done = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
            return answer.topics[0].error_code in done

        while not await self._done(ask()):
            await asyncio.sleep(RETRY_S)

    async def alter_topic(self, name: str, configs: Mapping[str, str]) -> None:
        settings = [AlterableConfig(key, SET, value) for key, value in configs.items()]
        resource = AlterConfigsResource(TOPIC, name, settings)
        while not await self._done(self._alter(resource)):
            await asyncio.sleep(RETRY_S)

    async def _alter(self, resource: AlterConfigsResource) -> bool:
        answer = await self._client.ask_any(
            IncrementalAlterConfigsRequest(resources=[resource]),
            ALTER_VERSION,
            IncrementalAlterConfigsResponse,
        )
        return answer.responses[0].error_code == ErrorCode.NONE

    async def move(self, plan: Plan) -> None:
        """Until every partition is where it is wanted."""
        while left := {at: wanted for at, wanted in plan.items() if not self._is_at(*at, wanted)}:
            await self._done(self._reassign(left))
            await asyncio.sleep(AGAIN_S)

    def _is_at(self, topic: str, index: int, wanted: Sequence[int]) -> bool:
        record = self._cluster.view.partitions(topic)[index]
        return record.replicas == tuple(wanted) and not is_moving(record)

    async def _reassign(self, plan: Plan) -> bool:
        topics: dict[str, ReassignableTopic] = {}
        for (name, index), wanted in plan.items():
            topic = topics.setdefault(name, ReassignableTopic(name, []))
            topic.partitions.append(ReassignablePartition(index, list(wanted)))
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=TIMEOUT_MS, topics=list(topics.values())
        )
        await self._client.ask_any(request, REASSIGN_VERSION, AlterPartitionReassignmentsResponse)
        return True

    async def drain(self, machine: Machine) -> None:
        """Until it holds nothing any more, as `penstock broker drain` does it."""
        while not await self._done(self._set_draining(machine)):
            await asyncio.sleep(RETRY_S)
        while self._held_by(machine):
            await self._done(self._reassign(self._plan_without(machine)))
            await asyncio.sleep(AGAIN_S)

    async def _set_draining(self, machine: Machine) -> bool:
        config = AlterableConfig("broker.draining", SET, "true")
        return await self._alter(AlterConfigsResource(BROKER, str(machine.node_id), [config]))

    def _held_by(self, machine: Machine) -> list[tuple[str, int]]:
        view = self._cluster.view
        return [
            (topic.name, index)
            for topic in view.topics()
            for index, record in enumerate(view.partitions(topic.name))
            if machine.node_id in record.replicas
        ]

    def _plan_without(self, machine: Machine) -> Plan:
        view = self._cluster.view
        targets = {
            (topic.name, index): target(record)
            for topic in view.topics()
            for index, record in enumerate(view.partitions(topic.name))
        }
        racks = {
            each.node_id: each.host for each in self._cluster.machines if view.is_registered(each)
        }
        plan = off_broker(targets, machine.node_id, racks)
        return {at: wanted for at, wanted in plan.items() if wanted is not None}
