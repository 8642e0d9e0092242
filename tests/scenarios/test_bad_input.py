"""A running broker and everything that should not be sent to it, or found on its disk."""

from __future__ import annotations

import functools
import gzip
import random
import re
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import lz4.frame
import pytest
import zstandard
from tests.broker_process import BrokerProcess
from tests.raw_client import (
    RawClient,
    a_batch,
    fetch_of,
    frame_of,
    framed,
    produce_of,
)

from penstock.api.call import Api
from penstock.api.table import APIS, ROWS
from penstock.errors import ErrorCode
from penstock.wire.batch import read_header, seal
from penstock.wire.codec import Message, decode_response
from penstock.wire.compression import Codec
from penstock.wire.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from penstock.wire.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from penstock.wire.messages.k19_create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

PATIENCE_SECONDS = 60
MIB = 1 << 20


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker that must not so much as blink at anything that the tests here send to it."""
    running = BrokerProcess(tmp_path_factory.mktemp("target") / "data").start()
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.log
    assert "failed" not in running.log


@pytest.fixture
def client(target: BrokerProcess) -> Iterator[RawClient]:
    with RawClient(target.port) as client:
        yield client


def assert_closed_with_one_line(target: BrokerProcess, data: bytes, reason: str) -> None:
    """These bytes end their connection, with one line in the log, and nobody else's."""
    already = len(target.log)
    with RawClient(target.port) as other, RawClient(target.port) as client:
        other.ping()
        port = client.socket.getsockname()[1]
        client.send(data)
        assert client.is_closed_by_broker()
        other.ping()
    lines = [line for line in target.log[already:].splitlines() if f":{port}:" in line]
    assert len(lines) == 1
    assert re.search(reason, lines[0]), lines


# -- no requests at all


@pytest.mark.parametrize("length", [0, -1, -(2**31), 2**31 - 1, 100 * MIB + 1])
def test_an_absurd_length(target: BrokerProcess, length: int) -> None:
    data = length.to_bytes(4, "big", signed=True)
    assert_closed_with_one_line(target, data, f"{length} bytes")


@pytest.mark.parametrize(
    "greeting",
    [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 3],
    ids=["HTTP", "TLS"],
)
def test_another_protocol(target: BrokerProcess, greeting: bytes) -> None:
    assert_closed_with_one_line(target, greeting, "bytes was announced")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"\0", "request header"),
        (b"\x03\xe7\0\0\0\0\0\1\xff\xff", "API 999"),
        (b"\xff\xff\0\0\0\0\0\1\xff\xff", "API -1"),
        (b"\0\3\x7f\xff\0\0\0\1\xff\xff\0\0\0\0", "Metadata version 32767"),
        (b"\0\3\0\0\0\0\0\1\x7f\xff", "length of 32767"),
        (b"\0\3\0\0\0\0\0\1\0\2\xff\xfe\0\0\0\0", "utf-8"),
        (b"\0\3\0\1\0\0\0\1\xff\xff\x7f\xff\xff\xff", "length of 2147483647"),
        *((b"\0\0\0%c\0\0\0\1\xff\xff" % n, f"Produce version {n}") for n in (0, 1, 2)),
    ],
)
def test_a_request_that_is_none(target: BrokerProcess, body: bytes, reason: str) -> None:
    assert_closed_with_one_line(target, framed(body), reason)


def test_a_list_of_millions_is_not_even_looked_at(target: BrokerProcess) -> None:
    count = 3_000_000
    body = b"\0\3\0\1\0\0\0\1\xff\xff" + count.to_bytes(4, "big") + b"\0\0" * count
    assert_closed_with_one_line(target, framed(body), "6000014 bytes that is not Produce")


def test_garbage_of_any_kind(target: BrokerProcess) -> None:
    chance = random.Random(1)
    for _ in range(100):
        with RawClient(target.port) as client:
            client.send(framed(chance.randbytes(chance.randrange(1, 200))))
    with RawClient(target.port) as client:
        client.ping()


def test_a_client_that_hangs_up_in_the_middle_of_a_request(target: BrokerProcess) -> None:
    ping = frame_of(ApiVersionsRequest("raw", "1"), 3)
    for cut in range(len(ping)):
        with RawClient(target.port) as client:
            client.send(ping[:cut])
    with RawClient(target.port) as client:
        client.ping()


def test_a_version_of_api_versions_that_is_unknown_is_answered_in_the_oldest(
    client: RawClient,
) -> None:
    client.send(framed(b"\0\x12\x00\x63\0\0\0\7\xff\xff\0"))
    number, answer = decode_response(ApiVersionsResponse, client.receive(), 0)
    assert (number, answer.error_code) == (7, ErrorCode.UNSUPPORTED_VERSION)
    assert {each.api_key for each in answer.api_keys} == set(APIS)
    client.ping()


def test_produce_is_advertised_from_version_0(client: RawClient) -> None:
    answer: ApiVersionsResponse = client.ask(ApiVersionsRequest("raw", "1"), 3)
    (produce,) = [each for each in answer.api_keys if each.api_key == 0]
    assert (produce.min_version, produce.max_version) == (0, 13)


# -- requests that are broken inside


def made(kind: Any) -> Any:
    """Something of each kind: a message gets all of its fields, an array one element."""
    if get_origin(kind) is list:
        return [made(get_args(kind)[0])]
    if isinstance(kind, type) and hasattr(kind, "__struct_fields__"):
        hints = get_type_hints(kind)
        return kind(**{name: made(hints[name]) for name in kind.__struct_fields__})
    return {str: "x", bytes: bytes(16), bool: True, float: 1.0}.get(kind, 1)


@functools.cache
def sample_frame(api: Api, version: int) -> bytes:
    """As full a request as the version can say."""
    request: Message = api.request()
    for name in request.__struct_fields__:
        default = getattr(request, name)
        try:
            setattr(request, name, made(get_type_hints(api.request)[name]))
            frame_of(request, version)
        except Exception:
            setattr(request, name, default)
    return frame_of(request, version)


@pytest.mark.parametrize("api", ROWS, ids=lambda api: api.name)
def test_every_api_cut_short_closes_the_connection_and_nothing_else(
    target: BrokerProcess, api: Api
) -> None:
    for version in {api.versions.min, api.versions.max}:
        body = sample_frame(api, version)[4:]
        for cut in sorted({len(body) * part // 8 for part in range(1, 8)} | {len(body) - 1}):
            with RawClient(target.port) as client:
                client.send(framed(body[:cut]))
                if not client.is_closed_by_broker():
                    assert api.name == "ApiVersions"
    with RawClient(target.port) as client:
        client.ping()


@pytest.mark.parametrize("api", ROWS, ids=lambda api: api.name)
def test_every_api_with_bytes_changed_at_random_is_answered_or_closed(
    target: BrokerProcess, api: Api
) -> None:
    chance = random.Random(api.key)
    with RawClient(target.port) as other:
        for _ in range(40):
            version = chance.randint(api.versions.min, api.versions.max)
            body = bytearray(sample_frame(api, version)[4:])
            for _ in range(chance.randrange(1, 4)):
                body[chance.randrange(8, len(body))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])
            with RawClient(target.port) as client:
                client.send(framed(bytes(body)))
        other.ping()


def test_five_hundred_requests_of_all_kinds_in_one_write_are_answered_in_order(
    target: BrokerProcess, topic: str
) -> None:
    with RawClient(target.port) as client:
        client.create_topic(topic)
        batch = a_batch(b"v" * 200)
        kinds: list[tuple[Message, int]] = [
            (produce_of(topic, batch), 9),
            (produce_of(topic, batch, acks=1), 9),
            (fetch_of(topic, 0, max_wait_ms=60_000, max_bytes=1000), 11),
            (ApiVersionsRequest("raw", "1"), 3),
            (MetadataRequest(None), 9),
            (produce_of("nope", batch), 9),
            (produce_of(topic, None), 9),
        ]
        chosen = random.Random(2).choices(kinds, k=500)
        for number in (100, 300):
            new = CreatableTopic(f"{topic}-{number}", 1, 1)
            chosen[number] = (CreateTopicsRequest(topics=[new], timeout_ms=1000), 5)
        client.send(b"".join(frame_of(*kind, correlation_id=n) for n, kind in enumerate(chosen)))
        for number, (request, version) in enumerate(chosen):
            client.answer_to(APIS[request.KEY].response, version, number)


# -- batches that are wrong


def test_wrong_batches_are_refused_one_by_one_and_nothing_is_appended(
    client: RawClient, topic: str
) -> None:
    client.create_topic(topic, max_message_bytes="10000")
    good = a_batch(b"v")
    for batch, code in [
        (good[:17] + b"\0\0\0\0" + good[21:], ErrorCode.CORRUPT_MESSAGE),
        (good[:-1], ErrorCode.CORRUPT_MESSAGE),
        (good + good, ErrorCode.INVALID_RECORD),
        (good[:60], ErrorCode.INVALID_RECORD),
        (b"", ErrorCode.INVALID_RECORD),
        (good[:16] + b"\1" + good[17:], ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
        (a_batch(b"v" * 10_000), ErrorCode.MESSAGE_TOO_LARGE),
        (a_batch(b"v", at_ms=2**50), ErrorCode.INVALID_TIMESTAMP),
        (a_batch(b"v", control=True), ErrorCode.INVALID_RECORD),
        (None, ErrorCode.INVALID_RECORD),
    ]:
        for acks in (1, -1):
            assert client.produce(topic, batch, acks=acks).error_code == code
    refused = client.produce(topic, good, acks=5)
    assert refused.error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert client.end_of(topic) == 0
    assert client.produce(topic, good).base_offset == 0


def test_acks_0_is_never_answered_and_something_wrong_closes_the_connection(
    client: RawClient, topic: str
) -> None:
    client.create_topic(topic)
    client.send(frame_of(produce_of(topic, a_batch(b"v"), acks=0), 9))
    client.ping()
    client.send(frame_of(fetch_of(topic, 0, max_wait_ms=60_000), 11))
    client.receive()
    client.send(frame_of(produce_of(topic, a_batch(b"v")[:-1], acks=0), 9))
    assert client.is_closed_by_broker()


def memory_kib(pid: int, field: str) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"{field}:\s+(\d+) kB", status)
    assert found
    return int(found[1])


def test_decompression_bombs_take_no_more_memory_than_a_batch_may(
    target: BrokerProcess, client: RawClient, topic: str
) -> None:
    client.create_topic(topic, record_validation="full")
    header = read_header(a_batch(b"v"))
    zeros = bytes(400 * MIB)
    bombs = {
        Codec.GZIP: gzip.compress(zeros[: 200 * MIB], 1),
        Codec.SNAPPY: b"\xff\xff\xff\xff\x07\x00\x00" + b"\xfe\x01\x00" * 20_000,
        Codec.LZ4: lz4.frame.compress(zeros)[:MIB],
        Codec.ZSTD: zstandard.compress(zeros),
    }
    before = memory_kib(target.pid, "VmRSS")
    for codec, section in bombs.items():
        bomb = bytes(seal(header._replace(attributes=int(codec)), section))
        assert client.produce(topic, bomb).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert memory_kib(target.pid, "VmHWM") - before < 160 * 1024
    assert client.end_of(topic) == 0


# -- names that are wrong

NAMES = ["../../etc/passwd", "a/b", ".", "..", "x" * 250, "", "grüße", "a\0b", "a b", "~", "\\x"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_a_topic_cannot_have_is_refused_and_leaves_nothing_on_disk(
    target: BrokerProcess, client: RawClient, name: str
) -> None:
    before = sorted(path.name for path in target.data_dir.iterdir())
    request = CreateTopicsRequest(topics=[CreatableTopic(name, 1, 1)], timeout_ms=1000)
    created: CreateTopicsResponse = client.ask(request, 5)
    assert created.topics[0].error_code == ErrorCode.INVALID_TOPIC
    asked = MetadataRequest([MetadataRequestTopic(name=name)], allow_auto_topic_creation=True)
    found: MetadataResponse = client.ask(asked, 9)
    assert found.topics[0].error_code == ErrorCode.INVALID_TOPIC
    refused = client.produce(name, a_batch(b"v"))
    assert refused.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert client.fetch(name).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert sorted(path.name for path in target.data_dir.iterdir()) == before


def test_a_long_name_in_a_long_message_is_answered_all_the_same(client: RawClient) -> None:
    for version in (8, 9):
        refused = client.produce("\0" * 32_000, a_batch(b"v"), version)
        assert refused.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# -- a start that cannot be


def refusal(*options: str) -> tuple[int, str]:
    """Exit code and standard error of a broker that does not start."""
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "serve", "--listen", "127.0.0.1:0", *options],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, lines
    return done.returncode, lines[0]


@pytest.fixture
def stopped(own_broker: Callable[..., BrokerProcess]) -> BrokerProcess:
    running = own_broker().start()
    assert running.stop() == 0
    return running


def test_a_folder_in_use_by_another_broker(target: BrokerProcess) -> None:
    code, line = refusal("--data-dir", str(target.data_dir))
    assert code == 1
    assert "in use by another broker" in line
    assert "--data-dir" in line


def test_a_port_in_use(target: BrokerProcess, tmp_path: Path) -> None:
    code, line = refusal("--data-dir", str(tmp_path / "new"), "--listen", target.address)
    assert code == 1
    assert "Address already in use" in line
    assert "--listen" in line


def test_a_folder_of_another_broker_cluster_or_release(stopped: BrokerProcess) -> None:
    folder, meta = str(stopped.data_dir), stopped.data_dir / "meta.properties"
    code, line = refusal("--data-dir", folder, "--node-id", "7")
    assert (code, "--node-id 1" in line) == (1, True)
    code, line = refusal("--data-dir", folder, "--store", f"sqlite:{folder}/new.sqlite")
    assert (code, "belongs to cluster" in line) == (1, True)
    good = meta.read_text()
    for newer in (
        good.replace("version=1", "version=2"),
        good.replace("format=1", "format=2"),
    ):
        meta.write_text(newer)
        code, line = refusal("--data-dir", folder)
        assert (code, "newer" in line or "release" in line) == (1, True), line
    meta.write_text("nonsense\n")
    assert refusal("--data-dir", folder)[0] == 1
    meta.write_text(good)
    assert stopped.start().stop() == 0


def test_a_metadata_store_of_a_newer_release_or_of_something_else(stopped: BrokerProcess) -> None:
    path = stopped.data_dir / "metadata.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    code, line = refusal("--data-dir", str(stopped.data_dir))
    assert (code, "newer release" in line) == (1, True)
    path.write_bytes(b"this is no database" * 100)
    code, line = refusal("--data-dir", str(stopped.data_dir))
    assert (code, str(path) in line) == (1, True)


@pytest.mark.parametrize(
    ("options", "code", "hint"),
    [
        (("--set", "nope=1"), 2, "unknown setting nope"),
        (("--set", "node.id=x"), 2, "not a whole number"),
        (("--set", "segment.bytes=1"), 2, "segment.bytes"),
        (("--set", "log.segment.bytes=1"), 2, "log.segment.bytes"),
        (("--listen", "nonsense"), 2, "HOST:PORT"),
        (("--listen", "127.0.0.1:99999"), 2, "HOST:PORT"),
        (("--store", "redis:x"), 2, "metadata.store"),
        (("--data-dir", "/proc/nope"), 1, "/proc/nope"),
        (("--config", "/nope.toml"), 1, "/nope.toml"),
    ],
)
def test_settings_that_are_wrong(
    tmp_path: Path, options: tuple[str, ...], code: int, hint: str
) -> None:
    found, line = refusal("--data-dir", str(tmp_path / "data"), *options)
    assert (found, hint in line) == (code, True), line


# -- a disk that is full or damaged


def until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, what


def test_below_the_room_to_be_kept_free_writes_are_refused_and_reads_go_on(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    running = own_broker("--set", f"disk.free.min.bytes={1 << 60}").start()
    with RawClient(running.port) as client:
        client.create_topic(topic)
        offsets: list[int] = []

        def is_refused() -> bool:
            part = client.produce(topic, a_batch(b"v"))
            if part.error_code == 0:
                offsets.append(part.base_offset)
                return False
            assert part.error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert "disk.free.min.bytes" in (part.error_message or "")
            return True

        until(is_refused, "writes are never refused")
        assert client.end_of(topic) == len(offsets)
        assert client.fetch(topic).error_code == 0
    assert running.stop() == 0


def test_a_write_that_the_system_refuses_is_not_acknowledged_and_leaves_no_trace(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    """A limit on the size of files does it, halfway through a batch, as a full disk would."""
    running = own_broker().start()
    batch = a_batch(b"v" * 200_000)
    with RawClient(running.port) as client:
        client.create_topic(topic)
        client.create_topic(f"{topic}-small")
        assert client.produce(topic, batch).error_code == 0
    limit = 300_000
    resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    for acks in (1, -1, 0):
        with RawClient(running.port) as client:
            client.send(frame_of(produce_of(topic, batch, acks=acks), 9))
            assert client.is_closed_by_broker()
    assert running.log.count("could not be read or written") == 3
    with RawClient(running.port) as client:
        assert client.end_of(topic) == 1
        assert client.produce(f"{topic}-small", a_batch(b"v")).error_code == 0
        resource.prlimit(
            running.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        )
        assert client.produce(topic, batch).base_offset == 1
    running.kill()
    running.start()
    with RawClient(running.port) as client:
        assert client.end_of(topic) == 2
    assert "Traceback" not in running.log
    assert running.stop() == 0


def test_a_byte_that_went_bad_on_disk_is_told_and_only_its_batch_is_lost(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    running = own_broker("--set", "log.flush.offset.checkpoint.interval.ms=100").start()
    points = running.data_dir / "recovery-point-offset-checkpoint"
    last_written = running.data_dir / "penstock-topic-id-checkpoint"
    with RawClient(running.port) as client:
        client.create_topic(topic)
        for number in range(9):
            assert client.produce(topic, a_batch(b"%d" % number * 5000)).error_code == 0
        until(
            lambda: points.exists() and f"{topic} 0 9" in points.read_text(),
            "no checkpoint is written",
        )
        until(
            lambda: last_written.exists() and topic in last_written.read_text(),
            "the checkpoint is not finished",
        )
    running.kill()
    segment = running.data_dir / f"{topic}-0" / f"{0:020}.log"
    data = bytearray(segment.read_bytes())
    size = len(data) // 9
    data[4 * size + 2000] ^= 0x01
    segment.write_bytes(data)
    running.start()
    assert f"{topic}-0" in running.log
    with RawClient(running.port) as client:
        codes = [client.fetch(topic, offset).error_code for offset in range(9)]
        assert codes == [0] * 4 + [ErrorCode.CORRUPT_MESSAGE] + [0] * 4
        first = client.fetch(topic, 0).records
        assert len(first or b"") == 4 * size
        assert client.produce(topic, a_batch(b"new")).base_offset == 9
        assert client.fetch(topic, 9).error_code == 0
    assert "Traceback" not in running.log
    assert running.stop() == 0
