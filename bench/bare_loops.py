"""The least that any broker does, without a broker: what a figure of ours is compared with.

In a virtual machine the first touch of a page that the host has to find costs several times what
copying it does. Whoever grows a file first has memory warmed, so that this is not what is measured.
"""

from __future__ import annotations

import mmap
import os
import socket
import tempfile
import time
from pathlib import Path

from bench.pinned_broker import BROKER_CORE

GB = 1e9
PIECE_BYTES = 1 << 20


def warm_memory(size: int) -> None:
    """So much of the machine's free memory is touched, and free again."""
    with mmap.mmap(-1, size) as memory:
        for page in range(0, size, mmap.PAGESIZE):
            memory[page] = 1


def copying(total: int) -> float:
    """CPU seconds per GB from a TCP connection to a file, a megabyte at a time."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        child = os.fork()
        if child == 0:
            os.sched_setaffinity(0, {BROKER_CORE})
            with socket.create_connection(server.getsockname()) as source:
                _copy_to_file(source)
            os._exit(0)
        ours, _ = server.accept()
        with ours:
            for _ in range(total // PIECE_BYTES):
                ours.sendall(bytes(PIECE_BYTES))
        usage = os.wait4(child, 0)[2]
    return (usage.ru_utime + usage.ru_stime) / (total / GB)


def _copy_to_file(source: socket.socket) -> None:
    buffer = memoryview(bytearray(PIECE_BYTES))
    with tempfile.TemporaryFile(dir=os.environ.get("BENCH_DIR")) as file:
        written = 0
        while count := source.recv_into(buffer, PIECE_BYTES, socket.MSG_WAITALL):
            os.pwrite(file.fileno(), buffer[:count], written)
            written += count


def appending(batch: bytes, total: int, group: int) -> float:
    """Batches a second: append a group, one write each, sync it, and so on."""
    with tempfile.NamedTemporaryFile(dir=os.environ.get("BENCH_DIR")) as file:
        descriptor = file.fileno()
        began = time.perf_counter()
        for _ in range(0, total, group):
            for _ in range(group):
                os.write(descriptor, batch)
            os.fdatasync(descriptor)
        return total / (time.perf_counter() - began)


def copying_file(source: Path) -> float:
    """GB a second from a file to a file over a TCP connection, and nothing but copying."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        child = os.fork()
        if child == 0:
            with socket.create_connection(server.getsockname()) as receiving:
                _copy_to_file(receiving)
            os._exit(0)
        ours, _ = server.accept()
        began = time.perf_counter()
        with ours, source.open("rb") as file:
            ours.sendfile(file)
        os.wait4(child, 0)
    return source.stat().st_size / (time.perf_counter() - began) / GB
