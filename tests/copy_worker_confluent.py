"""Copies with confluent-kafka. After an error it tries again, aborts, or begins anew, as librdkafka
asks for."""

from __future__ import annotations

from typing import Any

import confluent_kafka
from confluent_kafka import KafkaException, TopicPartition

from tests.copy_worker import TRANSACTION_MS, Job, say

WAIT_S = 60
POLL_S = 0.3


class Copier:
    def __init__(self, job: Job) -> None:
        self._job = job
        self._left: set[int] = set()
        self._producer: Any = confluent_kafka.Producer(
            {
                "bootstrap.servers": job.address,
                "transactional.id": job.name,
                "transaction.timeout.ms": TRANSACTION_MS,
                "linger.ms": 5,
                "socket.timeout.ms": 5000,
            }
        )
        self._consumer: Any = confluent_kafka.Consumer(
            {
                "bootstrap.servers": job.address,
                "group.id": job.group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "session.timeout.ms": 3000,
                "heartbeat.interval.ms": 500,
                "partition.assignment.strategy": "cooperative-sticky",
            }
        )

    def run(self) -> None:
        """Until something happens after which it has to begin anew."""
        try:
            self._producer.init_transactions(WAIT_S)
            hooks = {"on_assign": self._enter, "on_revoke": self._leave, "on_lost": self._leave}
            self._consumer.subscribe([self._job.source], **hooks)
            say("ready")
            while True:
                if messages := self._read():
                    self._copy(messages)
        except SystemExit:
            self._producer.abort_transaction(WAIT_S)
            raise
        finally:
            self._consumer.close()

    def _read(self) -> list[Any]:
        """Without what librdkafka had collected of partitions before they went."""
        self._left.clear()
        found = self._consumer.consume(self._job.size, self._job.gather_s)
        return [each for each in found if not each.error() and each.partition() not in self._left]

    def _enter(self, _: Any, places: list[TopicPartition]) -> None:
        self._left -= {each.partition for each in places}

    def _leave(self, _: Any, places: list[TopicPartition]) -> None:
        self._left |= {each.partition for each in places}

    def _copy(self, messages: list[Any]) -> None:
        self._producer.begin_transaction()
        try:
            for each in messages:
                self._send(each)
            say(f"open {len(messages)}")
            self._job.leave_if_told()
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
                    self._job.target, message.value(), message.key(), message.partition()
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


def copy(job: Job) -> None:
    Copier(job).run()
