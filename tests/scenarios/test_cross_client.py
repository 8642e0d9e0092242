"""What one client writes, every other reads: in each codec, and whatever the broker did with it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import aiokafka
import confluent_kafka.admin
import cramjam
import pytest
from tests.broker_process import BrokerProcess
from tests.cli.conftest import run as penstock

from penstock.wire.batch import BatchHeader, read_header
from penstock.wire.compression import Codec

with warnings.catch_warnings():  # it reads its schemas by a call that Python 3.11 deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.codec

WAIT_S = 30
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
HEADERS = [("source", "test"), ("source", "é")]
rdkafka: Any = confluent_kafka.admin
"""Its types are not all there."""

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*_text is deprecated:DeprecationWarning",  # kafka-python's schemas, as above
)


class Sent(NamedTuple):
    key: str | None
    value: str | None


class Read(NamedTuple):
    """A record as any client may show it; `timestamp_ms` is what makes it this very one."""

    offset: int
    timestamp_ms: int
    key: str | None
    value: str | None
    headers: list[tuple[str, str]]


SOME = [
    *(Sent(f"key {number}", f"Größe {number} " + "abc " * 50) for number in range(40)),
    Sent(None, "without a key"),
    Sent("tombstone", None),
    *(Sent(f"key {number}", f"Größe {number} " + "abc " * 50) for number in range(40)),
]


def encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def decoded(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


# Writers: every record to partition 0, acknowledged by all, in as few batches as the client makes.


def kcat_writes(address: str, topic: str, records: list[Sent], codec: str) -> None:
    lines = "".join(f"{each.key or ''}\t{each.value or ''}\n" for each in records)
    headers = [word for name, value in HEADERS for word in ("-H", f"{name}={value}")]
    options = ("-P", "-t", topic, "-p", "0", "-z", codec, "-K", "\t", "-Z", *headers)
    kcat(address, *options, "-X", "acks=all", "-X", "linger.ms=20", stdin=lines)


def confluent_writes(address: str, topic: str, records: list[Sent], codec: str) -> None:
    failed: list[Any] = []

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            failed.append(error)

    producer: Any = confluent_kafka.Producer(
        {"bootstrap.servers": address, "compression.type": codec, "linger.ms": 20, "acks": "all"}
    )
    for each in records:
        headers = [(name, value.encode()) for name, value in HEADERS]
        key, value = encoded(each.key), encoded(each.value)
        producer.produce(topic, value, key, 0, headers=headers, on_delivery=delivered)
    assert producer.flush(WAIT_S) == 0
    assert failed == []


def kafka_python_writes(address: str, topic: str, records: list[Sent], codec: str) -> None:
    named = None if codec == "none" else codec
    producer = kafka.KafkaProducer(
        bootstrap_servers=address, compression_type=named, linger_ms=20, acks="all"
    )
    headers = [(name, value.encode()) for name, value in HEADERS]
    sent = [
        producer.send(topic, encoded(each.value), encoded(each.key), headers, 0) for each in records
    ]
    for future in sent:
        future.get(WAIT_S)
    producer.close()


def aiokafka_writes(address: str, topic: str, records: list[Sent], codec: str) -> None:
    headers = [(name, value.encode()) for name, value in HEADERS]

    async def write() -> None:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=address,
            compression_type=None if codec == "none" else codec,
            linger_ms=20,
            acks="all",
        )
        async with producer:
            sent = [
                await producer.send(
                    topic, encoded(each.value), encoded(each.key), 0, headers=headers
                )
                for each in records
            ]
            await asyncio.wait_for(asyncio.gather(*sent), WAIT_S)

    asyncio.run(write())


def penstock_writes(address: str, topic: str, records: list[Sent], codec: str) -> None:
    headers = [{"key": name, "value": value} for name, value in HEADERS]
    lines = [
        json.dumps({"key": each.key, "value": each.value, "headers": headers, "partition": 0})
        for each in records
    ]
    options = ("produce", topic, "--json", "--compression", codec)
    done = penstock(address, *options, stdin="\n".join(lines))
    assert done.exit_code == 0, done.output


WRITERS: dict[str, Callable[[str, str, list[Sent], str], None]] = {
    "kcat": kcat_writes,
    "confluent": confluent_writes,
    "kafka-python": kafka_python_writes,
    "aiokafka": aiokafka_writes,
    "penstock": penstock_writes,
}


# Readers: what partition 0 holds from an offset to the end that is given.


def kcat_reads(address: str, topic: str, first: int, end: int) -> list[Read]:
    count = str(end - first)
    printed = kcat(address, "-C", "-t", topic, "-p", "0", "-J", "-o", str(first), "-c", count)
    return [
        Read(
            each["offset"],
            each["ts"],
            each["key"],
            each["payload"],
            list(zip(each["headers"][::2], each["headers"][1::2], strict=True)),
        )
        for each in map(json.loads, printed.splitlines())
    ]


def confluent_reads(address: str, topic: str, first: int, end: int) -> list[Read]:
    consumer: Any = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "none",
            "enable.auto.commit": False,
            "check.crcs": True,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, first)])
    found: list[Read] = []
    while len(found) < end - first:
        message = consumer.poll(WAIT_S)
        assert message is not None, f"only {len(found)} came"
        assert message.error() is None, message.error()
        found.append(
            Read(
                message.offset(),
                message.timestamp()[1],
                decoded(message.key()),
                decoded(message.value()),
                [(name, value.decode()) for name, value in message.headers()],
            )
        )
    consumer.close()
    return found


def shown(records: list[Any]) -> list[Read]:
    """As kafka-python and aiokafka show them."""
    return [
        Read(
            each.offset,
            each.timestamp,
            decoded(each.key),
            decoded(each.value),
            [(name, value.decode()) for name, value in each.headers],
        )
        for each in records
    ]


def kafka_python_reads(address: str, topic: str, first: int, end: int) -> list[Read]:
    place = kafka.TopicPartition(topic, 0)
    consumer = kafka.KafkaConsumer(bootstrap_servers=address, check_crcs=True)
    consumer.assign([place])
    consumer.seek(place, first)
    found: list[Any] = []
    deadline_s = time.monotonic() + WAIT_S
    while len(found) < end - first:
        assert time.monotonic() < deadline_s, f"only {len(found)} came"
        found += consumer.poll(timeout_ms=1000).get(place, [])
    consumer.close()
    return shown(found)


def aiokafka_reads(address: str, topic: str, first: int, end: int) -> list[Read]:
    async def read() -> list[Any]:
        place = aiokafka.TopicPartition(topic, 0)
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=address, enable_auto_commit=False)
        async with consumer:
            consumer.assign([place])
            consumer.seek(place, first)
            return [await asyncio.wait_for(consumer.getone(), WAIT_S) for _ in range(first, end)]

    return shown(asyncio.run(read()))


def penstock_reads(address: str, topic: str, first: int, end: int) -> list[Read]:
    options = ("--partition", "0", "--from", str(first), "--count", str(end - first))
    done = penstock(address, "consume", topic, "--json", *options)
    assert done.exit_code == 0, done.output
    return [
        Read(
            each["offset"],
            each["timestamp"],
            each["key"],
            each["value"],
            [(header["key"], header["value"]) for header in each["headers"]],
        )
        for each in map(json.loads, done.stdout.splitlines())
    ]


READERS: dict[str, Callable[[str, str, int, int], list[Read]]] = {
    "kcat": kcat_reads,
    "confluent": confluent_reads,
    "kafka-python": kafka_python_reads,
    "aiokafka": aiokafka_reads,
    "penstock": penstock_reads,
}


def kcat(address: str, *options: str, stdin: str = "") -> str:
    command = ["kcat", "-b", address, *options]
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def create(broker: BrokerProcess, topic: str, **settings: str) -> None:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    admin = rdkafka.AdminClient({"bootstrap.servers": broker.address})
    (future,) = admin.create_topics([rdkafka.NewTopic(topic, 1, config=named)]).values()
    future.result(WAIT_S)


def all_read(
    broker: BrokerProcess, topic: str, records: list[Sent], first: int = 0
) -> list[list[Read]]:
    """What every reader finds, having made sure that they agree and that it is what was sent."""
    end = len(records)
    found = [read(broker.address, topic, first, end) for read in READERS.values()]
    for name, each in zip(READERS, found, strict=True):
        assert each == found[0], f"{name} reads something else"
    assert [(each.key, each.value) for each in found[0]] == records[first:]
    assert [each.offset for each in found[0]] == list(range(first, end))
    assert all(each.headers == HEADERS for each in found[0])
    return found


def stored(broker: BrokerProcess, topic: str) -> list[BatchHeader]:
    """The batches in the only segment of partition 0."""
    (segment,) = (broker.data_dir / f"{topic}-0").glob("*.log")
    data = segment.read_bytes()
    headers: list[BatchHeader] = []
    position = 0
    while position < len(data):
        headers.append(read_header(data, position))
        position += headers[-1].size
    return headers


def stored_codecs(broker: BrokerProcess, topic: str) -> set[str]:
    return {Codec(header.codec).name.lower() for header in stored(broker, topic)}


@pytest.fixture(autouse=True)
def snappy_for_kafka_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks for python-snappy, whose compressor is the one that is here already."""
    codec = SimpleNamespace(
        compress=lambda data: bytes(cramjam.snappy.compress_raw(data)),
        decompress=lambda data: bytes(cramjam.snappy.decompress_raw(data)),
    )
    monkeypatch.setattr(kafka.codec, "snappy", codec)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("writer", WRITERS)
def test_what_one_client_writes_all_read(
    broker: BrokerProcess, topic: str, writer: str, codec: str
) -> None:
    create(broker, topic)
    WRITERS[writer](broker.address, topic, SOME, codec)
    assert stored_codecs(broker, topic) == {codec}
    all_read(broker, topic, SOME)


@pytest.mark.parametrize("codec", CODECS)
def test_all_read_from_the_middle_of_a_batch(broker: BrokerProcess, topic: str, codec: str) -> None:
    create(broker, topic)
    confluent_writes(broker.address, topic, SOME, codec)
    assert 17 not in {header.base_offset for header in stored(broker, topic)}
    all_read(broker, topic, SOME, first=17)
    all_read(broker, topic, SOME, first=len(SOME) - 1)


@pytest.mark.parametrize("wanted", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_all_read_what_the_broker_compressed_again(
    broker: BrokerProcess, topic: str, wanted: str
) -> None:
    create(broker, topic, compression_type=wanted)
    records = []
    for write, codec in zip(WRITERS.values(), CODECS, strict=True):
        write(broker.address, topic, SOME, codec)
        records += SOME
    assert stored_codecs(broker, topic) == {"none" if wanted == "uncompressed" else wanted}
    all_read(broker, topic, records)


def test_what_clients_write_passes_the_full_validation(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic, record_validation="full")
    records = []
    for codec in CODECS:
        for write in WRITERS.values():
            write(broker.address, topic, SOME, codec)
            records += SOME
    assert stored_codecs(broker, topic) == set(CODECS)
    all_read(broker, topic, records)


def test_a_compacted_topic_takes_keyed_records_only(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic, cleanup_policy="compact")
    keyed = [each for each in SOME if each.key is not None]
    for write in WRITERS.values():
        write(broker.address, topic, keyed, "lz4")
    all_read(broker, topic, keyed * len(WRITERS))
    with pytest.raises(AssertionError, match="INVALID_RECORD"):
        confluent_writes(broker.address, topic, [Sent(None, "no key")], "none")
    all_read(broker, topic, keyed * len(WRITERS))


def test_all_read_the_brokers_own_time(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic, message_timestamp_type="LogAppendTime")
    records = []
    for write in WRITERS.values():
        write(broker.address, topic, SOME, "zstd")
        records += SOME
    found = all_read(broker, topic, records)[0]
    times = [each.timestamp_ms for each in found]
    assert times == sorted(times)


def test_clients_find_the_same_offset_for_a_time(broker: BrokerProcess, topic: str) -> None:
    create(broker, topic)
    start_ms = 1_700_000_000_000
    lines = "\n".join(
        json.dumps({"value": "x", "timestamp": start_ms + 1000 * number}) for number in range(20)
    )
    assert penstock(broker.address, "produce", topic, "--json", stdin=lines).exit_code == 0
    wanted_ms = start_ms + 6500

    by_kcat = kcat(broker.address, "-Q", "-t", f"{topic}:0:{wanted_ms}")
    assert by_kcat == f"{topic} [0] offset 7\n"
    librdkafka: Any = confluent_kafka.Consumer(
        {"bootstrap.servers": broker.address, "group.id": "none"}
    )
    asked = [confluent_kafka.TopicPartition(topic, 0, wanted_ms)]
    assert [each.offset for each in librdkafka.offsets_for_times(asked, WAIT_S)] == [7]
    librdkafka.close()
    kafka_python = kafka.KafkaConsumer(bootstrap_servers=broker.address)
    (found,) = kafka_python.offsets_for_times({kafka.TopicPartition(topic, 0): wanted_ms}).values()
    assert (found.offset, found.timestamp) == (7, start_ms + 7000)
    kafka_python.close()
    done = penstock(broker.address, "consume", topic, "--json", "--from", str(wanted_ms))
    assert json.loads(done.stdout.splitlines()[0])["offset"] == 7


@pytest.mark.parametrize("end", [BrokerProcess.stop, BrokerProcess.kill])
def test_what_every_client_wrote_is_there_after_a_restart(
    own_broker: Callable[..., BrokerProcess], topic: str, end: Callable[[BrokerProcess], Any]
) -> None:
    server = own_broker().start()
    create(server, topic)
    records = []
    for write, codec in zip(WRITERS.values(), CODECS, strict=True):
        write(server.address, topic, SOME, codec)
        records += SOME
    before = all_read(server, topic, records)
    end(server)
    server.start()
    assert all_read(server, topic, records) == before
    assert "Traceback" not in server.log
