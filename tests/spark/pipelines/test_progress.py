"""Progress from what Spark tells of queries."""

from __future__ import annotations

import json
from typing import Any

from penstock.spark.pipelines.progress import Progress, added, dead_letters_in, lag_of


def told(rows: int, done: dict[str, int], latest: dict[str, int]) -> dict[str, Any]:
    ids = {"/ids": {"t": "00"}}
    source = {
        "endOffset": json.dumps({"t": done, **ids}),
        "latestOffset": json.dumps({"t": latest, **ids}),
    }
    return {"numInputRows": rows, "processedRowsPerSecond": 5.0, "sources": [source]}


def test_rows_add_up_and_the_last_batch_tells_rate_and_lag() -> None:
    first = told(10, {"0": 10}, {"0": 30, "1": 5})
    empty = {**told(0, {"0": 30, "1": 5}, {"0": 30, "1": 5}), "processedRowsPerSecond": 0.0}
    assert added(Progress(), [first]) == Progress(1, 10, 5.0, 25)
    assert added(Progress(), [first, first, empty]) == Progress(2, 20, 0.0, 0)


def test_a_source_that_has_no_offsets_of_ours_has_no_lag() -> None:
    files = {"sources": [{"endOffset": '{"logOffset": 3}', "latestOffset": "null"}]}
    assert lag_of(files) is None
    assert lag_of({"sources": [*files["sources"], *told(1, {"0": 1}, {"0": 3})["sources"]]}) == 2
    assert lag_of({"sources": [{"endOffset": "no JSON", "latestOffset": None}]}) is None


def test_dead_letters_are_counted_where_they_are_sent() -> None:
    one = {"observedMetrics": {"dead_letters_a": {"dead_letters": 3}}}
    assert dead_letters_in([one, {}, one]) == 6
