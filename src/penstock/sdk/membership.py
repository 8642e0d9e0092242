"""What a group gives us and takes back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from confluent_kafka import KafkaException

from penstock.sdk.commits import Commits
from penstock.sdk.errors import PenstockError
from penstock.sdk.intake import Intake
from penstock.sdk.message import TopicPartition
from penstock.sdk.starting import Start, moved
from penstock.sdk.translation import translated

START_S_MAX = 10.0
Hook = Callable[[list[TopicPartition]], None]
Call = Callable[[Any, list[Any]], None]
Hooks = tuple[Hook | None, Hook | None, Hook | None]

log = logging.getLogger("penstock.sdk")


class Membership:
    """librdkafka calls back while it is asked for messages, in the thread that asks."""

    def __init__(
        self,
        intake: Intake,
        commits: Commits,
        start: Start,
        settings: dict[str, Any],
        hooks: Hooks,
    ) -> None:
        self._intake = intake
        self._commits = commits
        self._start = start
        self._on_assign, self._on_revoke, self._on_lost = hooks
        strategy = settings.get("partition.assignment.strategy", "cooperative")
        self._is_incremental = settings.get("group.protocol") == "consumer" or (
            "cooperative" in strategy
        )

    def join(self, topics: list[str]) -> None:
        try:
            self._intake.rdkafka.subscribe(
                topics,
                on_assign=self._calling_back(self._assigned),
                on_revoke=self._calling_back(self._revoked),
                on_lost=self._calling_back(self._lost),
            )
        except KafkaException as failure:
            raise translated(f"subscribing to {', '.join(topics)}", failure) from None

    def _calling_back(self, call: Call) -> Call:
        def called(rdkafka: Any, partitions: list[Any]) -> None:
            self._commits.is_called_back = True
            try:
                call(rdkafka, partitions)
            finally:
                self._commits.is_called_back = False
                self._intake.regroup()

        return called

    def _assigned(self, rdkafka: Any, partitions: list[Any]) -> None:
        if partitions and isinstance(self._start, datetime | timedelta):
            self._begin_at(rdkafka, partitions, self._start)
        if self._on_assign:
            self._on_assign(_places(partitions))

    def _begin_at(self, rdkafka: Any, partitions: list[Any], start: datetime | timedelta) -> None:
        try:
            moved(rdkafka, partitions, start, START_S_MAX)
        except KafkaException as failure:
            raise translated(f"finding where {start} is", failure) from None
        if self._is_incremental:
            rdkafka.incremental_assign(partitions)
        else:
            rdkafka.assign(partitions)

    def _revoked(self, _: Any, partitions: list[Any]) -> None:
        """What is processed is committed while the partitions are still ours."""
        places = _places(partitions)
        try:
            self._commits.commit_processed(places)
        except PenstockError as error:
            log.warning("what was processed of partitions that go was not committed: %s", error)
        finally:
            self._intake.leave(places)
            self._commits.forget(places)
        if self._on_revoke:
            self._on_revoke(places)

    def _lost(self, _: Any, partitions: list[Any]) -> None:
        """They are another member's already: nothing can be committed."""
        places = _places(partitions)
        self._intake.leave(places)
        self._commits.forget(places)
        hook = self._on_lost or self._on_revoke
        if hook:
            hook(places)


def _places(partitions: list[Any]) -> list[TopicPartition]:
    return [TopicPartition(each.topic, each.partition) for each in partitions]
