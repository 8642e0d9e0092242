"""Producers that nobody has closed: their messages are not lost without a word.

As a file that is dropped, such a producer does what it can, and warns. What could not be delivered
is logged as an error: Python hides warnings of this kind unless it is asked to show them.
"""

from __future__ import annotations

import atexit
import logging
import os
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from penstock.sdk.errors import DeliveryFailed, PenstockError

if TYPE_CHECKING:
    from penstock.sdk.producer import Producer

DROPPED_S_MAX = 5.0
"""Whoever drops the last reference waits meanwhile."""

_open: WeakSet[Producer[Any]] = WeakSet()


def watch(producer: Producer[Any]) -> None:
    _open.add(producer)


def end(producer: Producer[Any], limit_s: float) -> None:
    with suppress(PenstockError):  # which `close` tells, too
        producer.poll(0)  # librdkafka's log lines count as waiting, too, until they are served
    waiting, lost, why = len(producer) if producer.router.counts else 0, 0, ""
    producer.timeout = min(producer.timeout, limit_s)
    try:
        producer.close()
    except PenstockError as error:
        lost = error.count if isinstance(error, DeliveryFailed) else waiting
        why = f": {error}"
    if not waiting and not lost:
        return
    told = (
        f"a producer for {producer.bootstrap} was not closed, and {waiting} messages were on their "
        f"way; {lost} of them were not delivered{why}. Use `with Producer(...) as producer:`"
    )
    if lost:
        logging.getLogger("penstock.sdk").error(told)
    warnings.warn(told, ResourceWarning, stacklevel=3)


@atexit.register
def _at_exit() -> None:
    for producer in list(_open):
        if not producer.is_closed:
            end(producer, producer.timeout)


def _in_child() -> None:
    """librdkafka's threads are not there after a fork."""
    for producer in list(_open):
        producer.give_up(
            PenstockError(
                "this producer was made before the process was forked, and works in the other one "
                "only: make one in each process"
            )
        )
        producer.is_closed = True
    _open.clear()


os.register_at_fork(after_in_child=_in_child)
