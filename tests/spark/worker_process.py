"""`pipeline_worker`, started, and killed by itself where that was asked for.

Workers are forked from a process that has imported what they need, which takes seconds, and has
done nothing else.
"""

from __future__ import annotations

import signal
import tempfile
import traceback
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import NamedTuple

from tests.spark import pipeline_worker

from penstock.spark.tables.topic_table import TableFormat

ROOT = Path(__file__).parents[2]
_NEEDED = ["tests.spark.pipeline_worker", "penstock.spark.tables.iceberg.table"]
_WAIT_S = 100


class Worker(NamedTuple):
    process: ForkServerProcess
    told: Path
    """Where it writes of what it dies, if it is not killed."""

    def end(self) -> tuple[int, str]:
        """Its return code, and what it says."""
        self.process.join(_WAIT_S)
        assert self.process.exitcode is not None, "it does not end"
        told = self.told.read_text()
        self.told.unlink()
        return self.process.exitcode, told


def work(
    verb: str,
    address: str,
    topic: str,
    folder: Path,
    point: str = "",
    form: TableFormat = TableFormat.DELTA,
) -> bool:
    """Whether it lived to the end."""
    code, told = start(verb, address, topic, folder, point, form).end()
    assert code in (0, -signal.SIGKILL), told
    return code == 0


def start(
    verb: str,
    address: str,
    topic: str,
    folder: Path,
    point: str = "",
    form: TableFormat = TableFormat.DELTA,
) -> Worker:
    context = get_context("forkserver")
    context.set_forkserver_preload(_NEEDED)
    with tempfile.NamedTemporaryFile(delete=False) as file:
        told = Path(file.name)
    given = (told, verb, address, topic, str(folder), form, point)
    process = context.Process(target=_run, args=given, daemon=True)
    process.start()
    return Worker(process, told)


def _run(told: Path, *given: str) -> None:
    try:
        pipeline_worker.main(*given)
    except Exception:
        told.write_text(traceback.format_exc())
        raise SystemExit(1) from None
