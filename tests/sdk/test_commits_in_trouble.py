"""Commits that are refused for a while, because nobody looks after the group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import pytest
from tests.lanes import in_chaos

from penstock import Consumer, Producer
from penstock.client.cluster import WireClient
from penstock.client.group_offsets import committed_offsets
from penstock.coordination.group import protocols
from penstock.errors import ErrorCode, Refused
from penstock.sdk import PenstockError
from penstock.sdk.aside import Aside
from penstock.testing import Broker, running_broker

WAIT_S = 60.0
LONG_POLL_MS = 100_000
"""Longer than any of these tests may take."""
GIVES_UP_AT = {
    ErrorCode.NOT_COORDINATOR: 7,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: 7,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: 3,
    ErrorCode.REQUEST_TIMED_OUT: 3,
}
"""The refusal after which librdkafka by itself gives up."""
Refuse = Callable[[ErrorCode, int], None]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with running_broker(in_process=True) as running:
        yield running


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Refuse:
    """Lets the next commits fail, so many of them."""
    left: list[ErrorCode] = []
    check = protocols.check_may_commit

    def checked(*arguments: Any) -> None:
        if left:
            raise Refused(left.pop(), "as if the coordinator were about to change")
        check(*arguments)

    def begin(code: ErrorCode, times: int) -> None:
        left[:] = [code] * times

    monkeypatch.setattr(protocols, "check_may_commit", checked)
    return begin


def topic_of(broker: Broker, count: int) -> str:
    name = broker.topic()
    with Producer(broker.bootstrap) as producer:
        for number in range(count):
            producer.send(name, str(number))
    return name


def committed(broker: Broker, name: str) -> int:
    with WireClient(broker.bootstrap) as client:
        return committed_offsets(client, "g")[(name, 0)].offset


def read(consumer: Consumer[str], count: int) -> None:
    for _ in range(count):
        assert consumer.poll(WAIT_S)


@pytest.mark.parametrize("code", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE])
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_librdkafka_finds_the_coordinator_beside_its_long_poll(
    broker: Broker, refuse: Refuse, code: ErrorCode, protocol: str
) -> None:
    """It asks for it on the connection that it fetches by. As long as that takes longer than its
    retry.backoff.ms, none of its commits is ever sent."""
    name = topic_of(broker, 3)
    settings = {"group.id": "g", "group.protocol": protocol, "auto.offset.reset": "earliest"}
    patience = {"fetch.wait.max.ms": LONG_POLL_MS, "socket.timeout.ms": 2 * LONG_POLL_MS}
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": broker.bootstrap, "enable.auto.commit": False} | settings | patience
    )
    consumer.subscribe([name])
    assert len(consumer.consume(3, WAIT_S)) == 3
    refuse(code, 1)
    Aside().run("the commit", WAIT_S, lambda: consumer.commit(asynchronous=False))
    consumer.close()
    assert committed(broker, name) == 3


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_COORDINATOR,
        pytest.param(ErrorCode.COORDINATOR_NOT_AVAILABLE, marks=in_chaos),
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        pytest.param(ErrorCode.REQUEST_TIMED_OUT, marks=in_chaos),
    ],
)
def test_a_commit_is_repeated_until_somebody_looks_after_the_group(
    broker: Broker, refuse: Refuse, code: ErrorCode
) -> None:
    name = topic_of(broker, 3)
    with Consumer(broker.bootstrap, name, group="g", tune="latency", timeout=WAIT_S) as consumer:
        read(consumer, 2)
        refuse(code, GIVES_UP_AT[code])
        consumer.commit()
        assert committed(broker, name) == 2
        read(consumer, 1)
        refuse(code, GIVES_UP_AT[code])
    assert committed(broker, name) == 3


def test_a_commit_that_is_refused_for_too_long_is_raised(broker: Broker, refuse: Refuse) -> None:
    name = topic_of(broker, 2)
    consumer = Consumer(broker.bootstrap, name, group="g", tune="latency", timeout=WAIT_S)
    read(consumer, 2)
    refuse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 1_000_000)
    consumer.commits.timeout_s = 1.0
    with pytest.raises(PenstockError, match="commit"):
        consumer.commit()
    refuse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 0)
    consumer.close()


def test_a_commit_that_will_never_be_taken_is_raised_at_once(
    broker: Broker, refuse: Refuse
) -> None:
    name = topic_of(broker, 2)
    consumer = Consumer(broker.bootstrap, name, group="g", tune="latency", timeout=WAIT_S)
    read(consumer, 2)
    refuse(ErrorCode.GROUP_AUTHORIZATION_FAILED, 1)
    with pytest.raises(PenstockError, match="GROUP_AUTHORIZATION_FAILED"):
        consumer.commit()
    consumer.close()
