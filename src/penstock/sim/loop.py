"""The event loop of one simulated process, on a scheduler that all of them share.

That each process has its own is what makes it possible to kill one, or to stop it for a while: its
callbacks are known by their loop. There are no sockets, no threads and no signals.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar

from penstock.sim.scheduler import Scheduler
from penstock.sim.trace import name_of

T = TypeVar("T")

CLOSING_TRIES = 8


class Handle(asyncio.TimerHandle):
    """Lighter than asyncio's own, which would copy a context that nobody here looks at."""

    __slots__ = ("arguments", "callback", "context", "is_cancelled", "loop", "when_s")

    def __init__(
        self,
        loop: VirtualLoop,
        when_s: float,
        callback: Callable[..., object],
        arguments: tuple[object, ...],
        context: Context | None,
    ) -> None:
        self.loop = loop
        self.when_s = when_s
        self.callback = callback
        self.arguments = arguments
        self.context = context
        self.is_cancelled = False

    def __repr__(self) -> str:
        return f"<{self.told()} at {self.when_s}>"

    def run(self) -> None:
        if self.context is None:
            self.callback(*self.arguments)
        else:
            self.context.run(self.callback, *self.arguments)

    def told(self) -> str:
        """What it calls, the same in every run: no addresses, no counted names."""
        return name_of(self.callback)

    def cancel(self) -> None:
        self.is_cancelled = True
        self.arguments = ()  # or what they hold would live until its time comes

    def cancelled(self) -> bool:
        return self.is_cancelled

    def when(self) -> float:
        return self.when_s

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


class VirtualLoop(asyncio.AbstractEventLoop):
    def __init__(self, scheduler: Scheduler, name: str) -> None:
        self.scheduler = scheduler
        self.name = name
        self.is_dead = False
        self.is_paused = False
        self._held: list[Handle] = []
        self._orphans: list[asyncio.Task[Any]] = []
        self._asleep = False
        """Dead or paused: one look for the scheduler."""

    # Callbacks

    def time(self) -> float:
        return self.scheduler.now_s

    def call_soon(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        handle = Handle(self, self.scheduler.now_s, callback, args, context)
        if not self.is_dead:
            self.scheduler.soon(handle)
        return handle

    def call_at(
        self,
        when: float,
        callback: Callable[..., object],
        *args: object,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = Handle(self, when, callback, args, context)
        if not self.is_dead:
            self.scheduler.later(handle, when)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[..., object],
        *args: object,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self.scheduler.now_s + delay, callback, *args, context=context)

    def call_soon_threadsafe(self, *_: object, **__: object) -> asyncio.Handle:
        raise RuntimeError("there are no threads in a simulation")

    def run_in_executor(self, *_: object) -> asyncio.Future[Any]:
        raise RuntimeError("there are no threads in a simulation: use the world's disk.offload")

    # Tasks

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, T], *, name: str | None = None, context: Any = None
    ) -> asyncio.Task[T]:
        made = asyncio.Task(coro, loop=self, name=name, context=context)
        if self.is_dead:  # made on the way out, in a `finally`: it will never begin
            self._orphans.append(made)
        return made

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Called where nobody else is told: by tasks whose exception was never asked for."""
        if not self.is_dead:
            problem = context.get("exception")
            self.scheduler.fail(f"{self.name}: {context.get('message')}: {problem!r}")

    # Life

    def keeps(self, handle: Handle) -> bool:
        """Whether a callback that is due must not run now."""
        if self._asleep:
            if not self.is_dead:
                self._held.append(handle)
            return True
        return False

    def pause(self) -> None:
        """As SIGSTOP does: what falls due meanwhile is late."""
        self.is_paused = self._asleep = True

    def resume(self) -> None:
        if self.is_dead or not self.is_paused:
            return
        self.is_paused = self._asleep = False
        held, self._held = self._held, []
        for handle in held:
            self.scheduler.soon(handle)

    def kill(self) -> None:
        """Nothing of it runs any more. Its tasks are kept, or their `finally` would run now."""
        if not self.is_dead:
            self._orphans = [*asyncio.all_tasks(self)]
            self.is_dead = self._asleep = True
            self._held.clear()

    def bury(self) -> None:
        """After the run: take the tasks apart, while nothing they do has an effect any more."""
        for task in self._orphans:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            _close(task.get_coro())
        self._orphans.clear()

    # What asyncio asks of a loop besides

    def is_running(self) -> bool:
        return not self.is_dead

    def is_closed(self) -> bool:
        return self.is_dead

    def get_debug(self) -> bool:
        return False


def virtual_loop(scheduler: Scheduler, name: str) -> VirtualLoop:
    """What else asyncio's loops can do raises NotImplementedError here."""
    return VirtualLoop(scheduler, name)  # type: ignore[abstract]


def _close(coroutine: Any) -> None:
    """It may still await on its way out, more than once."""
    for _ in range(CLOSING_TRIES):
        try:
            coroutine.close()
            return
        except BaseException:  # noqa: S112
            continue
