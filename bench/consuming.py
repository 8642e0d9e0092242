"""What it costs the broker to hand messages out."""

from __future__ import annotations

import time

from bench.measurement import Result
from bench.pinned_broker import PinnedBroker
from bench.raw_client import RawClient, batch_of, fetch_frame, produce_frame

MIB = 1 << 20


def from_page_cache() -> Result:
    """Fetches of 1 MiB from a log in the page cache, by a reader that only counts bytes."""
    batch = batch_of(64, 1024)
    batches = 8000
    with PinnedBroker() as broker:
        client = RawClient(broker.host, broker.port)
        client.create_topic("read", flush_on_acks_all="false")
        client.pipeline(produce_frame("read", 0, batch, 1), batches, window=64, at_once=8)
        records = (batches + 1) * 64
        read_all(client, records, len(batch))
        before, began = broker.cpu_seconds(), time.perf_counter()
        total = read_all(client, records, len(batch))
        seconds, cpu = time.perf_counter() - began, broker.cpu_seconds() - before
        client.close()
    rate = total / 1e9 / seconds
    details = f"{cpu / (total / 1e9):.3f} CPU s/GB"
    return Result("consume from the page cache", rate, "GB/s", ">= 2", rate >= 2, details)


def read_all(client: RawClient, records: int, batch_bytes: int) -> int:
    """Bytes received. Offsets follow from the size of an answer, since all batches are alike."""
    scratch = memoryview(bytearray(2 * MIB))
    offset = total = 0
    ahead = [0]
    sock = client.socket
    while offset < records:
        sock.sendall(fetch_frame("read", offset, MIB))
        got = sock.recv_into(scratch)
        length = int.from_bytes(scratch[:4], "big") + 4
        while got < length:
            got += sock.recv_into(scratch)
        taken = length // batch_bytes
        assert taken, f"nothing at {offset}"
        offset += taken * 64
        total += length
        ahead[0] = offset
    return total
