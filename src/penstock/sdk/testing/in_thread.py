"""A broker in the process that tests run in: a node on an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future

from penstock.errors import Refused
from penstock.node import settings
from penstock.node.log_lines import TextLines
from penstock.node.node import Node
from penstock.node.run import best_loop
from penstock.sdk.errors import BrokerRefused, Misconfigured, TimedOut
from penstock.world.real import real_world

READY_S_MAX = 60.0
STOP_S_MAX = 30.0
LOG_LINES_MAX = 10_000
HANDLES = {"max.connections": "256"}
"""The process has other uses for its file handles."""


class InThread:
    """Cannot be killed, as threads cannot; everything else can be done to it."""

    def __init__(self) -> None:
        self._lines = _Lines()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._told_to_stop = asyncio.Event()
        self._may_run = threading.Event()

    def start(self, texts: Mapping[str, str]) -> int:
        ready: Future[int] = Future()
        self._may_run.set()
        self._told_to_stop = asyncio.Event()
        self._thread = threading.Thread(
            target=self._run, args=(dict(texts), ready), name="penstock-broker", daemon=True
        )
        self._lines.thread_name = self._thread.name
        logging.getLogger("penstock").addHandler(self._lines)
        self._thread.start()
        return ready.result(READY_S_MAX)

    def _run(self, texts: dict[str, str], ready: Future[int]) -> None:
        try:
            with asyncio.Runner(loop_factory=best_loop()) as runner:
                runner.run(self._live(texts, ready))
        except Exception as problem:
            if ready.done():
                raise
            reason = problem.message if isinstance(problem, Refused) else str(problem)
            ready.set_exception(BrokerRefused(f"the broker did not start: {reason}"))

    async def _live(self, texts: dict[str, str], ready: Future[int]) -> None:
        self._loop = asyncio.get_running_loop()
        node = Node(real_world(), settings.read({**HANDLES, **texts}))
        await node.start()
        ready.set_result(node.port)
        stopping = asyncio.create_task(self._told_to_stop.wait())
        await asyncio.wait((stopping, node.failed), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        await node.stop()

    def stop(self) -> None:
        self._may_run.set()
        thread, loop = self._thread, self._loop
        self._thread = self._loop = None
        logging.getLogger("penstock").removeHandler(self._lines)
        if thread is None or loop is None:
            return
        if thread.is_alive():
            loop.call_soon_threadsafe(self._told_to_stop.set)
        thread.join(STOP_S_MAX)
        if thread.is_alive():
            raise TimedOut(f"the broker has not stopped after {STOP_S_MAX:g} s")

    drop = stop

    def kill(self) -> None:
        raise Misconfigured(
            "a broker in this process cannot be killed without it: run it as a process of its own "
            "(in_process=False), or stop() it"
        )

    def pause(self) -> None:
        """Its loop waits, and with it everything that the broker does."""
        waits = threading.Event()

        def wait() -> None:
            waits.set()
            self._may_run.wait()

        if self._loop is not None:
            self._may_run.clear()
            self._loop.call_soon_threadsafe(wait)
            waits.wait(STOP_S_MAX)

    def resume(self) -> None:
        self._may_run.set()

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def logs(self) -> str:
        return "".join(f"{line}\n" for line in self._lines.kept)


class _Lines(logging.Handler):
    """What a broker's thread logs, at the level that the process is set to."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(TextLines())
        self.thread_name = ""
        self.kept: deque[str] = deque(maxlen=LOG_LINES_MAX)

    def emit(self, record: logging.LogRecord) -> None:
        if record.threadName == self.thread_name:
            self.kept.append(self.format(record))
