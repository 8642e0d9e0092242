"""Groups of real consumers, in processes of their own, that come, leave and die under load.

What they have written down is checked at the end (tests/group_checks.py). GROUP_ROUNDS=20 goes
through the middle part that often.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.group_checks import (
    check_at_least_once,
    check_at_most_once,
    check_nothing_was_lost_to_the_lively,
    check_owners,
)
from tests.group_stage import CLASSIC, LIVELY, QUICK_BROKER, Stage
from tests.lanes import cases
from tests.scenarios.test_confluent import create

PARTITIONS = 6
ROUNDS = int(os.environ.get("GROUP_ROUNDS", "1"))
MakeStage = Callable[[BrokerProcess, str], Stage]


@dataclass(frozen=True)
class Kind:
    client: str
    options: dict[str, Any] = field(default_factory=dict)


def librdkafka(assignor: str) -> Kind:
    return Kind("confluent", {**CLASSIC, "partition.assignment.strategy": assignor})


def kafka_python(assignor: str) -> Kind:
    return Kind("kafka_python", {**LIVELY, "assignor": assignor})


def aiokafka(assignor: str) -> Kind:
    return Kind("aiokafka", {**LIVELY, "assignor": assignor})


KINDS = {
    "confluent-range": [librdkafka("range")],
    "confluent-roundrobin": [librdkafka("roundrobin")],
    "confluent-cooperative": [librdkafka("cooperative-sticky")],
    "confluent-consumer": [Kind("confluent", {"group.protocol": "consumer"})],
    "kafka-python-sticky": [kafka_python("sticky")],
    "kafka-python-cooperative": [kafka_python("cooperative-sticky")],
    "aiokafka-sticky": [aiokafka("sticky")],
    "mixed-range": [librdkafka("range"), aiokafka("range"), kafka_python("range")],
}
"""Of which kinds the workers are, in turn."""


def kinds(*names: str, in_test: Sequence[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("workers", cases(names or KINDS, in_test, KINDS))


class Company:
    """A stage, workers for it, and a topic that messages flow into."""

    def __init__(self, stage: Stage, broker: BrokerProcess, topic: str, kinds: list[Kind]) -> None:
        self.stage, self.broker, self.topic, self.kinds = stage, broker, topic, kinds
        self.places = [(topic, number) for number in range(PARTITIONS)]
        self.commits_first = False
        self._hired = 0
        create(broker, topic, partitions=PARTITIONS)

    def hire(self) -> str:
        name = f"w{self._hired}"
        kind = self.kinds[self._hired % len(self.kinds)]
        self._hired += 1
        self.stage.start(
            name, kind.client, [self.topic], kind.options, commits_first=self.commits_first
        )
        return name

    def settle(self) -> None:
        self.stage.wait_until_shared(self.places)

    def work(self, name: str) -> None:
        """Until it has processed some more."""
        worker = self.stage.workers[name]
        before = worker.count("processed")
        self.stage.wait_until(
            lambda: worker.count("processed") > before + 20, f"{name} processes messages"
        )

    def go_home(self) -> None:
        for each in self.stage.running:
            each.leave()
        self.stage.follow()


def play(company: Company, *, broker_dies: bool = False) -> None:
    """Joins, a kill, a join in its wake, and a leave; each once the last has settled."""
    first = company.hire()
    company.work(first)
    for _ in range(ROUNDS):
        second, third = company.hire(), company.hire()
        company.settle()
        company.work(second)
        company.stage.workers[second].kill()
        fourth = company.hire()
        if broker_dies:
            company.stage.wait_until_known(fourth)
            company.broker.kill()
            company.broker.start()
        company.settle()
        company.work(fourth)
        company.stage.workers[third].leave()
        company.settle()
        company.work(fourth)
        company.stage.workers[fourth].leave()


@pytest.mark.timeout(120 * ROUNDS)
@kinds(in_test=["confluent-consumer", "confluent-cooperative", "mixed-range"])
def test_every_message_is_processed_by_the_one_owner_of_its_partition(
    quick_broker: BrokerProcess, stage: MakeStage, topic: str, workers: list[Kind]
) -> None:
    company = Company(stage(quick_broker, f"group-{topic}"), quick_broker, topic, workers)
    flow = company.stage.send({topic: PARTITIONS})
    play(company)
    flow.finish()
    company.stage.wait_until_processed(flow.acked)
    company.go_home()
    run = company.stage.result()
    check_owners(run)
    check_nothing_was_lost_to_the_lively(run)
    check_at_least_once(run, flow.acked)


@pytest.mark.timeout(120 * ROUNDS)
@kinds(
    "confluent-range",
    "confluent-cooperative",
    "confluent-consumer",
    "kafka-python-sticky",
    "aiokafka-sticky",
    in_test=["confluent-consumer", "kafka-python-sticky"],
)
def test_a_broker_that_is_killed_in_a_rebalance_knows_the_group_again(
    own_broker: Callable[..., BrokerProcess], stage: MakeStage, topic: str, workers: list[Kind]
) -> None:
    running = own_broker(*QUICK_BROKER).start()
    company = Company(stage(running, f"group-{topic}"), running, topic, workers)
    flow = company.stage.send({topic: PARTITIONS})
    play(company, broker_dies=True)
    flow.finish()
    company.stage.wait_until_processed(flow.acked)
    company.go_home()
    run = company.stage.result()
    check_owners(run)
    check_nothing_was_lost_to_the_lively(run)
    check_at_least_once(run, flow.acked, broker_killed=True)
    assert "Traceback" not in running.log


@pytest.mark.timeout(120 * ROUNDS)
@kinds(
    "confluent-range",
    "confluent-consumer",
    "kafka-python-cooperative",
    "aiokafka-sticky",
    in_test=["aiokafka-sticky"],
)
def test_what_is_committed_before_it_is_processed_is_never_processed_twice(
    quick_broker: BrokerProcess, stage: MakeStage, topic: str, workers: list[Kind]
) -> None:
    company = Company(stage(quick_broker, f"group-{topic}"), quick_broker, topic, workers)
    company.commits_first = True
    flow = company.stage.send({topic: PARTITIONS})
    play(company)
    flow.finish()
    company.stage.wait_until_committed(flow.acked)
    company.go_home()
    run = company.stage.result()
    check_owners(run)
    check_at_most_once(run, flow.acked)
