"""Carrying out what a handler returned that has to wait, until there is an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from penstock.api.call import Call
from penstock.api.outcome import Change, Resume
from penstock.errors import Refused

MakeChange = Callable[[Any], Awaitable[Any]]
"""Of the cluster's metadata, by a decision on the image."""

Begun = tuple[Call, Any]
"""A request, and what its handler has returned."""


async def at_hand(call: Call, outcome: Any) -> Begun:
    return call, outcome


async def unwound(call: Call, outcome: Any, change: MakeChange) -> Any:
    """The answer, or something that waits off the queue. Raises OSError."""
    try:
        while isinstance(outcome, Resume | Change):
            if isinstance(outcome, Resume):
                work: Awaitable[Any] = outcome.work()
                outcome = outcome.then(await work)
            else:
                outcome = await _changed(outcome, change)
    except OSError:
        raise
    except Exception as error:
        return call.failure(error)
    return outcome


async def _changed(wanted: Change[Any], change: MakeChange) -> Any:
    try:
        answer = await change(wanted.decide)
    except Refused as refused:
        if wanted.otherwise is None:
            raise
        return wanted.otherwise(refused)
    return wanted.then(answer)
