"""A cluster on paper: an image that commits are applied to, without a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.metadata.changes import Commit, create_topic
from penstock.metadata.cluster import Changed
from penstock.metadata.cluster_changes import found_cluster, join, register_broker
from penstock.metadata.features import SUPPORTED
from penstock.metadata.image import Image
from penstock.metadata.records import BrokerRecord, broker_key, leaving_key
from penstock.metadata.store import OPERATIONS_MAX, Entry, Event, Put

ID = bytes(range(16))


class Cluster:
    """An image with the simplest of stores under it."""

    def __init__(self, *racks: str) -> None:
        self.image = Image()
        self.revisions: dict[str, int] = {}
        self.now = 0
        self.apply(found_cluster(self.image, "abc", b"secret"))
        for number, rack in enumerate(racks, 1):
            self.register(broker(number, rack=rack))

    def apply(self, commit: Commit[Any]) -> Changed:
        for key, expected in (*commit.checks, *commit.ahead_checks):
            assert self.revisions.get(key, 0) == expected
        assert len(commit.checks) <= OPERATIONS_MAX
        assert len(commit.puts) + len(commit.deletes) <= OPERATIONS_MAX
        if commit.ahead:
            assert not self._write(commit.ahead, (), None).partitions
        changed = self._write(commit.puts, commit.deletes, commit.session)
        if commit.behind:
            self._write((), commit.behind, None)
        return changed

    def _write(self, puts: Sequence[Put], deletes: Sequence[str], session: str | None) -> Changed:
        self.now += 1
        events = []
        for key, value in puts:
            self.revisions[key] = self.now
            events.append(Event(key, Entry(key, value, self.now, session), self.now))
        for key in deletes:
            del self.revisions[key]
            events.append(Event(key, None, self.now))
        return self.image.apply(events, self.now)

    def register(self, record: BrokerRecord, session: str = "") -> Changed:
        """As at a start: it joins before."""
        self.apply(join(self.image, record.node_id, record.owner))
        session = session or f"session {record.node_id}"
        return self.apply(register_broker(self.image, record, session))

    def lose(self, node_id: int) -> Changed:
        """A broker's lease has ended."""
        keys = [broker_key(node_id)]
        if node_id in self.image.leaving:
            keys.append(leaving_key(node_id))
        return self._write((), keys, None)

    def create(self, name: str = "orders", topic_id: bytes = ID, **rest: Any) -> Changed:
        numbers = {} if "assignments" in rest else {"partitions": 1, "replication": 1}
        commit = create_topic(self.image, name, topic_id=topic_id, now_ms=5, **{**numbers, **rest})
        return self.apply(commit)


def broker(node_id: int = 1, **rest: Any) -> BrokerRecord:
    given = {"host": "h", "port": 9092, "owner": b"%d" % node_id, "features": dict(SUPPORTED)}
    return BrokerRecord(node_id=node_id, **{**given, **rest})
