"""fdatasync by the kernel's own workers, through Linux's asynchronous I/O.

A thread that has synced a file must take the interpreter's lock to say so, and a busy loop gives
that away only every few milliseconds: the sync would seem to take as long. Here no thread is
involved: the kernel makes an event descriptor readable, which the loop watches like any socket.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import platform
from collections.abc import Sequence
from ctypes import c_int16, c_int64, c_long, c_uint16, c_uint32, c_uint64

_SYSCALLS = {"x86_64": (206, 207, 208, 209), "aarch64": (0, 1, 4, 2)}
"""io_setup, io_destroy, io_getevents, io_submit, by machine."""
_FDSYNC = 3
_WITH_EVENT_DESCRIPTOR = 1
AT_ONCE = 64


class _Request(ctypes.Structure):
    _fields_ = (
        ("data", c_uint64),
        ("key", c_uint32),
        ("rw_flags", c_uint32),
        ("opcode", c_uint16),
        ("priority", c_int16),
        ("descriptor", c_uint32),
        ("buffer", c_uint64),
        ("bytes", c_uint64),
        ("offset", c_int64),
        ("reserved", c_uint64),
        ("flags", c_uint32),
        ("event_descriptor", c_uint32),
    )


class _Event(ctypes.Structure):
    _fields_ = (("data", c_uint64), ("request", c_uint64), ("result", c_int64), ("more", c_int64))


class KernelSync:
    """One round at a time, of any number of descriptors, AT_ONCE of them under way."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Raises OSError where the kernel has no such thing, or may not be asked for it."""
        if platform.machine() not in _SYSCALLS or platform.system() != "Linux":
            raise OSError("unknown on this machine")
        self._setup, self._destroy, self._get, self._submit = _SYSCALLS[platform.machine()]
        self._call = ctypes.PyDLL(None, use_errno=True).syscall  # quick: not worth unlocking for
        self._call.restype = c_long
        self._context = c_uint64(0)
        self._checked(self._setup, c_uint32(AT_ONCE), ctypes.byref(self._context))
        self._events = (_Event * AT_ONCE)()
        self._loop = loop
        self._descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._requests = [self._request() for _ in range(AT_ONCE)]
        """Made once: to make one takes longer than to hand it to the kernel."""
        self._pointers = (ctypes.c_void_p * AT_ONCE)(*map(ctypes.addressof, self._requests))
        self._left = 0
        self._errors: list[int] = []
        self._done: asyncio.Future[None] | None = None
        self._waiting: list[int] = []
        loop.add_reader(self._descriptor, self._completed)

    def _request(self) -> _Request:
        return _Request(
            opcode=_FDSYNC, flags=_WITH_EVENT_DESCRIPTOR, event_descriptor=self._descriptor
        )

    def _checked(self, number: int, *arguments: object) -> int:
        result: int = self._call(c_long(number), *arguments)
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return result

    @property
    def is_busy(self) -> bool:
        return self._done is not None

    def sync(self, descriptors: Sequence[int]) -> asyncio.Future[None]:
        """The descriptors must stay open until the future is done. OSError: nothing was begun."""
        assert not self.is_busy
        self._errors = []
        self._waiting = list(descriptors)
        self._begin()
        self._done = self._loop.create_future()
        return self._done

    def _begin(self) -> None:
        """None is under way: the kernel is done with all of the requests."""
        some = self._waiting[:AT_ONCE]
        for request, descriptor in zip(self._requests, some, strict=False):
            request.descriptor = descriptor
        begun = self._checked(self._submit, self._context, c_long(len(some)), self._pointers)
        self._left = begun
        del self._waiting[:begun]

    def _completed(self) -> None:
        os.eventfd_read(self._descriptor)
        got = self._checked(
            self._get, self._context, c_long(0), c_long(AT_ONCE), self._events, None
        )
        for position in range(got):
            if (result := self._events[position].result) < 0:
                self._errors.append(-result)
        self._left -= got
        if self._left == 0 and self._waiting:
            self._go_on()
        elif self._left == 0:
            self._finish()

    def _go_on(self) -> None:
        try:
            self._begin()
        except OSError as error:  # one of those that are left cannot be synced
            self._errors.append(error.errno or errno.EIO)
            self._finish()

    def _finish(self) -> None:
        done, self._done = self._done, None
        if done is None or done.cancelled():
            return
        if self._errors:
            code = self._errors[0]
            done.set_exception(OSError(code, os.strerror(code)))
        else:
            done.set_result(None)

    def close(self) -> None:
        if not self._loop.is_closed():
            self._loop.remove_reader(self._descriptor)
        self._checked(self._destroy, self._context)
        os.close(self._descriptor)
