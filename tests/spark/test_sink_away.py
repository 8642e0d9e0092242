"""A driver that stays away between its tasks and their decision, for longer than any timeout."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pyarrow as pa
import pytest
from tests.broker_process import BrokerProcess
from tests.spark.topic_reading import open_transactions, values, wait_until

from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.client.open_transaction import begin
from penstock.client.producer import Producer
from penstock.client.transactions import OPEN, describe_transaction
from penstock.spark.connected import Connected
from penstock.spark.sink.options import sink_options
from penstock.spark.sink.settlement import Settlement
from penstock.spark.sink.writing import Share, write_share

LONGEST_MS = 300
"""That the broker lets a transaction be open, or remembers one that nobody uses."""
SHORT = (
    *("--set", f"transaction.max.timeout.ms={LONGEST_MS}"),
    *("--set", f"transactional.id.expiration.ms={LONGEST_MS}"),
    *("--set", "transaction.remove.expired.transaction.cleanup.interval.ms=100"),
)


def time_out(client: WireClient, topic: str, name: str) -> None:
    """A transaction in one phase comes and goes: the broker itself aborts it."""
    opened = begin(client, name, LONGEST_MS)
    producer = Producer(client, topic, transaction=opened)
    producer.send(b"late")
    producer.flush()
    assert describe_transaction(client, name).state in {*OPEN, "CompleteAbort"}
    wait_until(lambda: describe_transaction(client, name).state == "CompleteAbort")


def test_a_driver_may_stay_away_for_longer_than_transactions_may_be_open(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    """As long as others take to time out three times, and a kill of the broker besides."""
    broker = own_broker(*SHORT).start()
    query = str(uuid4())
    share = Share(query, "run", 0, may_be_decided=True)
    options = sink_options({"bootstrapServers": broker.address, "topic": topic})
    rows = pa.record_batch([pa.array([b"%d" % each for each in range(9)])], names=["value"])
    with WireClient(broker.address) as client:
        admin.create_topic(client, topic)
        written = write_share(options, share, iter([rows]))
        assert written is not None
        time_out(client, topic, "once")
        broker.kill()
        broker.start()
        for name in ("twice", "thrice"):
            time_out(client, topic, name)
        assert open_transactions(client, query) == [written.name], "the driver's, still"
        Settlement(client, query, "run").commit(0, [written])
        wait_until(lambda: not open_transactions(client))
        assert values(client, topic) == [b"%d" % each for each in range(9)]


def test_a_task_that_finds_no_broker_waits_until_one_is_back(
    own_broker: Callable[..., BrokerProcess], topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each task begins with connections of its own, and a broker may be away just then."""
    broker = own_broker().start()
    with WireClient(broker.address) as client:
        admin.create_topic(client, topic)
    broker.kill()
    pauses: list[float] = []

    def come_back(pause_s: float) -> None:
        if not pauses:
            broker.start()
        pauses.append(pause_s)

    again = Connected.again

    def watched(connected: Connected) -> WireClient:
        made = again(connected)
        made.sleep = come_back
        return made

    monkeypatch.setattr(Connected, "again", watched)
    options = sink_options(
        {"bootstrapServers": broker.address, "topic": topic, "delivery": "at-least-once"}
    )
    rows = pa.record_batch([pa.array([b"one"])], names=["value"])
    write_share(options, Share("query", "run", 0, may_be_decided=True), iter([rows]))
    assert pauses
    with WireClient(broker.address) as client:
        assert values(client, topic) == [b"one"]
