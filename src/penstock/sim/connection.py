"""One end of a simulated connection: what has arrived, what is under way, and who is told.

Readiness is told as a kernel tells it to a loop: again and again, for as long as it lasts. How many
bytes are taken or given at once is drawn, so that nothing depends on whole messages.
"""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from penstock.sim.loop import VirtualLoop
from penstock.sim.storage import problem
from penstock.world.ports import FileRange, Part

if TYPE_CHECKING:
    from penstock.sim.network import Internet

BUFFER_BYTES = (16 << 10, 256 << 10)
"""Between these is the room for what is under way and not yet received."""
PARTLY = 0.05
"""How often only a part of what could be sent or received is."""
END = b""
RESET = None


class SimConnection:
    other: SimConnection

    def __init__(self, internet: Internet, loop: VirtualLoop, host: str, peer: str) -> None:
        self._internet = internet
        self._random = internet.random
        self.loop = loop
        self.host = host
        self.peer = peer
        self.is_closed = False
        self._is_reset = False
        self._has_ended = False
        self._inbox = bytearray()
        self._coming: deque[bytes | None] = deque()
        """Sent by the other end and not here yet; the end or a reset comes last."""
        self._coming_bytes = 0
        self._due = 0
        """How many of those would be here by now, were the link whole."""
        self._last_due_s = 0.0
        self._room = self._random.randint(*BUFFER_BYTES)
        self._readable = _Signal(self, self._can_receive)
        self._writable = _Signal(self, self._can_send)

    def join(self, other: SimConnection) -> None:
        self.other, other.other = other, self
        self._internet.connections.update({self: None, other: None})

    # The port

    def recv_into(self, buffer: memoryview) -> int | None:
        if not self._inbox:
            return 0 if self._has_ended or self._is_reset or self.is_closed else None
        count = self._some(min(len(buffer), len(self._inbox)))
        buffer[:count] = self._inbox[:count]
        del self._inbox[:count]
        self.other._writable.look()
        return count

    def send(self, parts: Sequence[Part]) -> int:
        if self.is_closed:
            raise problem(errno.EBADF, self.peer)
        if self._is_reset:
            raise ConnectionResetError(f"{self.peer} has reset the connection")
        room = self.other._free()
        if room <= 0:
            return 0
        data = _gathered(parts, self._some(room))
        if data:
            self.other._expect(data)
        return len(data)

    def on_readable(self, callback: Callable[[], None] | None) -> None:
        self._readable.tell(callback)

    def on_writable(self, callback: Callable[[], None] | None) -> None:
        self._writable.tell(callback)

    def close(self) -> None:
        """Bytes that were never received make it a reset, as they do with TCP."""
        if self.is_closed:
            return
        self._leave()
        self.other._expect(RESET if self._inbox else END)

    # The other end, and the network

    def reset(self) -> None:
        if not self.is_closed and not self._is_reset:
            self._is_reset = True
            self._internet.connections.pop(self, None)
            self._readable.look()
            self._writable.look()

    def reset_both(self) -> None:
        self.reset()
        self.other.reset()

    def hold_up(self, seconds: float) -> None:
        """What this end sends from now on takes at least so long, also if it is closed meanwhile:
        so the other end gets what has been given up here."""
        other = self.other
        other._last_due_s = max(other._last_due_s, self._internet.loop.time() + seconds)

    def pump(self) -> None:
        """Bring in what is due, unless the link is cut."""
        while self._due and not self._internet.is_cut(self.other.host, self.host):
            self._due -= 1
            self._arrived(self._coming.popleft())

    def _expect(self, data: bytes | None) -> None:
        internet = self._internet
        self._coming.append(data)
        self._coming_bytes += len(data or END)
        due_s = max(self._last_due_s, internet.loop.time() + internet.delay_s())
        self._last_due_s = due_s
        internet.loop.call_at(due_s, self._falls_due)

    def _falls_due(self) -> None:
        self._due += 1
        self.pump()

    def _arrived(self, data: bytes | None) -> None:
        self._coming_bytes -= len(data or END)
        if data is RESET:
            self.reset()
        elif self.is_closed:
            if data:
                self.other._expect(RESET)
        elif data:
            self._inbox += data
        else:
            self._has_ended = True
        self._readable.look()

    def _free(self) -> int:
        return self._room - self._coming_bytes - len(self._inbox)

    def _can_receive(self) -> bool:
        return bool(self._inbox) or self._has_ended or self._is_reset

    def _can_send(self) -> bool:
        return self._is_reset or self.other._free() > 0

    def _some(self, most: int) -> int:
        return self._random.randint(1, most) if self._random.random() < PARTLY else most

    def _leave(self) -> None:
        self.is_closed = True
        self._readable.tell(None)
        self._writable.tell(None)
        self._internet.connections.pop(self, None)


class _Signal:
    """Calls on the process's loop for as long as something is so and somebody listens."""

    __slots__ = ("_callback", "_connection", "_is_awaited", "_is_so")

    def __init__(self, connection: SimConnection, is_so: Callable[[], bool]) -> None:
        self._connection = connection
        self._is_so = is_so
        self._callback: Callable[[], None] | None = None
        self._is_awaited = False

    def tell(self, callback: Callable[[], None] | None) -> None:
        self._callback = callback
        self.look()

    def look(self) -> None:
        if self._callback is not None and not self._is_awaited and self._is_so():
            self._is_awaited = True
            self._connection.loop.call_soon(self._call)

    def _call(self) -> None:
        self._is_awaited = False
        if self._callback is not None and self._is_so():
            self._callback()
            self.look()


def _gathered(parts: Sequence[Part], most: int) -> bytes:
    """The first bytes of all that is to be sent; those in files are read now."""
    found: list[bytes] = []
    for part in parts:
        if most <= 0:
            break
        count = min(most, len(part))
        if isinstance(part, FileRange):
            found.append(part.file.read(part.position, count))
            if len(found[-1]) < count:
                raise OSError(f"{part.file.path} is shorter than was promised")
        else:
            found.append(bytes(memoryview(part)[:count]))
        most -= count
    return b"".join(found)
