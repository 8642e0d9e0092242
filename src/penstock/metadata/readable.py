"""All that can be read: topics, and views of topics."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.metadata.cluster import Topic


class Readable:
    """The lookups of an image, for who need not tell the two apart."""

    __slots__ = ("_by_id", "_by_name", "_unlisted")

    def __init__(self) -> None:
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[bytes, Topic] = {}
        self._unlisted: dict[str, Topic] = {}
        """For who asks by name."""

    @property
    def topics(self) -> Mapping[str, Topic]:
        """Those that are listed."""
        return self._by_name

    def topic(self, name: str) -> Topic | None:
        return self._by_name.get(name) or self._unlisted.get(name)

    def topic_by_id(self, topic_id: bytes) -> Topic | None:
        return self._by_id.get(topic_id)

    def add(self, topic: Topic) -> None:
        self._by_name[topic.name] = self._by_id[topic.id] = topic

    def add_unlisted(self, topic: Topic) -> None:
        self._unlisted[topic.name] = self._by_id[topic.id] = topic

    def remove(self, topic: Topic) -> None:
        for names in (self._by_name, self._unlisted):
            if names.get(topic.name) is topic:
                del names[topic.name]
        self._by_id.pop(topic.id, None)
