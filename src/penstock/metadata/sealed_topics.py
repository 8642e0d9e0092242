"""Where partitions are read that their topics have lost."""

from __future__ import annotations

from penstock.metadata.cluster import Topic


class SealedTopics:
    __slots__ = ("_by_source",)

    def __init__(self) -> None:
        self._by_source: dict[str, dict[bytes, Topic]] = {}
        """By the name of the topic that had the partitions, and by id."""

    def place(self, name: str, index: int, log_id: bytes) -> tuple[Topic, int] | None:
        """Of the partition that a topic once had, and whose log has this id. There may have been
        several in the same place, one after the other."""
        for topic in self._by_source.get(name, {}).values():
            sealed = topic.record.sealed
            at = index - sealed.first if sealed else -1
            if 0 <= at < topic.record.partitions and topic.log_id(at) == log_id:
                return topic, at
        return None

    def add(self, topic: Topic) -> None:
        if topic.record.sealed is not None:
            self._by_source.setdefault(topic.record.sealed.name, {})[topic.id] = topic

    def remove(self, topic: Topic) -> None:
        sealed = topic.record.sealed
        known = self._by_source.get(sealed.name, {}) if sealed else {}
        known.pop(topic.id, None)
        if sealed is not None and not known:
            self._by_source.pop(sealed.name, None)
