"""Which connections can be received from or sent to, told a share at a time.

A loop calls for every socket that is ready before it does anything else, and takes 8 us to leave
one alone that was ready: with ten thousand at once it stood still for 80 ms. So all sockets are in
one `epoll` of ours, which is all that the loop sees of them. What there is no time for stays ready,
and is told in the next round of the loop. To begin or to end waiting for a socket takes a
microsecond.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from time import monotonic

SHARE_S = 0.004
"""Of one round of the loop."""
AT_ONCE = 64
"""Sockets asked for in one go."""

Callback = Callable[[], None]


class Watched:
    """A socket, and who is to be called for it."""

    __slots__ = ("_epoll", "_fd", "_mask", "_watched", "readable", "writable")

    def __init__(self, epoll: select.epoll, watched: dict[int, Watched], fd: int) -> None:
        self._epoll = epoll
        self._watched = watched
        self._fd = fd
        self._mask = 0
        self.readable: Callback | None = None
        self.writable: Callback | None = None

    def on_readable(self, callback: Callback | None) -> None:
        self.readable = callback
        self._follow()

    def on_writable(self, callback: Callback | None) -> None:
        self.writable = callback
        self._follow()

    def _follow(self) -> None:
        """A socket that nobody waits for is not in it: its end would be told all the time."""
        mask = 0 if self.readable is None else select.EPOLLIN
        if self.writable is not None:
            mask |= select.EPOLLOUT
        before, self._mask = self._mask, mask
        if before == mask:
            return
        if not mask:
            self._epoll.unregister(self._fd)
            del self._watched[self._fd]
        elif before:
            self._epoll.modify(self._fd, mask)
        else:
            self._epoll.register(self._fd, mask)
            self._watched[self._fd] = self

    def call(self, events: int) -> None:
        """An error or the end of a connection is for whoever waits: they find it out."""
        if self.readable is not None and events & ~select.EPOLLOUT:
            self.readable()
        if self.writable is not None and events & ~select.EPOLLIN:
            self.writable()


class Readiness:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._epoll = select.epoll()
        self._watched: dict[int, Watched] = {}
        loop.add_reader(self._epoll.fileno(), self._tell)

    def watch(self, fd: int) -> Watched:
        return Watched(self._epoll, self._watched, fd)

    def _tell(self) -> None:
        """Those that were closed by one before them are not there any more."""
        watched = self._watched
        events = self._epoll.poll(0, AT_ONCE)
        until = monotonic() + SHARE_S
        while True:
            for fd, event in events:
                if (each := watched.get(fd)) is not None:
                    each.call(event)
            if len(events) < AT_ONCE or monotonic() > until:
                return
            events = self._epoll.poll(0, AT_ONCE)
