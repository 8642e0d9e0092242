"""Where the time and the memory go: `python -m bench.profiles [NAME ...]`, as Markdown."""

from __future__ import annotations

import json
import pstats
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.footprint import MEASURED, WARMING, request_us, write_to_many
from bench.pinned_broker import PinnedBroker
from bench.run import MEASUREMENTS
from bench.start_profile import import_table

SHOWN = 12
TIMED = (
    "produce_large",
    "produce_small",
    "produce_latency",
    "produce_synced",
    "consume",
    "commits",
)


def main(names: list[str]) -> int:
    for name in names or (*TIMED, *OTHERS):
        print(OTHERS[name]() if name in OTHERS else table(name, profiled(MEASUREMENTS[name])))
    return 0


def profiled(measure: Callable[[Path], object]) -> pstats.Stats:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile"
        measure(path)
        return pstats.Stats(str(path))


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


def start() -> str:
    return import_table(SHOWN)


def memory() -> str:
    """The types whose objects take most, in a broker with 1,000 partitions that were written to."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "census"
        with PinnedBroker(under=("-m", "bench.census", str(out))) as broker:
            empty = _census(broker, out)
            write_to_many(broker)
            full = _census(broker, out)
    rows = []
    for name, (count, size) in list(full.items())[:SHOWN]:
        before = empty.get(name, (0, 0))[1]
        rows.append(f"| {name} | {count} | {size / 1e6:.2f} | {(size - before) / 1e6:.2f} |")
    totals = [sum(size for _, size in each.values()) / 1e6 for each in (empty, full)]
    return (
        f"### memory\n\nObjects take {totals[1]:.1f} MB, "
        f"{totals[0]:.1f} MB of them before there was a partition.\n\n"
        "| type | objects | MB | MB by partitions |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _census(broker: PinnedBroker, out: Path) -> dict[str, tuple[int, int]]:
    """Objects and bytes by type, the largest first."""
    out.unlink(missing_ok=True)
    broker.process.send_signal(signal.SIGUSR1)
    while not out.exists():
        time.sleep(0.05)
    counted: dict[str, tuple[int, int]] = json.loads(out.read_text())
    return counted


def partitions() -> str:
    """The same requests to a topic of 1 partition and to one of 10,000, function by function."""
    few, many = (profiled(partial(request_us, count)).get_stats_profile() for count in (1, 10_000))
    requests = WARMING + MEASURED
    rows = []
    functions = sorted(many.func_profiles.items(), key=lambda item: -item[1].tottime)
    for title, each in functions[:SHOWN]:
        before = few.func_profiles.get(title)
        costs = [1e6 * (known.tottime if known else 0) / requests for known in (before, each)]
        rows.append(f"| {title} | {Path(each.file_name).name} | {costs[0]:.2f} | {costs[1]:.2f} |")
    head = "| function | file | us a request with 1 | with 10,000 |\n|---|---|---|---|\n"
    return "### partitions\n\n" + head + "\n".join(rows) + "\n"


OTHERS: dict[str, Callable[[], str]] = {
    "start": start,
    "memory": memory,
    "partitions": partitions,
}
"""What is not told by the functions that take most time."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
