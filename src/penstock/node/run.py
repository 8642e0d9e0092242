"""`penstock serve`: run a broker until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module

from penstock.errors import Refused, Unusable
from penstock.metadata.store import Unavailable, Unknown
from penstock.node import log_lines, settings
from penstock.node.garbage import look_after_garbage
from penstock.node.node import Node
from penstock.node.settings import NodeSettings
from penstock.world.real import real_world

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
HANDLES_MIN = 256
"""With fewer, connections and logs would soon fail each other."""
HANDLES_FOR_FILES = 10_000
FEW_CONNECTIONS = 10_000

log = logging.getLogger(__name__)


def serve(texts: Mapping[str, str]) -> int:
    """The exit code: 0 after a clean stop, 1 when the broker could not start or go on."""
    try:
        wanted = settings.read(texts)
        log_lines.set_up(wanted.broker.log_level, wanted.broker.log_format)
        wanted = fitted(wanted, raise_file_limit())
        with asyncio.Runner(loop_factory=best_loop()) as runner:
            return runner.run(_serve(wanted))
    except Refused as refused:
        return _give_up(refused.message)
    except (Unusable, Unavailable, Unknown, OSError) as problem:
        return _give_up(str(problem))


def _give_up(reason: str) -> int:
    sys.stderr.write(f"penstock: {reason}\n")
    return 1


async def _serve(wanted: NodeSettings) -> int:
    loop = asyncio.get_running_loop()
    told_to_stop = asyncio.Event()
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it for SIGHUP
            loop.add_signal_handler(number, told_to_stop.set)
    gc.enable()
    node = Node(real_world(), wanted)
    await node.start()
    where = settings.address(node.host, node.port)
    sys.stdout.write(f"penstock ready: broker {wanted.broker.node_id} at {where}\n")
    sys.stdout.flush()
    garbage = asyncio.create_task(look_after_garbage())
    stopping = asyncio.create_task(told_to_stop.wait())
    await asyncio.wait((stopping, node.failed), return_when=asyncio.FIRST_COMPLETED)
    garbage.cancel()
    if node.failed.done():
        log.critical("stopping at once: %s", node.failed.result())
        return 1
    log.info("stopping")
    await node.stop()
    return 0


def best_loop() -> Callable[[], asyncio.AbstractEventLoop]:
    """uvloop where it is installed; the standard loop does it too, at a higher cost."""
    try:
        return import_module("uvloop").new_event_loop  # type: ignore[no-any-return]
    except ImportError:
        return asyncio.new_event_loop


def raise_file_limit() -> int:
    """Every connection and every open log file takes a handle; how many there may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= hard < HANDLES_MIN:
        raise Unusable(
            f"the process may have {hard} file handles, and a broker needs at least {HANDLES_MIN}: "
            "raise the limit (ulimit -n)"
        )
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def connections_most(handles: int) -> int:
    return handles - min(handles * 5 // 8, HANDLES_FOR_FILES)


def fitted(wanted: NodeSettings, handles: int) -> NodeSettings:
    """No more connections than leave enough handles for the log."""
    most = connections_most(handles)
    if wanted.broker.max_connections <= most:
        return wanted
    if "max.connections" in wanted.texts or most < FEW_CONNECTIONS:
        log.warning(
            "max.connections is %d, because the process may have %d file handles", most, handles
        )
    return replace(wanted, broker=replace(wanted.broker, max_connections=most))
