"""How far a pipeline is, from what Spark tells of its queries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from penstock.spark.source.offsets import IDS


class Progress(msgspec.Struct, frozen=True):
    batches: int = 0
    rows: int = 0
    rows_a_second: float = 0.0
    lag: int | None = None
    """Records that are there and were not read yet; None where a source has no such number."""
    dead_letters: int = 0


def added(before: Progress, told: Iterable[Mapping[str, Any]]) -> Progress:
    """With the batches that have ended since."""
    for each in told:
        before = msgspec.structs.replace(
            before,
            batches=before.batches + bool(each.get("numInputRows")),
            rows=before.rows + int(each.get("numInputRows") or 0),
            rows_a_second=float(each.get("processedRowsPerSecond") or 0.0),
            lag=lag_of(each),
        )
    return before


def dead_letters_in(told: Iterable[Mapping[str, Any]]) -> int:
    """Counted by the query that sends them."""
    count = 0
    for each in told:
        for metrics in (each.get("observedMetrics") or {}).values():
            count += int(_field(metrics, "dead_letters") or 0)
    return count


def _field(metrics: Any, name: str) -> Any:
    return metrics.get(name) if isinstance(metrics, Mapping) else getattr(metrics, name, None)


def lag_of(told: Mapping[str, Any]) -> int | None:
    """Of all topics that the query reads."""
    found = [
        _between(_offsets(each.get("endOffset")), _offsets(each.get("latestOffset")))
        for each in told.get("sources") or ()
    ]
    known = [each for each in found if each is not None]
    return sum(known) if known else None


def _between(done: dict[str, Any] | None, latest: dict[str, Any] | None) -> int | None:
    if done is None or latest is None:
        return None
    lag = 0
    for topic, ends in latest.items():
        if topic != IDS:
            at = done.get(topic, {})
            lag += sum(max(0, end - at.get(index, 0)) for index, end in ends.items())
    return lag


def _offsets(told: Any) -> dict[str, Any] | None:
    """None for sources of other kinds."""
    if isinstance(told, str):
        try:
            told = json.loads(told)
        except ValueError:
            return None
    return told if isinstance(told, dict) and IDS in told else None
