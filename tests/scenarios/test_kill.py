"""What a broker that is killed in the middle of its work must still have."""

from __future__ import annotations

import threading
from collections.abc import Callable

import confluent_kafka
import pytest
from tests.broker_process import BrokerProcess
from tests.lanes import cases

KILLS = 5
BETWEEN_KILLS = 3000


class Sender(threading.Thread):
    """An idempotent producer that sends without pause and notes what was acknowledged where."""

    def __init__(self, address: str, topic: str, codec: str) -> None:
        super().__init__()
        self.topic = topic
        self.acked: dict[int, int] = {}
        self.failed: list[confluent_kafka.KafkaError] = []
        self.sent = 0
        self.enough = threading.Event()
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": address,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 2,
                "compression.type": codec,
                "message.timeout.ms": 60_000,
                "reconnect.backoff.max.ms": 200,
                "retry.backoff.ms": 50,
                "queue.buffering.max.messages": 2000,
            }
        )

    def run(self) -> None:
        while not self.enough.is_set():
            try:
                number = self.sent
                self._producer.produce(
                    self.topic, b"%d" % number, b"key", on_delivery=self._noting(number)
                )
                self.sent += 1
            except BufferError:
                self._producer.poll(0.01)
            self._producer.poll(0)
        self._producer.flush(60)

    def _noting(self, number: int) -> Callable[..., None]:
        def delivered(
            error: confluent_kafka.KafkaError | None, message: confluent_kafka.Message
        ) -> None:
            if error is not None:
                self.failed.append(error)
            else:
                offset = message.offset()
                assert offset is not None
                self.acked[number] = offset

        return delivered

    def wait_for(self, acknowledged: int) -> None:
        while len(self.acked) < acknowledged and self.is_alive() and not self.failed:
            self.join(0.002)


def read_all(address: str, topic: str, end: int) -> list[tuple[int, int]]:
    """Every (offset, number) from the beginning."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "reader",
            "enable.auto.commit": False,
            "check.crcs": True,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found: list[tuple[int, int]] = []
    try:
        while not found or found[-1][0] < end - 1:
            message = consumer.poll(10)
            assert message is not None, f"only {len(found)} of {end} came"
            assert message.error() is None, message.error()
            value, offset = message.value(), message.offset()
            assert value is not None
            assert offset is not None
            found.append((offset, int(value)))
    finally:
        consumer.close()
    return found


@pytest.mark.parametrize("codec", cases(["none", "lz4"], ["lz4"]))
def test_every_acknowledged_message_is_there_once_and_in_order_after_kills(
    own_broker: Callable[..., BrokerProcess], topic: str, codec: str
) -> None:
    running = own_broker().start()
    sender = Sender(running.address, topic, codec)
    sender.start()
    in_flight_at_kills = []
    for _ in range(KILLS):
        sender.wait_for(len(sender.acked) + BETWEEN_KILLS)
        running.kill()
        in_flight_at_kills.append(sender.sent - len(sender.acked))
        running.start()
    sender.wait_for(len(sender.acked) + BETWEEN_KILLS)
    sender.enough.set()
    sender.join()

    assert sender.failed == []
    assert len(sender.acked) == sender.sent
    assert all(in_flight_at_kills), "a kill hit nothing in flight, and so showed nothing"
    found = read_all(running.address, topic, max(sender.acked.values()) + 1)
    assert [number for _, number in found] == list(range(sender.sent))
    assert dict(found) == {offset: number for number, offset in sender.acked.items()}
