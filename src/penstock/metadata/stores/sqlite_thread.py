"""The one thread that touches the file, and the work it does by itself between calls."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

Job = Callable[[], None]


class SqliteThread:
    """Runs calls in the order they come, and `pause` whenever it has said that it wants to be.

    `pause` is called between jobs and returns after how many seconds to call it again at the
    latest; None: not before there has been another job.
    """

    def __init__(self, pause: Callable[[], float | None]) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._pause = pause
        self._thread = threading.Thread(target=self._work, name="metadata-store", daemon=True)
        self._thread.start()

    async def run(self, call: Callable[..., T], *arguments: Any) -> T:
        """The call's result. It is carried out even if the caller has given up waiting."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def job() -> None:
            try:
                result = call(*arguments)
            except BaseException as problem:  # belongs to whoever called
                hand_over(loop, _fail, answer, problem)
            else:
                hand_over(loop, _answer, answer, result)

        self._jobs.put(job)
        return await answer

    async def stop(self) -> None:
        """Ends the thread once it has done what was asked before."""
        self._jobs.put(None)
        while self._thread.is_alive():
            await asyncio.sleep(0.001)

    def _work(self) -> None:
        wait: float | None = None
        while True:
            try:
                job = self._jobs.get(timeout=wait)
            except Empty:
                pass
            else:
                if job is None:
                    return
                job()
            wait = self._pause()


def hand_over(loop: asyncio.AbstractEventLoop, callback: Callable[..., None], *args: Any) -> None:
    """From the thread to the loop, if that is still there."""
    try:
        loop.call_soon_threadsafe(callback, *args)
    except RuntimeError:
        if not loop.is_closed():
            raise


def _answer(answer: asyncio.Future[T], result: T) -> None:
    if not answer.done():
        answer.set_result(result)


def _fail(answer: asyncio.Future[Any], problem: BaseException) -> None:
    if not answer.done():
        answer.set_exception(problem)
