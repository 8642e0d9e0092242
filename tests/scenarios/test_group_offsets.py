"""The place that a group keeps in a topic: where its next consumer goes on."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import TopicPartition
from tests.broker_process import BrokerProcess
from tests.scenarios.test_confluent import RESTARTS, consuming, create, send

WAIT_S = 30
needs_kcat = pytest.mark.skipif(not shutil.which("kcat"), reason="kcat is not installed")


def committed(broker: BrokerProcess, group: str, *places: TopicPartition) -> list[Any]:
    with consuming(broker, group_id=group) as consumer:
        found: list[Any] = consumer.committed(list(places), timeout=WAIT_S)
        return found


@RESTARTS
def test_offsets_metadata_and_epochs_outlive_the_broker(
    own_broker: Callable[..., BrokerProcess], topic: str, end: Callable[[BrokerProcess], None]
) -> None:
    running = own_broker().start()
    create(running, topic, partitions=3)
    first = TopicPartition(topic, 0, 5, "as far as five", 0)
    second = TopicPartition(topic, 1, 7, "", 0)
    with consuming(running, group_id="keeper") as consumer:
        done = consumer.commit(offsets=[first, second], asynchronous=False)
        assert [each.error for each in done] == [None, None]
    end(running)
    running.start()
    wanted = [TopicPartition(topic, number) for number in range(3)]
    found = committed(running, "keeper", *wanted)
    assert [each.offset for each in found] == [5, 7, confluent_kafka.OFFSET_INVALID]
    assert [each.metadata for each in found[:2]] == ["as far as five", ""]
    assert [each.leader_epoch for each in found[:2]] == [0, 0]


def test_the_last_of_many_commits_is_the_one_that_counts_after_kills(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    running = own_broker().start()
    create(running, topic)
    for turn in range(3):
        with consuming(running, group_id="keeper") as consumer:
            for offset in range(100 * turn, 100 * turn + 100):
                consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
        running.kill()
        running.start()
        (found,) = committed(running, "keeper", TopicPartition(topic, 0))
        assert found.offset == 100 * turn + 99


def kcat(broker: BrokerProcess, group: str, count: int, *topics: str) -> list[str]:
    """So many messages, as a member of a group that leaves when it has them."""
    quick = ("-X", "auto.offset.reset=earliest", "-X", "fetch.wait.max.ms=10")
    command = ["kcat", "-b", broker.address, "-G", group, "-c", str(count), "-q", *quick, *topics]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@needs_kcat
def test_kcat_goes_on_where_its_group_has_stopped(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic)
    send(broker, topic, [b"%d" % number for number in range(10)])
    assert kcat(broker, f"kcat-{topic}", 4, topic) == ["0", "1", "2", "3"]
    assert kcat(broker, f"kcat-{topic}", 6, topic) == ["4", "5", "6", "7", "8", "9"]
    (found,) = committed(broker, f"kcat-{topic}", TopicPartition(topic, 0))
    assert found.offset == 10


@needs_kcat
def test_kcat_reads_several_topics_as_one_group(broker: BrokerProcess, topic: str) -> None:
    for name in (f"{topic}-one", f"{topic}-two"):
        create(broker, name, partitions=2)
        send(broker, name, [name.encode()] * 3)
    found = kcat(broker, f"kcat-{topic}", 6, f"{topic}-one", f"{topic}-two")
    assert sorted(found) == [f"{topic}-one"] * 3 + [f"{topic}-two"] * 3
