"""What is true of a simulated cluster, as its store has it: what scripted faults wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.metadata.records import (
    CONTROLLER,
    ControllerRecord,
    PartitionRecord,
    TopicRecord,
    broker_key,
    decode,
    partition_key,
    topic_key,
)

if TYPE_CHECKING:
    from penstock.sim.cluster import Cluster
    from penstock.sim.machine import Machine

LOOK_S = 0.02
WAIT_S_MAX = 90.0


class View:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._state = cluster.store.state

    def topics(self) -> list[TopicRecord]:
        entries, _ = self._state.list(topic_key(""))
        return [decode(TopicRecord, entry.key, entry.value) for entry in entries]

    def partitions(self, name: str) -> list[PartitionRecord]:
        """None of them if there is no such topic yet."""
        for topic in self.topics():
            if topic.name == name:
                keys = [partition_key(topic.topic_id, at) for at in range(topic.partitions)]
                found = [self._state.get(key) for key in keys]
                return [decode(PartitionRecord, at.key, at.value) for at in found if at]
        return []

    def is_registered(self, machine: Machine) -> bool:
        return self._state.get(broker_key(machine.node_id)) is not None

    def controller(self) -> Machine | None:
        entry = self._state.get(CONTROLLER)
        if entry is None:
            return None
        return self._cluster.machine(decode(ControllerRecord, entry.key, entry.value).node_id)

    def leader(self, topic: str, index: int) -> Machine | None:
        records = self.partitions(topic)
        return self._cluster.machine(records[index].leader) if index < len(records) else None

    def is_in_sync(self, machine: Machine, topic: str) -> bool:
        return all(
            machine.node_id in record.isr
            for record in self.partitions(topic)
            if machine.node_id in record.replicas
        )

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """The run fails with `what` if it does not come to be."""
        scheduler = self._cluster.scheduler
        last_s = scheduler.now_s + WAIT_S_MAX
        while not holds():
            if scheduler.now_s > last_s:
                scheduler.fail(f"waited {WAIT_S_MAX} virtual seconds in vain for {what}")
            await asyncio.sleep(LOOK_S)
