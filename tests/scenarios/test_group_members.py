"""Who has what in a group, when members, partitions and topics come and go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.group_checks import check_at_least_once, check_owners
from tests.group_journal import Place
from tests.group_process import WorkerProcess
from tests.group_stage import CLASSIC, SESSION_MS, Stage, administer, rdkafka
from tests.scenarios.test_confluent import create

MakeStage = Callable[[BrokerProcess, str], Stage]
Options = dict[str, Any]

RANGE: Options = {**CLASSIC, "partition.assignment.strategy": "range"}
COOPERATIVE: Options = {**CLASSIC, "partition.assignment.strategy": "cooperative-sticky"}
CONSUMER: Options = {"group.protocol": "consumer"}
UNAWARE = {"topic.metadata.refresh.interval.ms": 600_000}
"""A client that does not look by itself whether topics have changed."""
UNHURRIED_MS = 10 * SESSION_MS

protocols = pytest.mark.parametrize(
    "options", [RANGE, COOPERATIVE, CONSUMER], ids=["range", "cooperative", "consumer"]
)


def places(**topics: int) -> list[Place]:
    return [(topic, number) for topic, count in topics.items() for number in range(count)]


def group_of(make: MakeStage, broker: BrokerProcess, topic: str) -> Stage:
    return make(broker, f"group-{topic}")


def work(stage: Stage, name: str, topics: list[str], options: Options) -> WorkerProcess:
    return stage.start(name, "confluent", topics, options)


@protocols
def test_a_consumer_without_partitions_takes_over_when_another_leaves(
    quick_broker: BrokerProcess, stage: MakeStage, topic: str, options: Options
) -> None:
    group = group_of(stage, quick_broker, topic)
    create(quick_broker, topic, partitions=2)
    for name in ("a", "b", "c"):
        work(group, name, [topic], options)
    for name in ("a", "b", "c"):
        group.wait_until_known(name)
    group.wait_until_shared(places(**{topic: 2}), idle=1)
    next(each for each in group.running if each.owned).leave()
    group.wait_until_shared(places(**{topic: 2}))
    check_owners(group.result())


@protocols
def test_a_group_shares_all_the_topics_it_subscribes_to(
    quick_broker: BrokerProcess, stage: MakeStage, topic: str, options: Options
) -> None:
    group = group_of(stage, quick_broker, topic)
    topics = {f"{topic}-one": 3, f"{topic}-two": 1, f"{topic}-three": 2}
    for name, count in topics.items():
        create(quick_broker, name, partitions=count)
    flow = group.send(topics)
    for name in ("a", "b"):
        work(group, name, list(topics), options)
    group.wait_until_shared(places(**topics))
    flow.finish()
    group.wait_until_processed(flow.acked)
    check_owners(group.result())
    check_at_least_once(group.result(), flow.acked)


@protocols
def test_partitions_that_are_added_are_consumed_though_no_client_looks_for_them(
    quick_broker: BrokerProcess, stage: MakeStage, topic: str, options: Options
) -> None:
    group = group_of(stage, quick_broker, topic)
    create(quick_broker, topic, partitions=2)
    for name in ("a", "b"):
        work(group, name, [topic], {**options, **UNAWARE})
    group.wait_until_shared(places(**{topic: 2}))
    more = rdkafka.NewPartitions(topic, 4)
    administer(quick_broker.address, lambda admin: admin.create_partitions([more]))
    flow = group.send({topic: 4})
    group.wait_until_shared(places(**{topic: 4}))
    flow.finish()
    group.wait_until_processed(flow.acked)
    check_owners(group.result())


# Not with cooperative-sticky: librdkafka leaves partitions of unknown topics with who has them.
@pytest.mark.parametrize("options", [RANGE, CONSUMER], ids=["range", "consumer"])
def test_the_partitions_of_a_deleted_topic_are_taken_away_and_the_rest_goes_on(
    quick_broker: BrokerProcess, stage: MakeStage, topic: str, options: Options
) -> None:
    group = group_of(stage, quick_broker, topic)
    topics = {topic: 2, f"{topic}-doomed": 2}
    for name, count in topics.items():
        create(quick_broker, name, partitions=count)
    for name in ("a", "b"):
        work(group, name, list(topics), {**options, **UNAWARE})
    group.wait_until_shared(places(**topics))
    administer(quick_broker.address, lambda admin: admin.delete_topics([f"{topic}-doomed"]))
    group.wait_until_shared(places(**{topic: 2}))
    flow = group.send({topic: 2})
    group.wait_until(lambda: len(flow.acked) > 20, "some messages are sent")
    flow.finish()
    group.wait_until_processed(flow.acked)
    check_owners(group.result())


def unhurried(broker: BrokerProcess, group: str, options: Options) -> Options:
    """With a session timeout that a restart of a consumer does not come near to."""
    if options is not CONSUMER:
        return {**options, "session.timeout.ms": UNHURRIED_MS}
    wanted = rdkafka.ConfigEntry(
        "consumer.session.timeout.ms",
        str(UNHURRIED_MS),
        incremental_operation=rdkafka.AlterConfigOpType.SET,
    )
    resource = rdkafka.ConfigResource(
        rdkafka.ResourceType.GROUP, group, incremental_configs=[wanted]
    )
    administer(broker.address, lambda admin: admin.incremental_alter_configs([resource]))
    return options


@pytest.mark.parametrize(
    ("options", "end"),
    [
        pytest.param(RANGE, WorkerProcess.kill, id="range-killed"),
        pytest.param(RANGE, WorkerProcess.leave, id="range-stopped"),
        pytest.param(COOPERATIVE, WorkerProcess.leave, id="cooperative-stopped"),
        pytest.param(CONSUMER, WorkerProcess.leave, id="consumer-stopped"),
    ],
)
def test_a_static_member_comes_back_to_its_partitions_and_nobody_notices(
    quick_broker: BrokerProcess,
    stage: MakeStage,
    topic: str,
    options: Options,
    end: Callable[[WorkerProcess], None],
) -> None:
    group = group_of(stage, quick_broker, topic)
    create(quick_broker, topic, partitions=4)
    options = unhurried(quick_broker, group.group, options)
    flow = group.send({topic: 4})
    for name in ("a", "b", "c"):
        work(group, name, [topic], {**options, "group.instance.id": name})
    group.wait_until_shared(places(**{topic: 4}))
    leaver, *others = group.running
    had, seen = set(leaver.owned), [len(changes(each)) for each in others]
    end(leaver)
    again = work(group, "a-again", [topic], {**options, "group.instance.id": "a"})
    group.wait_until(lambda: again.owned == had, f"{had} is back in its hands")
    flow.finish()
    group.wait_until_processed(flow.acked)
    assert [len(changes(each)) for each in others] == seen
    check_owners(group.result())


def changes(worker: WorkerProcess) -> list[str]:
    """What it was told of partitions that come or go."""
    told = {"assigned", "revoked", "lost"}
    return [entry.what for entry in worker.reading.entries if entry.what in told]


def test_when_the_leader_of_a_classic_group_dies_another_one_makes_the_plan(
    quick_broker: BrokerProcess, stage: MakeStage, topic: str
) -> None:
    group = group_of(stage, quick_broker, topic)
    create(quick_broker, topic, partitions=6)
    leader = work(group, "leader", [topic], RANGE)
    group.wait_until_shared(places(**{topic: 6}))
    for name in ("a", "b"):
        work(group, name, [topic], RANGE)
    group.wait_until_shared(places(**{topic: 6}))
    leader.kill()
    group.wait_until_shared(places(**{topic: 6}))
    assert sorted(group.members()) == ["a", "b"]
    check_owners(group.result())


def test_a_topic_that_comes_later_is_found_by_a_subscription_by_pattern(
    quick_broker: BrokerProcess, stage: MakeStage, topic: str
) -> None:
    group = group_of(stage, quick_broker, topic)
    create(quick_broker, f"{topic}-early", partitions=2)
    create(quick_broker, f"not-{topic}", partitions=2)
    for name in ("a", "b"):
        work(group, name, [f"^{topic}-.*"], {**CONSUMER, **UNAWARE})
    group.wait_until_shared(places(**{f"{topic}-early": 2}))
    create(quick_broker, f"{topic}-late", partitions=2)
    group.wait_until_shared(places(**{f"{topic}-early": 2, f"{topic}-late": 2}))
    check_owners(group.result())


@pytest.mark.parametrize("classic", [RANGE, COOPERATIVE], ids=["range", "cooperative"])
def test_a_group_moves_to_the_consumer_protocol_and_back_member_by_member(
    quick_broker: BrokerProcess, stage: MakeStage, topic: str, classic: Options
) -> None:
    group = group_of(stage, quick_broker, topic)
    create(quick_broker, topic, partitions=4)
    flow = group.send({topic: 4})
    for name in ("a0", "b0"):
        work(group, name, [topic], classic)
        group.wait_until_shared(places(**{topic: 4}))
    for turn, (options, kind) in enumerate([(CONSUMER, "CONSUMER"), (classic, "CLASSIC")], start=1):
        for name in ("a", "b"):
            group.wait_until_shared(places(**{topic: 4}))
            group.workers[f"{name}{turn - 1}"].leave()
            work(group, f"{name}{turn}", [topic], options)
        group.wait_until_shared(places(**{topic: 4}))
        assert group.describe().type.name == kind
    flow.finish()
    group.wait_until_processed(flow.acked)
    check_owners(group.result())
    check_at_least_once(group.result(), flow.acked)


@protocols
def test_a_consumer_that_slept_too_long_finds_its_partitions_with_others_and_comes_back(
    quick_broker: BrokerProcess, stage: MakeStage, topic: str, options: Options
) -> None:
    group = group_of(stage, quick_broker, topic)
    create(quick_broker, topic, partitions=4)
    flow = group.send({topic: 4})
    sleeper, other = (work(group, name, [topic], options) for name in ("sleeper", "other"))
    group.wait_until_shared(places(**{topic: 4}))
    sleeper.pause()
    group.wait_until(lambda: len(other.owned) == 4, "the other has all")
    sleeper.go_on()
    group.wait_until(lambda: sleeper.count("stalled"), "it notices that it slept")
    group.wait_until_shared(places(**{topic: 4}))
    flow.finish()
    group.wait_until_processed(flow.acked)
    check_owners(group.result())
