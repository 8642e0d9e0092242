"""Where the time goes in each measurement: `python -m bench.profiles [NAME ...]`, as Markdown."""

from __future__ import annotations

import pstats
import sys
import tempfile
from pathlib import Path

from bench.run import MEASUREMENTS

SHOWN = 12
PROFILED = (
    "produce_large",
    "produce_small",
    "produce_latency",
    "produce_synced",
    "consume",
    "commits",
)


def main(names: list[str]) -> int:
    for name in names or PROFILED:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "profile"
            MEASUREMENTS[name](path)
            print(table(name, pstats.Stats(str(path))))
    return 0


def table(name: str, stats: pstats.Stats) -> str:
    """The functions that take most time themselves, callees not counted."""
    rows = []
    functions = stats.get_stats_profile().func_profiles
    total = sum(each.tottime for each in functions.values())
    for title, each in sorted(functions.items(), key=lambda item: -item[1].tottime)[:SHOWN]:
        where = Path(each.file_name).name
        called = each.ncalls.partition("/")[0]
        rows.append(f"| {title} | {where} | {called} | {100 * each.tottime / total:.0f} % |")
    head = f"### {name}\n\n| function | file | calls | share |\n|---|---|---|---|\n"
    return head + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
