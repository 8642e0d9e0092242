"""Keeps the data folder's note of topics that do without syncs in step with their settings."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from penstock.log.unsynced_topics import UnsyncedTopics
from penstock.metadata.cluster import Changed, Topic
from penstock.metadata.image import Image

log = logging.getLogger(__name__)


class Unsynced:
    def __init__(self, image: Image, noted: UnsyncedTopics) -> None:
        self._image = image
        self._noted = noted

    def begin_anew(self) -> None:
        """Once the broker has said what it may have lost."""
        try:
            self._noted.begin_anew(self._ids(self._image.topics.values()))
        except OSError as problem:
            log.warning("topics that do without syncs are noted another time: %s", problem)

    def follow(self, changed: Changed) -> None:
        """Before the change is acted on."""
        topics: Iterable[Topic] = (*changed.altered.values(), *changed.created.values())
        if changed.broker_configs:
            topics = self._image.topics.values()
        try:
            self._noted.note(self._ids(topics))
        except OSError as problem:
            log.error("a power cut may go unnoticed, as the data folder takes no note: %s", problem)

    def _ids(self, topics: Iterable[Topic]) -> set[bytes]:
        settings = self._image.settings
        return {each.id for each in topics if not settings.of_topic(each).flush_on_acks_all}
