"""Markers on their way to partitions: which transaction has ended, and who has still to be told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from penstock.api.shard import Shard
from penstock.coordination.transaction.state import Place, State, Transaction
from penstock.server.lines import Portion
from penstock.wire.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersResponse,
)

Cause = int | Place | Shard[Transaction]
"""What is waited for: a broker, a partition, or the log of the transactions themselves."""


class Ending:
    """A transaction whose partitions are being told."""

    __slots__ = ("left", "shard", "state", "transaction")

    def __init__(self, shard: Shard[Transaction], transaction: Transaction, state: State) -> None:
        self.shard = shard
        self.transaction = transaction
        self.state = state
        self.left = set(state.partitions)

    @property
    def is_current(self) -> bool:
        return not self.shard.is_over and self.transaction.state is self.state

    def marker(self, places: Iterable[Place]) -> WritableTxnMarker:
        topics: dict[str, list[int]] = {}
        for topic, index in places:
            topics.setdefault(topic, []).append(index)
        return WritableTxnMarker(
            self.state.owner.producer_id,
            self.state.owner.epoch,
            self.state.phase.is_commit,
            [WritableTxnMarkerTopic(topic, indexes) for topic, indexes in topics.items()],
            self.shard.leader.epoch,
            self.state.client_version,
        )


class Telling(NamedTuple):
    """Some partitions that are to be told. Each of those that are left is in one of these, which
    is in line, or waits for something."""

    ending: Ending
    places: Portion
    tries: Cause | None = None
    """Whether it is sent to see if others may go on."""

    @property
    def weight(self) -> int:
        return self.places.weight


def errors_in(response: WriteTxnMarkersResponse) -> list[dict[Place, int]]:
    return [
        {
            (topic.name, part.partition_index): part.error_code
            for topic in marker.topics
            for part in topic.partitions
        }
        for marker in response.markers
    ]
