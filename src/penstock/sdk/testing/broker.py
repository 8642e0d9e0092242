"""A broker for tests, and what can happen to it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from penstock.sdk.admin_line import Value
from penstock.sdk.errors import Misconfigured
from penstock.sdk.testing.endpoint import Endpoint
from penstock.sdk.testing.held_port import HeldPort
from penstock.sdk.testing.nursery import shared_nursery
from penstock.sdk.testing.settings import for_tests
from penstock.sdk.testing.vessels import Process, Vessel
from penstock.sdk.testing.watched_folder import WatchedFolder


class Broker(Endpoint):
    """Running until it is told otherwise. Its port stays the same, and its own while it is down."""

    def __init__(
        self,
        vessel: Vessel,
        folder: Path,
        settings: Mapping[str, Value],
        *,
        node_id: int = 1,
        forget: Callable[[], None] | None = None,
    ) -> None:
        """`forget` is called when it is gone, for what it leaves behind."""
        super().__init__()
        self.node_id = node_id
        self.port = 0
        self.is_paused = False
        self._vessel = vessel
        self._held_port = HeldPort()
        self._forget = forget or (lambda: None)
        self._settings = {
            **for_tests(settings),
            "node.id": str(node_id),
            "log.dir": str(folder / f"broker-{node_id}"),
        }
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def is_running(self) -> bool:
        """Also while it is paused."""
        return self._vessel.is_running

    @property
    def logs(self) -> str:
        """All that it has logged so far."""
        return self._vessel.logs

    def kill(self) -> None:
        """As a crash does it: kill -9. What it had acknowledged is there after a restart."""
        self._vessel.kill()
        self._held_port.take(self.port)
        self.is_paused = False

    def stop(self) -> None:
        """As an operator does it: cleanly."""
        self.resume()
        self._vessel.stop()
        self._held_port.take(self.port)

    def pause(self) -> None:
        """It hangs: connections stay, and nothing is answered. To the others of a cluster it is
        dead after a while."""
        if not self.is_running:
            raise Misconfigured(f"broker {self.node_id} is not running: restart() it first")
        self._vessel.pause()
        self.is_paused = True

    def resume(self) -> None:
        if self.is_paused:
            self._vessel.resume()
        self.is_paused = False

    def restart(self) -> None:
        """With its data, and at the same port; one that still runs is stopped first."""
        self.stop()
        self._start()

    def mend(self) -> None:
        """Whatever was done to it: it runs."""
        self.resume()
        if not self.is_running:
            self._start()

    def _start(self) -> None:
        self._held_port.hand_over()
        self.port = self._vessel.start({**self._settings, "listeners": self.bootstrap})
        self._held_port.release()

    def close(self) -> None:
        """It is gone, with all that it had."""
        super().close()
        self.resume()
        self._vessel.drop()
        self._held_port.release()
        self._forget()


def running_broker(
    settings: Mapping[str, Value] | None = None, *, in_process: bool = False
) -> Broker:
    """A context manager: a broker in a process of its own, or in a thread of this one."""
    if in_process:
        from penstock.sdk.testing.in_thread import InThread  # noqa: PLC0415

        watched = WatchedFolder()
        return Broker(InThread(), watched.path, settings or {}, forget=watched.remove)
    nursery = shared_nursery()
    folder = nursery.new_folder()
    vessel = Process(nursery, folder / "broker.log")
    return Broker(vessel, folder, settings or {}, forget=partial(shutil.rmtree, folder))
