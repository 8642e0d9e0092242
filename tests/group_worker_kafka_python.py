"""A worker on kafka-python. Its listener runs while it polls or closes."""

from __future__ import annotations

import threading
import warnings
from typing import Any

from tests.group_journal import Journal, Span
from tests.group_worker import BATCH, POLL_S, Settings, Uncommitted

with warnings.catch_warnings():  # it reads its schemas by a call that Python 3.11 deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
    from kafka.errors import IllegalStateError, KafkaError

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
Records = dict[TopicPartition, list[Any]]


def work(settings: Settings, journal: Journal, stopping: threading.Event) -> None:
    worker = Worker(settings, journal)
    while not stopping.is_set():
        worker.step()
    worker.close()


class Worker(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, settings: Settings, journal: Journal) -> None:
        self.journal = journal
        self.uncommitted = Uncommitted()
        self.take = self._commit_and_process if settings.commits_first else self._process
        options = dict(settings.options)
        assignor = ASSIGNORS[options.pop("assignor")]
        self.consumer: Any = KafkaConsumer(
            bootstrap_servers=settings.address,
            client_id=settings.name,
            group_id=settings.group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=50,
            reconnect_backoff_max_ms=200,
            partition_assignment_strategy=[assignor],
            **options,
        )
        self.consumer.subscribe(settings.topics, listener=self)

    def step(self) -> None:
        """All is committed before the next poll, which may bring a revocation."""
        try:
            self.take(self.consumer.poll(timeout_ms=int(1000 * POLL_S), max_records=BATCH))
        except KafkaError as error:
            self.journal.note("error", text=repr(error))
        if self.uncommitted and self._commit(self.uncommitted.spans()):
            self.uncommitted.clear()

    def close(self) -> None:
        self.consumer.close()

    def on_partitions_assigned(self, assigned: Any) -> None:
        self.journal.note_places("assigned", assigned)

    def on_partitions_revoked(self, revoked: Any) -> None:
        self.uncommitted.forget(revoked)
        self.journal.note_places("revoked", revoked)

    def on_partitions_lost(self, lost: Any) -> None:
        self.uncommitted.forget(lost)
        self.journal.note_places("lost", lost)

    def _process(self, records: Records) -> None:
        for place, batch in records.items():
            for record in batch:
                where = [place.topic, place.partition]
                value = record.value.decode()
                self.journal.note("processed", place=where, offset=record.offset, value=value)
                self.uncommitted.add(place.topic, place.partition, record.offset)

    def _commit_and_process(self, records: Records) -> None:
        if not records:
            return
        if self._commit(_spans(records)):
            self._process(records)
            self.uncommitted.clear()
            return
        for place, batch in records.items():
            try:  # to read it again, if it is still ours
                self.consumer.seek(place, batch[0].offset)
            except (AssertionError, IllegalStateError) as error:
                self.journal.note("error", text=repr(error))

    def _commit(self, spans: list[Span]) -> bool:
        self.journal.note("committing", spans=spans)
        wanted = {
            TopicPartition(topic, number): OffsetAndMetadata(end, "", -1)
            for topic, number, _, end in spans
        }
        try:
            self.consumer.commit(wanted)
        except KafkaError as error:
            self.journal.note("refused", spans=spans, errors=[repr(error)])
            return False
        self.journal.note("committed", spans=spans)
        return True


def _spans(records: Records) -> list[Span]:
    return [
        (place.topic, place.partition, batch[0].offset, batch[-1].offset + 1)
        for place, batch in records.items()
    ]
