"""Requests that name partitions wait for logs that take long to open, before they are handled.

So their handlers find all logs open, and need not care. What is not open after that is refused.
Produce and Fetch, which have more to think of, wait themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call, Handler
from penstock.api.opening import WAIT_MS_MAX, NotOpen
from penstock.api.outcome import Outcome, Resume
from penstock.api.slices import SLICE_HEAVY, in_slices
from penstock.errors import Refused
from penstock.log.partition_log import PartitionLog
from penstock.log.steps import Steps

Named = Callable[[Any], Iterable[tuple[str, int]]]
"""The partitions that a request names: topics and indexes."""


def _always(call: Call) -> bool:
    return True


def open_first(
    named: Named, *, may_wait: Callable[[Call], bool] = _always
) -> Callable[[Handler], Handler]:
    """Of a handler: it is called once the logs are open, or cannot be, or take too long. At once
    for calls that had better ask again than wait."""

    def decorate(handler: Handler) -> Handler:
        @wraps(handler)
        def opened(broker: Broker, request: Any, call: Call) -> Outcome[Any]:
            handle = partial(handler, broker, request, call)
            return _once_open(broker, request, named, handle, may_wait=may_wait(call))

        return opened

    return decorate


def _once_open(
    broker: Broker,
    request: Any,
    named: Named,
    handle: Callable[[], Outcome[Any]],
    *,
    may_wait: bool,
) -> Outcome[Any]:
    def found(closed: list[PartitionLog]) -> Outcome[Any]:
        if not closed or not may_wait:
            return handle()
        work = partial(broker.opening.waited_for, closed, _wait_ms(request))
        return Resume(work, lambda _: handle())

    return in_slices(broker, _closed(broker, named(request)), found)


def _closed(broker: Broker, named: Iterable[tuple[str, int]]) -> Steps[list[PartitionLog]]:
    found: list[PartitionLog] = []
    for number, (topic, index) in enumerate(named, 1):
        try:
            broker.read_leader(topic, index)
        except NotOpen as not_open:
            found.append(not_open.log)
        except Refused:
            pass  # the answer says so
        if number % SLICE_HEAVY == 0:
            yield None
    return found


def _wait_ms(request: Any) -> int:
    """Not all requests, nor all versions, say how long they wait."""
    timeout_ms: int = getattr(request, "timeout_ms", 0)
    return timeout_ms if timeout_ms > 0 else WAIT_MS_MAX
