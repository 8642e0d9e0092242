"""Transactions of sinks that nobody is going to end: their drivers are gone and did not come back.

They hold back everybody who reads only what is committed, so whoever writes looks for them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import NamedTuple
from uuid import uuid4

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.transactions import list_transactions
from penstock.spark.errors import SparkError
from penstock.spark.sink.settlement import Settlement
from penstock.spark.sink.transactions import ONGOING, PREFIX, query_of

log = logging.getLogger(__name__)


class Orphan(NamedTuple):
    name: str
    is_committed: bool
    """As its driver had decided; else it was aborted."""

    def __str__(self) -> str:
        how = "committed, as its driver had decided" if self.is_committed else "aborted"
        return f"{self.name} was left open, and is {how}"


def end_orphans(client: WireClient, open_for_ms: int) -> list[Orphan]:
    """All that have been open for so long."""
    listed = list_transactions(client, [ONGOING], open_for_ms)
    names = [each.name for each in listed if each.name.startswith(PREFIX)]
    ended: list[Orphan] = []
    for query, of_query in _by_query(names).items():
        settlement = Settlement(client, query, f"orphans-{uuid4().hex}")
        ended += [Orphan(*each) for each in settlement.end(of_query).items()]
    for orphan in ended:
        log.warning("%s", orphan)
    return ended


def look_for_orphans(client: WireClient, open_for_ms: int) -> None:
    """By the way: whoever looks has done its own work, and does not fail by this."""
    try:
        end_orphans(client, open_for_ms)
    except (ClientError, SparkError) as error:
        log.warning("transactions that sinks have left open are open still: %s", error)


def _by_query(names: Iterable[str]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name in names:
        grouped.setdefault(query_of(name), []).append(name)
    return grouped
