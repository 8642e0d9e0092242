"""What it costs the broker to take messages."""

from __future__ import annotations

import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from bench.measurement import Result
from bench.pinned_broker import PinnedBroker
from bench.raw_client import RawClient, batch_of, produce_frame

LEADER, ALL = 1, -1
GB = 1e9


def large_batches() -> Result:
    """acks=1, 1 KiB messages, batches of about 1 MB as librdkafka makes them under load."""
    batch = batch_of(1000, 1024)
    total = 3000
    with PinnedBroker() as broker:
        client = RawClient(broker.host, broker.port)
        client.create_topic("large", flush_on_acks_all="false")
        frame = produce_frame("large", 0, batch, LEADER)
        client.pipeline(frame, 200, window=8, at_once=1)
        before, began = broker.cpu_seconds(), time.perf_counter()
        client.pipeline(frame, total, window=8, at_once=1)
        seconds, cpu = time.perf_counter() - began, broker.cpu_seconds() - before
        client.close()
    sent = total * len(batch)
    cost = cpu / (sent / GB)
    rate = f"{sent / GB / seconds:.2f} GB/s, {total * 1000 / seconds / 1e6:.2f} M messages/s"
    return Result("produce acks=1, large batches", cost, "CPU s/GB", "<= 0.45", cost <= 0.45, rate)


def small_requests() -> Result:
    """acks=1, one record a request, pipelined."""
    batch = batch_of(1, 100)
    total = 200_000
    with PinnedBroker() as broker:
        client = RawClient(broker.host, broker.port)
        client.create_topic("small", flush_on_acks_all="false")
        frame = produce_frame("small", 0, batch, LEADER)
        client.pipeline(frame, 20_000, window=2000, at_once=200)
        before, began = broker.cpu_seconds(), time.perf_counter()
        client.pipeline(frame, total, window=2000, at_once=200)
        seconds, cpu = time.perf_counter() - began, broker.cpu_seconds() - before
        client.close()
    rate = total / seconds
    details = f"{1e6 * cpu / total:.2f} CPU us a request"
    return Result(
        "produce acks=1, one record", rate / 1000, "k requests/s", ">= 100", rate >= 1e5, details
    )


def latency() -> Result:
    """acks=1, one record of 1 KiB, at 1,000 requests a second."""
    batch = batch_of(1, 1024)
    times: list[float] = []
    with PinnedBroker() as broker:
        client = RawClient(broker.host, broker.port)
        client.create_topic("latency")
        frame = produce_frame("latency", 0, batch, LEADER)
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
        client.close()
    times.sort()
    p99 = times[int(len(times) * 0.99)]
    details = f"p50 {times[len(times) // 2]:.3f} ms, p99.9 {times[int(len(times) * 0.999)]:.3f} ms"
    return Result("produce acks=1 p99 at 1,000/s", p99, "ms", "< 1", p99 < 1, details)


def synced() -> Result:
    """acks=all with sync, against a bare loop of append and group fdatasync on the same disk."""
    batch = batch_of(16, 1024)
    total, window = 4000, 64
    with PinnedBroker() as broker:
        client = RawClient(broker.host, broker.port)
        client.create_topic("synced")
        frame = produce_frame("synced", 0, batch, ALL)
        client.pipeline(frame, 200, window=window, at_once=1)
        bare = bare_loop(batch, total, window)
        began = time.perf_counter()
        client.pipeline(frame, total, window=window, at_once=1)
        rate = total / (time.perf_counter() - began)
        bare = (bare + bare_loop(batch, total, window)) / 2
        client.close()
    ratio = rate / bare
    mb = len(batch) / 1e6
    details = f"{rate:.0f} requests/s ({rate * mb:.0f} MB/s), bare loop {bare:.0f}"
    return Result(
        "produce acks=all, synced", ratio, "of the bare loop", ">= 0.6", ratio >= 0.6, details
    )


def bare_loop(batch: bytes, total: int, window: int) -> float:
    """Batches a second: while one fdatasync runs, half a window is appended for the next."""
    with tempfile.NamedTemporaryFile(dir=os.environ.get("BENCH_DIR")) as file:
        descriptor = file.fileno()
        began = time.perf_counter()
        done = 0
        with ThreadPoolExecutor(1) as pool:
            half = window // 2
            pending = None
            while done < total:
                os.writev(descriptor, [batch] * half)
                if pending is not None:
                    pending.result()
                pending = pool.submit(os.fdatasync, descriptor)
                done += half
            if pending is not None:
                pending.result()
        return done / (time.perf_counter() - began)
