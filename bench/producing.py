"""What it costs the broker to take messages."""

from __future__ import annotations

import os
import socket
import tempfile
import time
from pathlib import Path

from bench.measurement import Result
from bench.pinned_broker import BROKER_CORE, PinnedBroker
from bench.raw_client import batch_of, produce_frame

LEADER, ALL = 1, -1
GB = 1e9
WINDOW = 64
LOG_BYTES = 64 << 20
SMALL_LOG = {
    "segment.bytes": str(LOG_BYTES),
    "retention.bytes": str(LOG_BYTES),
    "file.delete.delay.ms": "0",
}
RETENTION_CHECK = "log.retention.check.interval.ms=50"
"""So that the page cache is made of the same memory again and again: in a virtual machine the first
touch of a page costs more than everything else, and would be all that is measured."""


def large_batches(profile: Path | None = None) -> Result:
    """acks=1, 1 KiB messages, batches of about 1 MB as librdkafka makes them under load."""
    batch = batch_of(1000, 1024)
    total = 2000
    with PinnedBroker(RETENTION_CHECK, profile=profile) as broker, broker.client() as client:
        client.create_topic("large", configs=SMALL_LOG)
        frame = produce_frame("large", 0, batch, LEADER)
        client.pipeline(frame, 600, window=8, at_once=1)
        spent = broker.spent()
        client.pipeline(frame, total, window=8, at_once=1)
        seconds, cpu = spent()
    sent = total * len(batch)
    cost, least = cpu / (sent / GB), bare_copy(len(batch), total)
    rate = f"{sent / GB / seconds:.2f} GB/s, {total * 1000 / seconds / 1e6:.2f} M messages/s"
    details = f"{rate}; a bare loop of recv and pwrite {least:.2f}"
    return Result(
        "produce acks=1, large batches", cost, "CPU s/GB", "<= 0.45", cost <= 0.45, details
    )


def bare_copy(size: int, total: int) -> float:
    """CPU seconds per GB of the least that any broker does: from a socket to a file."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        os.sched_setaffinity(0, {BROKER_CORE})
        ours.close()
        _copy_to_file(theirs, size)
        os._exit(0)
    theirs.close()
    data = bytes(size)
    for _ in range(total):
        ours.sendall(data)
    ours.close()
    usage = os.wait4(child, 0)[2]
    return (usage.ru_utime + usage.ru_stime) / (size * total / GB)


def _copy_to_file(source: socket.socket, size: int) -> None:
    buffer = memoryview(bytearray(size))
    with tempfile.TemporaryFile(dir=os.environ.get("BENCH_DIR")) as file:
        written = 0
        while count := source.recv_into(buffer, size, socket.MSG_WAITALL):
            os.pwrite(file.fileno(), buffer[:count], written)
            written += count
            if written >= LOG_BYTES:
                os.ftruncate(file.fileno(), 0)
                written = 0


def small_requests(profile: Path | None = None) -> Result:
    """acks=1, one record a request, pipelined."""
    total = 200_000
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        client.create_topic("small")
        frame = produce_frame("small", 0, batch_of(1, 100), LEADER)
        client.pipeline(frame, 20_000, window=2000, at_once=200)
        spent = broker.spent()
        client.pipeline(frame, total, window=2000, at_once=200)
        seconds, cpu = spent()
    rate = total / seconds
    details = f"{1e6 * cpu / total:.2f} CPU us a request"
    return Result(
        "produce acks=1, one record", rate / 1000, "k requests/s", ">= 100", rate >= 1e5, details
    )


def latency(profile: Path | None = None) -> Result:
    """acks=1, one record of 1 KiB, at 1,000 requests a second."""
    times: list[float] = []
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        client.create_topic("latency")
        frame = produce_frame("latency", 0, batch_of(1, 1024), LEADER)
        for _ in range(500):
            client.ask(frame)
        due = time.perf_counter()
        for _ in range(5000):
            due += 0.001
            while time.perf_counter() < due:
                pass
            began = time.perf_counter()
            client.ask(frame)
            times.append(1000 * (time.perf_counter() - began))
    times.sort()
    p99 = times[int(len(times) * 0.99)]
    details = f"p50 {times[len(times) // 2]:.3f} ms, p99.9 {times[int(len(times) * 0.999)]:.3f} ms"
    return Result("produce acks=1 p99 at 1,000/s", p99, "ms", "< 1", p99 < 1, details)


def synced(profile: Path | None = None) -> Result:
    """acks=all with sync, against a bare loop of append and group fdatasync on the same disk.

    With 64 requests of one partition under way, so a group is of up to 64 for both. The figure is
    for batches of 64 KiB; the details say what becomes of it with smaller ones.
    """
    ratios: dict[str, float] = {}
    for records, total in ((64, 4000), (16, 8000), (1, 20_000)):
        batch = batch_of(records, 1024)
        ratios[f"{records} KiB"] = _synced_ratio(batch, total, profile if records == 16 else None)
    ratio = ratios["64 KiB"]
    details = ", ".join(f"{size}: {each:.2f}" for size, each in ratios.items())
    return Result(
        "produce acks=all, synced", ratio, "of the bare loop", ">= 0.6", ratio >= 0.6, details
    )


def _synced_ratio(batch: bytes, total: int, profile: Path | None) -> float:
    """The median of three pairs, each measured back to back."""
    ratios = []
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        client.create_topic("synced")
        frame = produce_frame("synced", 0, batch, ALL)
        client.pipeline(frame, 200, window=WINDOW, at_once=WINDOW // 4)
        for _ in range(3):
            spent = broker.spent()
            client.pipeline(frame, total, window=WINDOW, at_once=WINDOW // 4)
            rate = total / spent()[0]
            ratios.append(rate / bare_loop(batch, total))
    return sorted(ratios)[1]


def bare_loop(batch: bytes, total: int) -> float:
    """Batches a second: append a group, sync it, and so on."""
    with tempfile.NamedTemporaryFile(dir=os.environ.get("BENCH_DIR")) as file:
        descriptor = file.fileno()
        began = time.perf_counter()
        for _ in range(0, total, WINDOW):
            for _ in range(WINDOW):
                os.write(descriptor, batch)
            os.fdatasync(descriptor)
        return total / (time.perf_counter() - began)
