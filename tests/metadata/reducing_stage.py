"""A cluster on paper with a topic that is to have fewer partitions."""

from __future__ import annotations

from typing import Any

from tests.metadata.staging import ID, Cluster

from penstock.metadata.cluster import Changed, Topic
from penstock.metadata.config_changes import change_topic_configs
from penstock.metadata.config_values import ConfigChange, Operation
from penstock.metadata.election import settle_partitions
from penstock.metadata.reducing import close, cut_over
from penstock.metadata.terms import begin_term, take_lease

NONCE = b"n" * 16
SHOWN, SEALED = b"s" * 16, b"z" * 16
NOW_MS = 1000


class Stage(Cluster):
    def __init__(self, *racks: str, partitions: int = 6, **rest: Any) -> None:
        super().__init__(*racks)
        self.apply(take_lease(self.image, 1, "session 1"))
        self.apply(begin_term(self.image, 1, "session 1"))
        self.create(partitions=partitions, **rest)

    @property
    def orders(self) -> Topic:
        return self.image.topics["orders"]

    def set(self, **configs: str | None) -> Changed:
        """With underscores in place of dots; None takes a setting back."""
        changes = [
            ConfigChange(
                name.replace("_", "."), Operation.DELETE if text is None else Operation.SET, text
            )
            for name, text in configs.items()
        ]
        commit = change_topic_configs(self.image, "orders", changes, nonce=NONCE, now_ms=NOW_MS)
        return self.apply(commit)

    def begin(self, count: int = 2) -> None:
        self.set(partitions_open=str(count), partitions_close_when="drained")

    def close(self, now_ms: int = NOW_MS + 1) -> None:
        self.apply(close(self.image, ID, nonce=NONCE, now_ms=now_ms))
        self.settle()

    def settle(self) -> None:
        places = [(ID, index) for index in range(self.orders.record.partitions)]
        while settle_partitions(self.image, places).answer:
            self.apply(settle_partitions(self.image, places))

    def cut_over(self, shown_id: bytes = SHOWN, sealed_id: bytes = SEALED) -> Changed:
        return self.apply(
            cut_over(self.image, ID, shown_id=shown_id, sealed_id=sealed_id, now_ms=NOW_MS + 2)
        )

    def reduce(self, count: int = 2, shown_id: bytes = SHOWN, sealed_id: bytes = SEALED) -> Changed:
        self.begin(count)
        self.close()
        return self.cut_over(shown_id, sealed_id)
