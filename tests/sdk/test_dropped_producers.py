"""Producers that nobody closes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest

from penstock import Producer
from penstock.sdk import PenstockError
from penstock.testing import Broker

WAIT_S = 30.0
SLOW = {"linger.ms": 60_000, "batch.num.messages": 100_000}
"""Nothing is sent unless somebody flushes."""


def end_of(broker: Broker, topic: str) -> int | None:
    return broker.admin.topics.describe(topic).partitions[0].end


def watchers() -> int:
    return sum(each.name == "penstock-partitions" for each in threading.enumerate())


def test_one_that_is_dropped_delivers_its_messages_and_warns(penstock_broker: Broker) -> None:
    topic, before = penstock_broker.topic(), watchers()
    producer = Producer(penstock_broker.bootstrap, settings=SLOW)
    sent = [producer.send(topic, str(number)) for number in range(10)]
    watched = weakref.ref(producer)
    with pytest.warns(ResourceWarning, match=r"was not closed, and 10 messages .* 0 of them"):
        del producer
    assert watched() is None
    assert watchers() == before
    assert [each.result(WAIT_S).offset for each in sent] == list(range(10))
    assert end_of(penstock_broker, topic) == 10


def test_one_that_is_dropped_with_nothing_on_its_way_is_no_trouble(penstock_broker: Broker) -> None:
    topic, before = penstock_broker.topic(), watchers()
    producer = Producer(penstock_broker.bootstrap)
    producer.send(topic, "v").result(WAIT_S)
    del producer
    assert watchers() == before


def test_what_a_dropped_one_could_not_deliver_is_logged(
    penstock_fresh_broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    topic = penstock_fresh_broker.topic()
    producer = Producer(penstock_fresh_broker.bootstrap, timeout=0.2, settings=SLOW)
    producer.router.meet(topic, WAIT_S)
    penstock_fresh_broker.pause()
    for number in range(3):
        producer.send(topic, str(number), key="k")
    with pytest.warns(ResourceWarning, match="3 of them were not delivered"):
        del producer
    assert f"the message with key b'k' to topic {topic} (and 2 more) was not deliv" in caplog.text


@pytest.mark.parametrize("is_up", [True, False])
def test_a_script_that_ends_without_close_delivers_or_says_what_was_lost(
    penstock_fresh_broker: Broker, tmp_path: Path, is_up: bool
) -> None:
    broker, topic = penstock_fresh_broker, penstock_fresh_broker.topic()
    script = tmp_path / "script.py"
    script.write_text(
        f"""
from penstock import Producer

producer = Producer({broker.bootstrap!r}, timeout={WAIT_S if is_up else 0.2}, settings={SLOW})
producer.router.meet({topic!r}, 30)
print("ready", flush=True)
input()
for number in range(1000):
    producer.send({topic!r}, str(number))
"""
    )
    running = subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout
    assert running.stdout.readline() == "ready\n"
    if not is_up:
        broker.kill()
    _, errors = running.communicate("\n", timeout=60)
    broker.mend()
    assert running.returncode == 0
    assert ("1000 of them were not delivered" in errors) is not is_up
    assert end_of(broker, topic) == (1000 if is_up else 0)


def test_one_that_was_made_before_a_fork_says_so_in_the_child(penstock_broker: Broker) -> None:
    topic = penstock_broker.topic()
    with Producer(penstock_broker.bootstrap) as producer:
        producer.send(topic, "v").result(WAIT_S)
        child = os.fork()
        if not child:
            try:
                producer.send(topic, "in the child")
            except PenstockError as error:
                os._exit("make one in each process" in str(error))
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        assert producer.send(topic, "still here").result(WAIT_S).offset == 1
