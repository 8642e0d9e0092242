"""A broker at its limits: many connections, large requests, slow clients, heavy work."""

from __future__ import annotations

import os
import re
import resource
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.broker_process import BrokerProcess
from tests.lanes import in_chaos
from tests.raw_client import (
    FETCH_VERSION,
    PRODUCE_VERSION,
    RawClient,
    a_batch,
    fetch_of,
    frame_of,
    partition_of,
    produce_of,
)

from penstock.errors import ErrorCode
from penstock.wire.messages.k00_produce import ProduceResponse
from penstock.wire.messages.k01_fetch import FetchResponse
from penstock.wire.messages.k03_metadata import MetadataRequest
from penstock.wire.messages.k18_api_versions import ApiVersionsRequest
from penstock.wire.messages.k19_create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from penstock.wire.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState

MIB = 1 << 20
Brokers = Callable[..., BrokerProcess]


def memory_bytes(pid: int, field: str = "VmRSS") -> int:
    found = re.search(rf"{field}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) * 1024


# -- memory


def test_large_requests_of_many_connections_take_turns_in_limited_memory(
    own_broker: Brokers, topic: str
) -> None:
    limit, size = 8 * MIB, 2 * MIB
    running = own_broker(
        "--set", f"queued.max.request.bytes={limit}", "--set", "message.max.bytes=4194304"
    ).start()
    request = frame_of(produce_of(topic, a_batch(os.urandom(size))), PRODUCE_VERSION)
    with ExitStack() as stack:
        first = stack.enter_context(RawClient(running.port))
        first.create_topic(topic)
        before = memory_bytes(running.pid)
        hogs = [stack.enter_context(RawClient(running.port)) for _ in range(3)]
        others = [stack.enter_context(RawClient(running.port)) for _ in range(40)]
        for hog in hogs:
            hog.send(request[: size // 2])
        pool = stack.enter_context(ThreadPoolExecutor(len(others)))
        sent = [pool.submit(other.send, request) for other in others]
        first.ping()
        for hog in hogs:
            hog.send(request[size // 2 :])
        for each in sent:
            each.result()
        for client in (*hogs, *others):
            answer = client.answer_to(ProduceResponse, PRODUCE_VERSION)
            assert answer.responses[0].partition_responses[0].error_code == 0
        assert first.end_of(topic) == len(hogs) + len(others)
    assert memory_bytes(running.pid, "VmHWM") - before < 6 * limit
    assert "closing" not in running.log
    assert running.stop() == 0


def test_large_requests_that_hardly_arrive_do_not_hold_up_ordinary_ones(
    roomy: BrokerProcess, topic: str
) -> None:
    with ExitStack() as stack:
        client = stack.enter_context(RawClient(roomy.port))
        client.create_topic(topic)
        for size in (100 * MIB, 100 * MIB, 56 * MIB):
            hog = stack.enter_context(RawClient(roomy.port))
            hog.send(struct.pack(">i", size) + bytes(300_000))
        began = time.monotonic()
        for _ in range(20):
            assert client.produce(topic, a_batch(b"v" * 300_000)).error_code == 0
        assert time.monotonic() - began < 15  # half of the time that a request has to arrive


def test_a_request_that_never_finishes_arriving_is_closed(own_broker: Brokers) -> None:
    running = own_broker("--set", "request.receive.timeout.ms=200").start()
    large = frame_of(produce_of("t", a_batch(b"v" * MIB)), PRODUCE_VERSION)
    for data in (b"\0\0", frame_of(ApiVersionsRequest("raw", "1"), 3)[:-1], large[:-1]):
        with RawClient(running.port) as client:
            client.send(data)
            assert client.is_closed_by_broker()
    assert running.log.count("a request never ended") == 3
    assert running.stop() == 0


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    running = BrokerProcess(tmp_path_factory.mktemp("roomy") / "data").start()
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.log


def test_a_client_that_reads_late_costs_no_memory_delays_nobody_and_gets_everything(
    roomy: BrokerProcess, topic: str
) -> None:
    batches, fetches = 8, 20
    with RawClient(roomy.port) as client, RawClient(roomy.port, receive_buffer=8192) as slow:
        client.create_topic(topic)
        for number in range(batches):
            value = bytes([number]) * (MIB - 1000)
            assert client.produce(topic, a_batch(value)).error_code == 0
        everything = client.fetch(topic).records
        before = memory_bytes(roomy.pid)
        frame = frame_of(fetch_of(topic), FETCH_VERSION)
        slow.send(frame * fetches)
        for _ in range(50):
            assert client.produce(f"{topic}", a_batch(b"small"), partition=9).error_code
            client.ping()
        assert memory_bytes(roomy.pid) - before < 8 * MIB
        for _ in range(fetches):
            answer = slow.answer_to(FetchResponse, FETCH_VERSION, 1)
            assert partition_of(answer).records == everything


def test_a_client_that_does_not_read_its_large_answers_costs_little_memory(
    roomy: BrokerProcess, topic: str
) -> None:
    with RawClient(roomy.port) as client, RawClient(roomy.port, receive_buffer=8192) as slow:
        client.create_topic(topic, 2000)
        frame = frame_of(MetadataRequest(None), 9)
        slow.send(frame)
        size = len(slow.receive())
        before = memory_bytes(roomy.pid)
        slow.send(frame * (256 * MIB // size))
        for _ in range(50):
            client.ping()
        assert memory_bytes(roomy.pid) - before < 32 * MIB


# -- connections


def test_connections_past_the_limits_are_closed(own_broker: Brokers) -> None:
    running = own_broker("--set", "max.connections.per.ip=2").start()
    with RawClient(running.port) as first, RawClient(running.port) as second:
        first.ping()
        second.ping()
        for _ in range(3):
            with RawClient(running.port) as third:
                assert third.is_closed_by_broker()
        first.ping()
    assert running.log.count("max.connections.per.ip=2") == 1
    with RawClient(running.port) as again:
        again.ping()
    assert running.stop() == 0


def test_idle_connections_are_closed_but_not_those_with_a_long_poll(
    own_broker: Brokers, topic: str
) -> None:
    running = own_broker("--set", "connections.max.idle.ms=1000").start()
    with RawClient(running.port) as poller, RawClient(running.port) as idle:
        poller.create_topic(topic)
        poller.send(frame_of(fetch_of(topic, max_wait_ms=60_000), FETCH_VERSION))
        idle.ping()
        assert idle.is_closed_by_broker()
        with RawClient(running.port) as again:
            assert again.is_closed_by_broker()
        with RawClient(running.port) as writer:
            assert writer.produce(topic, a_batch(b"v")).error_code == 0
        answer = poller.answer_to(FetchResponse, FETCH_VERSION, 1)
        assert partition_of(answer).records
    assert running.stop() == 0


def test_connections_that_are_reset_after_their_last_request_do_not_pile_up(
    own_broker: Brokers, topic: str
) -> None:
    running = own_broker("--set", "request.receive.timeout.ms=1000").start()
    count, files = 200, Path(f"/proc/{running.pid}/fd")
    request = frame_of(produce_of(topic, a_batch(b"v"), acks=0), PRODUCE_VERSION)
    with RawClient(running.port) as client:
        client.create_topic(topic)
        client.produce(topic, a_batch(b"first"))
        before = len(list(files.iterdir()))
        for _ in range(count):
            with RawClient(running.port) as leaver:
                leaver.socket.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
                leaver.send(request)
        until = time.monotonic() + 20
        while client.end_of(topic) < count + 1:
            assert time.monotonic() < until, "what they sent was not taken"
            time.sleep(0.05)
        while len(list(files.iterdir())) > before + 5:
            assert time.monotonic() < until, "they were not closed"
            time.sleep(0.05)
        assert client.end_of(topic) == count + 1
    assert running.stop() == 0


@contextmanager
def many_files(count: int) -> Iterator[int]:
    """How many this process may open, up to so many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = count + 500 if hard == resource.RLIM_INFINITY else min(count + 500, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(allowed, soft), hard))
    yield min(count, max(allowed, soft) - 500)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_thousands_of_idle_connections_cost_little_and_hold_up_nobody(
    own_broker: Brokers, topic: str
) -> None:
    with many_files(5000) as count, ExitStack() as stack:
        running = own_broker().start()
        client = stack.enter_context(RawClient(running.port))
        client.create_topic(topic)
        before = memory_bytes(running.pid)
        idle = [stack.enter_context(RawClient(running.port)) for _ in range(count)]
        idle[-1].ping()
        each = (memory_bytes(running.pid) - before) / count
        assert each < 8192
        for number in range(100):
            assert client.produce(topic, a_batch(b"v")).base_offset == number
        for one in idle[:: count // 100]:
            one.ping()
        assert running.stop() == 0


# -- long polls


def test_a_long_poll_is_answered_by_an_append(roomy: BrokerProcess, topic: str) -> None:
    with RawClient(roomy.port) as reader, RawClient(roomy.port) as writer:
        writer.create_topic(topic)
        for acks in (1, -1):
            offset = writer.end_of(topic)
            poll = fetch_of(topic, offset, max_wait_ms=10**9)
            reader.send(frame_of(poll, FETCH_VERSION))
            assert writer.produce(topic, a_batch(b"v"), acks=acks).error_code == 0
            part = partition_of(reader.answer_to(FetchResponse, FETCH_VERSION, 1))
            assert (part.high_watermark, bool(part.records)) == (offset + 1, True)


def test_a_long_poll_with_nothing_to_tell_is_answered_at_its_end(
    roomy: BrokerProcess, topic: str
) -> None:
    with RawClient(roomy.port) as client:
        client.create_topic(topic)
        for min_bytes in (1, 10**6):
            part = client.fetch(topic, max_wait_ms=50, min_bytes=min_bytes)
            assert (part.error_code, len(part.records or b"")) == (0, 0)


def test_a_long_poll_is_answered_when_its_topic_is_deleted(
    roomy: BrokerProcess, topic: str
) -> None:
    with RawClient(roomy.port) as reader, RawClient(roomy.port) as admin:
        admin.create_topic(topic)
        reader.send(frame_of(fetch_of(topic, max_wait_ms=10**9), FETCH_VERSION))
        admin.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=1000), 3)
        part = partition_of(reader.answer_to(FetchResponse, FETCH_VERSION, 1))
        assert part.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# -- nobody is held up for long


class Watch(threading.Thread):
    """Asks one small question after the other, and notes the longest that an answer took."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._client = RawClient(port)
        self._enough = threading.Event()
        self._worst = 0.0
        self.findings: dict[str, float] = {}
        self.answers = 0

    def run(self) -> None:
        while not self._enough.is_set():
            began = time.monotonic()
            self._client.ping()
            self._worst = max(self._worst, time.monotonic() - began)
            self.answers += 1

    @contextmanager
    def during(self, what: str) -> Iterator[None]:
        self._worst = 0.0
        yield
        self.findings[what] = max(self.findings.get(what, 0.0), self._worst)

    def stop(self) -> None:
        self._enough.set()
        self.join()
        self._client.close()


def forget_cached(folder: Path) -> None:
    """The kernel drops what it has of these files, so that a read has to wait for the disk."""
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@in_chaos
def test_small_requests_are_answered_while_heavy_things_happen(
    own_broker: Brokers, topic: str
) -> None:
    running = own_broker().start()
    watch = Watch(running.port)
    watch.start()
    with RawClient(running.port) as client:
        heavy_things(running, client, watch, topic)
    watch.stop()
    for what, seconds in sorted(watch.findings.items(), key=lambda each: -each[1]):
        print(f"{what}: {seconds * 1000:.0f} ms at worst")  # noqa: T201
    assert watch.answers > 10
    assert "Traceback" not in running.log
    assert running.stop() == 0


def heavy_things(running: BrokerProcess, client: RawClient, watch: Watch, topic: str) -> None:
    names = [f"{topic}-{number}" for number in range(1000)]
    with watch.during("creating 1,000 topics"):
        new = [CreatableTopic(name, 1, 1) for name in names]
        created: CreateTopicsResponse = client.ask(CreateTopicsRequest(new, 60_000), 5)
        assert {each.error_code for each in created.topics} == {0}
    with watch.during("creating 10,000 partitions"):
        client.create_topic(f"{topic}-wide", 10_000)
    with watch.during("metadata of 11,000 partitions"):
        for _ in range(5):
            client.ask(MetadataRequest(None), 12)
    with watch.during("the same, 20 times in one write"):
        client.send(frame_of(MetadataRequest(None), 12) * 20)
        for _ in range(20):
            client.receive()
    with watch.during("writing to 500 new partitions"):
        for name in names[:500]:
            client.send(frame_of(produce_of(name, a_batch(b"v")), PRODUCE_VERSION))
        for _ in range(500):
            client.receive()
    with watch.during("fetching from 1,000 partitions"):
        request = fetch_of(names[0])
        request.topics = [topic for name in names for topic in fetch_of(name).topics]
        for _ in range(5):
            client.ask(request, FETCH_VERSION)
    with watch.during("deleting 1,001 topics"):
        doomed = [*names, f"{topic}-wide"]
        states = [DeleteTopicState(name) for name in doomed]
        client.ask(DeleteTopicsRequest(states, timeout_ms=60_000), 6)
    with watch.during("compressing 20 large batches again"):
        client.create_topic(f"{topic}-zstd", compression_type="zstd")
        large = a_batch(*(os.urandom(500) for _ in range(1900)))
        client.send(frame_of(produce_of(f"{topic}-zstd", large), PRODUCE_VERSION) * 20)
        for _ in range(20):
            client.receive()
    with watch.during("reading 64 MiB that are not in memory"):
        name = f"{topic}-cold"
        client.create_topic(name, segment_bytes=str(4 * MIB))
        for _ in range(64):
            client.produce(name, a_batch(os.urandom(MIB - 1000)))
        forget_cached(running.data_dir / f"{name}-0")
        read_everything(client, name, 64)


def read_everything(client: RawClient, topic: str, end: int) -> None:
    offset = 0
    while offset < end:
        answer: Any = client.ask(fetch_of(topic, offset), FETCH_VERSION)
        records = partition_of(answer).records
        assert isinstance(records, memoryview)
        position = 0
        while position < len(records):
            (length,) = struct.unpack_from(">i", records, position + 8)
            position += length + 12
            offset += 1
