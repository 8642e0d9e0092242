"""A worker on confluent-kafka. Callbacks come from within poll, commit and close."""

from __future__ import annotations

import threading
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tests.group_journal import Journal, Span
from tests.group_worker import BATCH, POLL_S, Settings, Uncommitted

DEFAULTS = {
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": 50,
    "fetch.error.backoff.ms": 50,
    "retry.backoff.ms": 50,
    "reconnect.backoff.max.ms": 200,
    "log_level": 0,
}


def work(settings: Settings, journal: Journal, stopping: threading.Event) -> None:
    worker = Worker(settings, journal)
    while not stopping.is_set():
        worker.step()
    worker.close()


class Worker:
    def __init__(self, settings: Settings, journal: Journal) -> None:
        self.journal = journal
        self.commits_first = settings.commits_first
        self.uncommitted = Uncommitted()
        named = {
            "bootstrap.servers": settings.address,
            "client.id": settings.name,
            "group.id": settings.group,
        }
        self.consumer: Any = Consumer({**DEFAULTS, **named, **settings.options})
        self.consumer.subscribe(
            settings.topics,
            on_assign=lambda _, places: journal.note_places("assigned", places),
            on_revoke=self._revoked,
            on_lost=self._lost,
        )

    def step(self) -> None:
        message = self.consumer.poll(POLL_S)
        if message is not None and message.error() is not None:
            self._complain(message.error())
        elif message is None:
            self._commit_processed()
        elif self.commits_first:
            self._commit_and_process(message)
        else:
            self._process_and_commit(message)

    def close(self) -> None:
        self._commit_processed()
        self.consumer.close()

    def _complain(self, error: KafkaError) -> None:
        if error.fatal():
            raise KafkaException(error)
        self.journal.note("error", text=str(error))

    def _process(self, message: Any) -> None:
        self.journal.note(
            "processed",
            place=[message.topic(), message.partition()],
            offset=message.offset(),
            value=message.value().decode(),
        )

    def _process_and_commit(self, message: Any) -> None:
        self._process(message)
        self.uncommitted.add(message.topic(), message.partition(), message.offset())
        if len(self.uncommitted) >= BATCH:
            self._commit_processed()

    def _commit_and_process(self, message: Any) -> None:
        topic, number, offset = message.topic(), message.partition(), message.offset()
        if self._commit([(topic, number, offset, offset + 1)]):
            self._process(message)
            return
        try:  # to read it again, if it is still ours
            self.consumer.seek(TopicPartition(topic, number, offset))
        except KafkaException as error:
            self.journal.note("error", text=str(error))

    def _commit_processed(self) -> None:
        if self.uncommitted and self._commit(self.uncommitted.spans()):
            self.uncommitted.clear()

    def _commit(self, spans: list[Span]) -> bool:
        self.journal.note("committing", spans=spans)
        wanted = [TopicPartition(topic, number, end) for topic, number, _, end in spans]
        try:
            done = self.consumer.commit(offsets=wanted, asynchronous=False)
            errors = [str(each.error) for each in done if each.error is not None]
        except KafkaException as error:
            errors = [str(error)]
        self.journal.note("refused" if errors else "committed", spans=spans, errors=errors)
        return not errors

    def _revoked(self, _: Any, places: list[TopicPartition]) -> None:
        self._commit_processed()
        self.uncommitted.forget(places)
        self.journal.note_places("revoked", places)

    def _lost(self, _: Any, places: list[TopicPartition]) -> None:
        self.uncommitted.forget(places)
        self.journal.note_places("lost", places)
