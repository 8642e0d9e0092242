"""What was counted, as bars in the terminal: a line for each window and level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

import click

Key = tuple[datetime, str]
"""When a window begins, and a level."""

WINDOWS_MAX = 20
WIDTH = 50
_COLOURS = dict.fromkeys(("ERROR", "FATAL", "CRITICAL"), "red") | dict.fromkeys(
    ("WARN", "WARNING"), "yellow"
)


def counts_in(folder: str) -> dict[Key, int]:
    """Of a log aggregation's table, over all services."""
    import pyarrow.parquet as pq  # noqa: PLC0415
    from deltalake import DeltaTable  # noqa: PLC0415

    counts: Counter[Key] = Counter()
    for uri in DeltaTable(folder).file_uris():
        for row in pq.read_table(uri, columns=["start", "level", "lines"]).to_pylist():
            counts[row["start"], row["level"]] += row["lines"]
    return dict(counts)


def chart(counts: Mapping[Key, int]) -> list[str]:
    """The last windows, in order; the largest count fills the width."""
    if not counts:
        return ["nothing was counted yet"]
    windows = sorted({start for start, _ in counts})
    shown = windows[-WINDOWS_MAX:]
    rows = sorted(key for key in counts if key[0] >= shown[0])
    most = max(counts[key] for key in rows)
    broad = max(len(level) for _, level in rows)
    firsts = dict(reversed(rows))
    lines = [_line(key, counts[key], most, broad, key in firsts.items()) for key in rows]
    if len(windows) > len(shown):
        lines.insert(0, f"the last {len(shown)} of {len(windows)} windows")
    return lines


def _line(key: Key, count: int, most: int, broad: int, is_first: bool) -> str:
    start, level = key
    when = start.strftime("%Y-%m-%d %H:%M:%S") if is_first else " " * 19
    bar = click.style("█" * max(1, round(count / most * WIDTH)), fg=_COLOURS.get(level, "green"))
    return f"{when}  {level:{broad}}  {bar} {count}"
