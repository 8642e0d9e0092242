"""Where the time goes until a broker is ready: the interpreter, imports by package, the rest."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter

LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s*(\S+)")
OURS = "penstock"
RUNS = 5


def import_table(shown: int) -> str:
    """As Markdown. Imports are timed one by one, which makes them look a little dearer."""
    bare_ms, _ = _best(["-c", "pass"])
    ready_ms, told = _best(["-X", "importtime", "-m", "penstock", "serve"])
    by_package: Counter[str] = Counter()
    for self_us, name in LINE.findall(told):
        by_package[_package(name)] += int(self_us)
    imports_ms = _total_ms(told) - _total_ms(_best(["-X", "importtime", "-c", "pass"])[1])
    rows = [
        f"| the bare interpreter | {bare_ms:.0f} |",
        f"| imports | {imports_ms:.0f} |",
        f"| opening store, log and socket; the rest | {ready_ms - bare_ms - imports_ms:.0f} |",
    ]
    rows += [
        f"| importing {name} | {us / 1000:.1f} |" for name, us in by_package.most_common(shown)
    ]
    return "### start\n\n| phase | ms |\n|---|---|\n" + "\n".join(rows) + "\n"


def _package(name: str) -> str:
    """Ours by the second name, others by the first."""
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == OURS else parts[0]


def _total_ms(told: str) -> float:
    return sum(int(self_us) for self_us, _ in LINE.findall(told)) / 1000


def _best(arguments: list[str]) -> tuple[float, str]:
    """Of several runs, the first of which may have had to compile."""
    return min(_timed([sys.executable, *arguments]) for _ in range(RUNS))


def _timed(command: list[str]) -> tuple[float, str]:
    """ms until it prints a line or ends, whatever comes first; what it said on standard error."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as errors:
        if command[-1] == "serve":
            command = [*command, "--listen", "127.0.0.1:0", "--data-dir", f"{folder}/data"]
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        began = time.perf_counter()
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            took_ms = 1000 * (time.perf_counter() - began)
            process.terminate()
        errors.seek(0)
        return took_ms, errors.read()
