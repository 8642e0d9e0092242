"""The ids that clients know topics by.

A topic that has lost partitions is shown under a new id, because clients take fewer partitions only
from a topic that was made anew. What it is to the brokers stays the same.
"""

from __future__ import annotations

from penstock.metadata.cluster import Topic

FORMER_IDS_MAX = 8
"""That a topic remembers. Who comes with an older one has not asked for metadata for long."""


class ShownIds:
    __slots__ = ("_former", "_now")

    def __init__(self) -> None:
        self._now: dict[bytes, Topic] = {}
        self._former: dict[bytes, Topic] = {}

    def topic(self, shown_id: bytes) -> Topic | None:
        return self._now.get(shown_id)

    def topic_meant(self, shown_id: bytes) -> Topic | None:
        """Also for who has not heard yet that it is shown under another id."""
        return self._now.get(shown_id) or self._former.get(shown_id)

    def add(self, topic: Topic) -> None:
        self._now[topic.shown_id] = topic
        self._former.update(dict.fromkeys(topic.record.former_ids, topic))

    def remove(self, topic: Topic) -> None:
        """Before its record is replaced."""
        self._now.pop(topic.shown_id, None)
        for former_id in topic.record.former_ids:
            self._former.pop(former_id, None)
