"""A disk that is really full: what was acknowledged stays, and what is not written is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tests.broker_process import BrokerProcess
from tests.lanes import in_chaos
from tests.raw_client import RawClient, a_batch

from penstock.errors import ErrorCode

MIB = 1 << 20
DISK_BYTES = 24 * MIB
BALLAST_BYTES = 6 * MIB
OLD_BYTES = 6 * MIB
VALUE_BYTES = 20_000
MOUNT = 'mount -t tmpfs -o "size=$2" small-disk "$1" && echo mounted && exec cat'
NO_RESERVE = ("--set", "disk.free.min.bytes=0")
OFTEN = (
    *("--set", "log.retention.check.interval.ms=200"),
    *("--set", "log.segment.delete.delay.ms=0"),
    *("--set", "log.flush.offset.checkpoint.interval.ms=200"),
    *("--set", "broker.session.timeout.ms=2000"),
)


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


class SmallDisk:
    """A file system of its own, which only processes in its namespace see, and which ends with it.

    Its holder waits for input that never comes: if this process dies, so does the holder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNT, "sh"]
        self._holder = subprocess.Popen(
            [*command, str(folder), str(DISK_BYTES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._holder.stdout is not None
        self.said = self._holder.stdout.readline().strip()

    @property
    def is_mounted(self) -> bool:
        return self.said == "mounted"

    @property
    def wrapper(self) -> tuple[str, ...]:
        """Starts a command where the disk is."""
        return "nsenter", "--target", str(self._holder.pid), "--mount", "--"

    @property
    def seen_from_outside(self) -> Path:
        return Path(f"/proc/{self._holder.pid}/root{self.folder}")

    @property
    def free_bytes(self) -> int:
        found = os.statvfs(self.seen_from_outside)
        return found.f_bavail * found.f_frsize

    @property
    def has_reserve(self) -> bool:
        return (self.seen_from_outside / "data" / "reserve").exists()

    def fill(self) -> None:
        """To the last byte."""
        with (self.seen_from_outside / "filler").open("ab", buffering=0) as filler:
            size = 1 << 16
            while size:
                try:
                    filler.write(bytes(size))
                except OSError:
                    size //= 2

    def empty(self) -> None:
        (self.seen_from_outside / "filler").unlink()

    def close(self) -> None:
        self._holder.communicate()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system to fill")
    if not (shutil.which("unshare") and shutil.which("nsenter")):
        pytest.skip("without unshare and nsenter no small file system can be mounted for a test")
    made = SmallDisk(tmp_path / "small")
    if not made.is_mounted:
        made.close()
        pytest.skip(f"a small file system to fill cannot be mounted here: {made.said}")
    yield made
    made.close()


@pytest.fixture
def start(small_disk: SmallDisk) -> Iterator[Callable[..., BrokerProcess]]:
    """Starts a broker whose data is on the small disk."""
    made: list[BrokerProcess] = []
    (small_disk.seen_from_outside / "ballast").write_bytes(bytes(BALLAST_BYTES))

    def start(*options: str) -> BrokerProcess:
        made.append(BrokerProcess(small_disk.folder / "data", *NO_RESERVE, *OFTEN, *options))
        made[-1].wrapper = small_disk.wrapper
        return made[-1].start()

    yield start
    for each in made:
        each.kill()


class Sender:
    """An idempotent producer that notes what was acknowledged where, and what was not."""

    def __init__(self, address: str, topic: str) -> None:
        self.topic = topic
        self.sent = 0
        self.acked: dict[int, int] = {}
        self.failed: dict[int, confluent_kafka.KafkaError] = {}
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": address,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 5,
                "batch.size": 2 * VALUE_BYTES,  # or there is still room when one does not fit
                "log_level": 0,
                "message.timeout.ms": 8000,
                "reconnect.backoff.max.ms": 200,
                "retry.backoff.ms": 50,
                "queue.buffering.max.messages": 200,
            }
        )

    def send(self) -> None:
        number = self.sent
        value = b"%d " % number + os.urandom(VALUE_BYTES)

        def delivered(error: confluent_kafka.KafkaError | None, message: Any) -> None:
            if error is not None:
                self.failed[number] = error
            else:
                self.acked[number] = message.offset()

        try:
            self._producer.produce(self.topic, value, on_delivery=delivered)
            self.sent += 1
        except BufferError:
            self._producer.poll(0.05)
        self._producer.poll(0)

    def send_until_it_fails(self) -> None:
        while not self.failed:
            self.send()
        assert self._producer.flush(60) == 0

    def send_without_failure(self, count: int) -> None:
        failed, end = len(self.failed), self.sent + count
        while self.sent < end:
            self.send()
        assert self._producer.flush(60) == 0
        assert len(self.failed) == failed, list(self.failed.values())[failed:]


def read_all(address: str, topic: str, end: int) -> list[tuple[int, int]]:
    """Every (offset, number) from the beginning."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": address, "group.id": "reader", "enable.auto.commit": False}
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found: list[tuple[int, int]] = []
    try:
        while not found or found[-1][0] < end - 1:
            message = consumer.poll(20)
            assert message is not None, f"only {len(found)} of {end} came"
            assert message.error() is None, message.error()
            value, offset = message.value(), message.offset()
            assert value is not None
            assert offset is not None
            found.append((offset, int(value.split(b" ", 1)[0])))
    finally:
        consumer.close()
    return found


def check_all_there(running: BrokerProcess, sender: Sender) -> None:
    """What was acknowledged is where that said, and nothing is there twice."""
    found = read_all(running.address, sender.topic, max(sender.acked.values()) + 1)
    numbers = [number for _, number in found]
    assert len(set(numbers)) == len(numbers)
    assert sender.acked.items() <= {number: offset for offset, number in found}.items()


def produce_in_vain(port: int, topic: str) -> int | None:
    """The error code; None where the connection was closed instead."""
    with RawClient(port) as client:
        try:
            return client.produce(topic, a_batch(os.urandom(500_000))).error_code
        except ConnectionError:
            return None


def done(results: dict[Any, Future[Any]]) -> None:
    for result in results.values():
        result.result(30)


def remove_ballast(small_disk: SmallDisk, admin: AdminClient, old: str) -> None:
    (small_disk.seen_from_outside / "ballast").unlink()


def delete_records(small_disk: SmallDisk, admin: AdminClient, old: str) -> None:
    done(admin.delete_records([confluent_kafka.TopicPartition(old, 0, -1)]))


def delete_topic(small_disk: SmallDisk, admin: AdminClient, old: str) -> None:
    done(admin.delete_topics([old]))


@pytest.mark.parametrize(
    "make_room",
    [
        pytest.param(remove_ballast, marks=in_chaos),
        delete_records,
        pytest.param(delete_topic, marks=in_chaos),
    ],
)
def test_a_full_disk_loses_nothing_and_writes_go_on_once_there_is_room(
    small_disk: SmallDisk,
    start: Callable[..., BrokerProcess],
    topic: str,
    make_room: Callable[[SmallDisk, AdminClient, str], None],
) -> None:
    running = start()
    admin = AdminClient({"bootstrap.servers": running.address})
    old = f"{topic}-old"
    small_segments = {"segment.bytes": str(MIB)}
    done(
        admin.create_topics([NewTopic(name, 1, 1, config=small_segments) for name in (topic, old)])
    )
    Sender(running.address, old).send_without_failure(OLD_BYTES // VALUE_BYTES)
    sender = Sender(running.address, topic)

    sender.send_until_it_fails()
    codes = {error.code() for error in sender.failed.values()}
    assert codes == {confluent_kafka.KafkaError._MSG_TIMED_OUT}
    assert not any(error.fatal() for error in sender.failed.values())
    assert small_disk.free_bytes < 500_000
    for _ in range(5):
        assert produce_in_vain(running.port, old) in (None, ErrorCode.KAFKA_STORAGE_ERROR)
    assert {topic, old} <= admin.list_topics(timeout=10).topics.keys()
    check_all_there(running, sender)

    make_room(small_disk, admin, old)
    wait_until(lambda: small_disk.free_bytes > 3 * MIB)
    sender.send_without_failure(50)
    check_all_there(running, sender)
    running.kill()
    running.start()
    check_all_there(running, sender)
    sender.send_without_failure(10)
    assert "No space left on device" in running.log
    assert "Traceback" not in running.log
    assert running.stop() == 0


def test_a_broker_without_a_byte_left_answers_what_needs_none_and_says_what_does(
    small_disk: SmallDisk, start: Callable[..., BrokerProcess], topic: str
) -> None:
    running = start()
    admin = AdminClient({"bootstrap.servers": running.address})
    done(admin.create_topics([NewTopic(topic, 1, 1)]))
    sender = Sender(running.address, topic)
    sender.send_without_failure(50)

    for _ in range(30):  # for longer than the broker's lease lasts
        small_disk.fill()
        found = admin.list_topics(timeout=10)
        assert list(found.brokers) == [1]
        assert found.topics[topic].partitions[0].leader == 1
        time.sleep(0.1)
    assert small_disk.free_bytes == 0
    assert produce_in_vain(running.port, topic) in (None, ErrorCode.KAFKA_STORAGE_ERROR)
    with pytest.raises(confluent_kafka.KafkaException, match="the disk is full; free some space"):
        done(admin.create_topics([NewTopic(f"{topic}-new", 1, 1)]))
    check_all_there(running, sender)

    assert running.stop() == 0
    assert not small_disk.has_reserve
    small_disk.fill()
    with pytest.raises(AssertionError, match="the disk is full; free some space"):
        running.start()
    small_disk.empty()
    running.start()
    check_all_there(running, sender)
    sender.send_without_failure(10)
    assert "Traceback" not in running.log
    assert running.stop() == 0


def test_a_broker_that_starts_without_a_byte_left_serves_reads_and_can_be_made_room_in(
    small_disk: SmallDisk, start: Callable[..., BrokerProcess], topic: str
) -> None:
    running = start()
    admin = AdminClient({"bootstrap.servers": running.address})
    old = f"{topic}-old"
    done(admin.create_topics([NewTopic(name, 1, 1) for name in (topic, old)]))
    Sender(running.address, old).send_without_failure(OLD_BYTES // VALUE_BYTES)
    sender = Sender(running.address, topic)
    sender.send_without_failure(50)

    small_disk.fill()
    running.kill()
    small_disk.fill()
    running.start()
    assert not small_disk.has_reserve
    check_all_there(running, sender)
    assert produce_in_vain(running.port, topic) == ErrorCode.KAFKA_STORAGE_ERROR
    done(admin.delete_topics([old]))
    wait_until(lambda: small_disk.has_reserve)
    sender.send_without_failure(10)
    check_all_there(running, sender)
    assert "Traceback" not in running.log
    assert running.stop() == 0


def test_a_topic_is_deleted_when_there_is_not_a_byte_left(
    small_disk: SmallDisk, start: Callable[..., BrokerProcess], topic: str
) -> None:
    running = start()
    admin = AdminClient({"bootstrap.servers": running.address})
    old = f"{topic}-old"
    done(admin.create_topics([NewTopic(name, 1, 1) for name in (topic, old)]))
    Sender(running.address, old).send_without_failure(OLD_BYTES // VALUE_BYTES)
    for _ in range(3):  # what the store had room for in its own files is used up
        small_disk.fill()
        time.sleep(1)
    done(admin.delete_topics([old]))
    wait_until(lambda: small_disk.has_reserve)
    Sender(running.address, topic).send_without_failure(10)
    assert running.stop() == 0
