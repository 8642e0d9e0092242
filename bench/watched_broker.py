"""A broker on a core of its own that says for how long its loop is held (`bench.holds`)."""

from __future__ import annotations

import json
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.group_members import FIND_VERSION
from bench.pinned_broker import PinnedBroker
from bench.raw_client import RawClient
from penstock.wire.messages.k10_find_coordinator import FindCoordinatorRequest


class Held(NamedTuple):
    """In ms of the processor's time, since the last look."""

    longest: float
    collecting: float
    """The longest collection of garbage in it."""


class WatchedBroker:
    def __init__(self, broker: PinnedBroker, out: Path) -> None:
        self.host, self.port, self.process = broker.host, broker.port, broker.process
        self.cpu_seconds = broker.cpu_seconds
        self._out = out

    def look(self) -> Held:
        self._out.unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR1)
        while not self._out.exists():
            time.sleep(0.01)
        return Held(*json.loads(self._out.read_text()))


@contextmanager
def watched_broker(profile: Path | None) -> Iterator[tuple[WatchedBroker, RawClient]]:
    """Its groups can be asked for."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "holds.json"
        under = ("-m", "bench.holds", str(out))
        with PinnedBroker(profile=profile, under=under) as broker, broker.client() as client:
            _await_coordinator(client)
            yield WatchedBroker(broker, out), client


def _await_coordinator(client: RawClient) -> None:
    request = FindCoordinatorRequest(coordinator_keys=["any"])
    while client.request(request, FIND_VERSION).coordinators[0].error_code:
        time.sleep(0.05)
