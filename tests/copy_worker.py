"""A process that copies a topic in transactions: what it has read, written and committed is one.

It says on standard output when a transaction is open, and when it is over. After an error it does
what librdkafka asks for: tries again, aborts, or begins anew.
"""

from __future__ import annotations

import sys
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaException, TopicPartition

WAIT_S = 60
POLL_S = 0.3


class Copier:
    def __init__(self, address: str, source: str, target: str, name: str, size: int) -> None:
        self._source = source
        self._target = target
        self._size = size
        self._producer: Any = confluent_kafka.Producer(
            {
                "bootstrap.servers": address,
                "transactional.id": name,
                "transaction.timeout.ms": 10_000,
                "linger.ms": 5,
                "socket.timeout.ms": 5000,
            }
        )
        self._consumer: Any = confluent_kafka.Consumer(
            {
                "bootstrap.servers": address,
                "group.id": f"copies-{source}",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "session.timeout.ms": 6000,
                "heartbeat.interval.ms": 500,
                "partition.assignment.strategy": "cooperative-sticky",
            }
        )

    def run(self) -> None:
        """Until something happens after which it has to begin anew."""
        try:
            self._producer.init_transactions(WAIT_S)
            self._consumer.subscribe([self._source])
            say("ready")
            while True:
                messages = [each for each in self._read() if not each.error()]
                if messages:
                    self._copy(messages)
        finally:
            self._consumer.close()

    def _read(self) -> list[Any]:
        found: list[Any] = self._consumer.consume(self._size, POLL_S)
        return found

    def _copy(self, messages: list[Any]) -> None:
        self._producer.begin_transaction()
        try:
            for each in messages:
                self._send(each)
            say(f"open {len(messages)}")
            group = self._consumer.consumer_group_metadata()
            places = self._consumer.position(self._consumer.assignment())
            self._producer.send_offsets_to_transaction(places, group, WAIT_S)
            self._commit()
        except KafkaException as problem:
            if not problem.args[0].txn_requires_abort():
                raise
            self._producer.abort_transaction(WAIT_S)
            self._go_back()
            say("aborted")
        else:
            say(f"committed {len(messages)}")

    def _send(self, message: Any) -> None:
        while True:
            try:
                self._producer.produce(
                    self._target, message.value(), message.key(), message.partition()
                )
            except BufferError:
                self._producer.poll(POLL_S)
            else:
                return

    def _commit(self) -> None:
        while True:
            try:
                self._producer.commit_transaction(WAIT_S)
            except KafkaException as problem:
                if not problem.args[0].retriable():
                    raise
            else:
                return

    def _go_back(self) -> None:
        for place in self._consumer.committed(self._consumer.assignment(), WAIT_S):
            offset = place.offset if place.offset >= 0 else confluent_kafka.OFFSET_BEGINNING
            self._consumer.seek(TopicPartition(place.topic, place.partition, offset))


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def main(address: str, source: str, target: str, name: str, size: str) -> None:
    while True:
        try:
            Copier(address, source, target, name, int(size)).run()
        except KafkaException as problem:
            say(f"begins anew: {problem}")


if __name__ == "__main__":
    main(*sys.argv[1:])
