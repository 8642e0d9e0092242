"""One run: a cluster, clients and a scenario, played from a seed, and judged."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from penstock.sim.admin import Admin
from penstock.sim.checker import check
from penstock.sim.client import SimClient
from penstock.sim.cluster import Cluster
from penstock.sim.delays.checker import check as check_delays
from penstock.sim.delays.stage import play_delays
from penstock.sim.groups.checker import check as check_group
from penstock.sim.groups.group import KINDS, SimGroup
from penstock.sim.groups.member import Member
from penstock.sim.groups.onlooker import Onlooker
from penstock.sim.history import History
from penstock.sim.listening import listening
from penstock.sim.pending import pending
from penstock.sim.producer import SimProducer
from penstock.sim.reader import SimReader
from penstock.sim.scenarios import SCENARIOS, Scenario
from penstock.sim.scheduler import Endless, Failed, Scheduler
from penstock.sim.shares.checker import check as check_shares
from penstock.sim.shares.stage import play_shares
from penstock.sim.trace import Trace
from penstock.sim.transactions.checker import check as check_transactions
from penstock.sim.transactions.stage import play_transactions
from penstock.sim.watchdog import Stuck, watched
from penstock.sim.workload import (
    LAST_READERS,
    PARTITIONS,
    PRODUCERS,
    REPLICAS_MAX,
    TEXTS,
    TOPIC,
    TOPIC_CONFIGS,
)

LIMIT_S = 300.0
"""Of virtual time: what has not come to its end by then never will."""
CPU_S_MAX = 120.0
LOOK_S = 0.05
STEPS_OF_A_START = 40
"""Changes to the disk that a broker makes about as many of before it has its folder in order."""


@dataclass(frozen=True, slots=True)
class Result:
    seed: int
    findings: tuple[str, ...]
    sent: int
    commits: int
    transactions: int
    shares: int
    """Values that were stored in them."""
    callbacks: int
    virtual_s: float
    cpu_s: float


def play(scenario: str, seed: int, trace: Trace | None = None, *, brokers: int = 1) -> Result:
    """Findings are empty if all went as it must. It always comes to an end."""
    begun_s = time.process_time()
    was_collecting = gc.isenabled()
    gc.disable()  # nothing of a killed process may be taken apart while others run
    scheduler, history = Scheduler(seed, trace), History()
    try:
        with watched(CPU_S_MAX):
            findings = _played(scheduler, history, SCENARIOS[scenario], brokers)
    except Stuck as stuck:
        findings = (str(stuck),)
    finally:
        if was_collecting:
            gc.enable()
    return Result(
        seed,
        findings,
        len(history.sends) + len(history.delays.sends),
        len(history.group.commits),
        len(history.transactions.transactions) + len(history.delays.transactions.transactions),
        sum(step.ended is not None and not step.is_read for step in history.shares.steps),
        scheduler.callbacks,
        scheduler.now_s,
        time.process_time() - begun_s,
    )


def _played(
    scheduler: Scheduler, history: History, scenario: Scenario, brokers: int
) -> tuple[str, ...]:
    cluster = Cluster(
        scheduler,
        max(brokers, scenario.brokers_min),
        {**TEXTS, **scenario.texts},
        has_data_folders=scenario.has_data_folders,
    )
    cluster.may_exit = scenario.may_exit
    with listening(scheduler), closing(cluster):
        whole = cluster.director.create_task(_play(cluster, history, scenario))
        try:
            scheduler.run(whole.done, LIMIT_S)
            whole.result()
        except Endless as endless:
            return (str(endless), *pending(cluster.loops), *_check(history))
        except Failed as failed:
            return (str(failed), *_check(history))
        gc.collect()  # tells of tasks that failed and that nobody has asked
        return (*scheduler.failures, *_check(history))


def _check(history: History) -> list[str]:
    return [
        *check(history),
        *check_group(history.group),
        *check_transactions(history.transactions),
        *check_shares(history.shares),
        *check_delays(history.delays),
    ]


async def _play(cluster: Cluster, history: History, scenario: Scenario) -> None:
    cluster.start()
    if scenario.interrupts_starts:
        _interrupt_starts(cluster)
    if scenario.delays is not None:
        await play_delays(cluster, history.delays, scenario.faults, scenario.delays)
        return
    if scenario.habits is not None:
        await play_transactions(cluster, history.transactions, scenario.habits, scenario.faults)
        return
    if scenario.has_shares:
        await play_shares(cluster, history.shares, scenario.faults)
        return
    replicas = min(len(cluster.machines), REPLICAS_MAX)
    await Admin(cluster).create_topic(TOPIC, PARTITIONS, replicas, TOPIC_CONFIGS)
    producers = [
        SimProducer(SimClient(cluster, f"producer {number}"), history, TOPIC, PARTITIONS)
        for number in range(PRODUCERS)
    ]
    reader = SimReader(
        SimClient(cluster, "reader"), history, TOPIC, PARTITIONS, may_be_damaged=scenario.damages
    )
    kind = cluster.scheduler.chance("group").choice(KINDS)
    group = SimGroup(cluster, history.group, kind, TOPIC, PARTITIONS)
    await scenario.faults(cluster, cluster.scheduler.chance("faults"))
    cluster.heal()
    group.calm_down()
    for producer in producers:
        producer.stop()
    await _end_of(producers)
    await _settle(group)
    reader.stop()
    await _end_of([reader])
    await _read_all(cluster, history, scenario)


def _interrupt_starts(cluster: Cluster) -> None:
    random = cluster.scheduler.chance("starts")
    for machine in cluster.machines:
        machine.end_in_the_middle(random.randint(0, STEPS_OF_A_START), power=True)


async def _settle(group: SimGroup) -> None:
    while not group.is_settled():
        await asyncio.sleep(LOOK_S)
    for member in group.members:
        member.stop()
    await _end_of(group.members)
    await _end_of([group.last_look()])


async def _read_all(cluster: Cluster, history: History, scenario: Scenario) -> None:
    """By clients that have seen nothing yet."""
    readers = [
        SimReader(
            SimClient(cluster, f"last reader {number}"),
            history,
            TOPIC,
            PARTITIONS,
            to_the_end=True,
            may_be_damaged=scenario.damages,
        )
        for number in range(LAST_READERS)
    ]
    await _end_of(readers)


async def _end_of(clients: Sequence[SimProducer | SimReader | Member | Onlooker]) -> None:
    """Of what they had to do, in processes of their own."""
    for client in clients:
        while not client.is_done:
            await asyncio.sleep(LOOK_S)
        for task in client.tasks:
            task.result()
