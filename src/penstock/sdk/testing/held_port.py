"""The port of a broker that is down, kept from everyone else until it comes back."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress

_REUSE = (socket.SOL_SOCKET, socket.SO_REUSEADDR)


class HeldPort:
    """Bound and not listened at: whoever connects is refused, as by a machine without a broker."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None

    def take(self, port: int) -> None:
        """Connections that are still closing down are no hindrance; who has taken it meanwhile is,
        and is told of by the broker that needs it."""
        if self._socket is not None:
            return
        self._socket = socket.socket()
        self._socket.setsockopt(*_REUSE, 1)
        try:
            self._socket.bind(("127.0.0.1", port))
        except OSError:
            self.release()
        else:
            self._socket.setsockopt(*_REUSE, 0)

    def hand_over(self) -> None:
        """A broker may bind it now. Linux lets it do so beside us, and others may not until we let
        go; elsewhere there is a moment in which they might."""
        if self._socket is None:
            return
        if sys.platform == "linux":
            self._socket.setsockopt(*_REUSE, 1)
        else:
            self.release()

    def release(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.close()
        self._socket = None
