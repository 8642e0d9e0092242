"""One run: a cluster, clients and a scenario, played from a seed, and judged."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from penstock.sim.checker import check
from penstock.sim.client import SimClient
from penstock.sim.cluster import Cluster
from penstock.sim.history import History
from penstock.sim.listening import listening
from penstock.sim.producer import SimProducer
from penstock.sim.reader import SimReader
from penstock.sim.scenarios import LEASE_MS, SCENARIOS, Scenario
from penstock.sim.scheduler import Failed, Scheduler
from penstock.sim.trace import Trace

TOPIC = "orders"
PARTITIONS = 3
PRODUCERS = 2
REPLICAS_MAX = 3
LIMIT_S = 300.0
"""Of virtual time: what has not come to its end by then never will."""
LOOK_S = 0.05
SETTLE_S = 10.0
"""Between the last send and the last reads: a new leader learns in time what is committed."""
LAST_READERS = 2
TOPIC_CONFIGS = {"segment.bytes": "8192", "index.interval.bytes": "512"}
TEXTS = {
    "broker.session.timeout.ms": str(LEASE_MS),
    "log.flush.offset.checkpoint.interval.ms": "1500",
    "log.retention.check.interval.ms": "5000",
}


@dataclass(frozen=True, slots=True)
class Result:
    seed: int
    findings: tuple[str, ...]
    sent: int
    callbacks: int
    virtual_s: float
    cpu_s: float


def play(scenario: str, seed: int, trace: Trace | None = None, *, brokers: int = 1) -> Result:
    """Findings are empty if all went as it must."""
    begun_s = time.process_time()
    was_collecting = gc.isenabled()
    gc.disable()  # nothing of a killed process may be taken apart while others run
    try:
        scheduler = Scheduler(seed, trace)
        history = History()
        findings = _played(scheduler, history, SCENARIOS[scenario], brokers)
    finally:
        if was_collecting:
            gc.enable()
    cpu_s = time.process_time() - begun_s
    sent = len(history.sends)
    return Result(seed, findings, sent, scheduler.callbacks, scheduler.now_s, cpu_s)


def _played(
    scheduler: Scheduler, history: History, scenario: Scenario, brokers: int
) -> tuple[str, ...]:
    cluster = Cluster(
        scheduler,
        brokers,
        {**TEXTS, **scenario.texts},
        has_data_folders=scenario.has_data_folders,
    )
    cluster.may_exit = scenario.may_exit
    with listening(scheduler), closing(cluster):
        whole = cluster.director.create_task(_play(cluster, history, scenario))
        try:
            scheduler.run(whole.done, LIMIT_S)
            whole.result()
        except Failed as failed:
            return (str(failed), *check(history))
        gc.collect()  # tells of tasks that failed and that nobody has asked
        return (*scheduler.failures, *check(history))


async def _play(cluster: Cluster, history: History, scenario: Scenario) -> None:
    cluster.start()
    await _make_topic(cluster)
    producers = [
        SimProducer(SimClient(cluster, f"producer {number}"), history, TOPIC, PARTITIONS)
        for number in range(PRODUCERS)
    ]
    reader = SimReader(SimClient(cluster, "reader"), history, TOPIC, PARTITIONS)
    await scenario.faults(cluster, cluster.scheduler.chance("faults"))
    cluster.heal()
    for producer in producers:
        producer.stop()
    await _end_of(producers)
    await asyncio.sleep(SETTLE_S)
    reader.stop()
    await _end_of([reader])
    await _read_all(cluster, history)


async def _make_topic(cluster: Cluster) -> None:
    admin = SimClient(cluster, "admin")
    replicas = min(len(cluster.machines), REPLICAS_MAX)
    making = admin.create_topic(TOPIC, PARTITIONS, replicas, TOPIC_CONFIGS)
    made = admin.loop.create_task(making)
    while not made.done():
        await asyncio.sleep(LOOK_S)
    made.result()


async def _read_all(cluster: Cluster, history: History) -> None:
    """By clients that have seen nothing yet."""
    clients = [SimClient(cluster, f"last reader {number}") for number in range(LAST_READERS)]
    readers = [SimReader(each, history, TOPIC, PARTITIONS, to_the_end=True) for each in clients]
    await _end_of(readers)


async def _end_of(clients: Sequence[SimProducer | SimReader]) -> None:
    """Of what they had to do, in processes of their own."""
    for client in clients:
        while not client.is_done:
            await asyncio.sleep(LOOK_S)
        for task in client.tasks:
            task.result()
