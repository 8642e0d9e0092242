"""What it costs the broker to hand messages out."""

from __future__ import annotations

from pathlib import Path

from bench.measurement import Result
from bench.pinned_broker import PinnedBroker
from bench.raw_client import RawClient, batch_of, fetch_frame, produce_frame

MIB = 1 << 20
RECORDS = 64
"""In a batch."""


def from_page_cache(profile: Path | None = None) -> Result:
    """Fetches of 1 MiB from a log in the page cache, by a reader that only counts bytes."""
    batch = batch_of(RECORDS, 1024)
    batches = 8000
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        client.create_topic("read")
        client.pipeline(produce_frame("read", 0, batch, -1), batches, window=64, at_once=8)
        read_all(client, batches * RECORDS, len(batch))
        spent = broker.spent()
        total = read_all(client, batches * RECORDS, len(batch))
        seconds, cpu = spent()
    rate = total / 1e9 / seconds
    details = f"{cpu / (total / 1e9):.3f} CPU s/GB"
    return Result("consume from the page cache", rate, "GB/s", ">= 2", rate >= 2, details)


def small_fetches(profile: Path | None = None) -> Result:
    """One partition and one record of 100 bytes a fetch, without a session, pipelined."""
    total = 100_000
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        client.create_topic("read")
        client.ask(produce_frame("read", 0, batch_of(1, 100), -1))
        frame = fetch_frame("read", 0, MIB)
        client.pipeline(frame, 10_000, window=200, at_once=100)
        spent = broker.spent()
        client.pipeline(frame, total, window=200, at_once=100)
        seconds, cpu = spent()
    rate = total / seconds
    details = f"{1e6 * cpu / total:.2f} CPU us a request"
    return Result("fetch of one record", rate / 1000, "k requests/s", "none", True, details)


def read_all(client: RawClient, records: int, batch_bytes: int) -> int:
    """Bytes received. Offsets follow from the size of an answer, since all batches are alike."""
    scratch = memoryview(bytearray(2 * MIB))
    offset = total = 0
    sock = client.socket
    while offset < records:
        sock.sendall(fetch_frame("read", offset, MIB))
        got = sock.recv_into(scratch)
        length = int.from_bytes(scratch[:4], "big") + 4
        while got < length:
            got += sock.recv_into(scratch)
        taken = length // batch_bytes
        assert taken, f"nothing at {offset}"
        offset += taken * RECORDS
        total += length
    return total
