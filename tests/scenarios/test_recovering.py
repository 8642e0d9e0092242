"""A broker that was in trouble comes out of it, and one bad partition troubles no other."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

from tests.broker_process import BrokerProcess
from tests.cli.conftest import run as penstock
from tests.raw_client import RawClient, a_batch, frame_of, produce_of

from penstock.wire.messages.k00_produce import ProduceResponse

LEASE_MS = 2000


def lines(broker: BrokerProcess, *arguments: str, stdin: str = "") -> list[str]:
    done = penstock(broker.address, *arguments, stdin=stdin)
    assert done.exit_code == 0, done.stderr
    return done.stdout.splitlines()


def test_a_broker_that_was_paused_for_longer_than_its_lease_comes_back(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    running = own_broker("--set", f"broker.session.timeout.ms={LEASE_MS}").start()
    lines(running, "produce", topic, "before")
    os.kill(running.pid, signal.SIGSTOP)
    time.sleep(2 * LEASE_MS / 1000)  # the pause itself
    os.kill(running.pid, signal.SIGCONT)
    lines(running, "produce", topic, "after")
    assert lines(running, "consume", topic) == ["before", "after"]
    assert running.stop() == 0
    assert "Traceback" not in running.log


def test_a_topic_made_anew_has_its_records_after_a_crash(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    running = own_broker().start()
    lines(running, "topic", "create", topic)
    lines(running, "produce", topic, stdin="\n".join(map(str, range(100))))
    lines(running, "topic", "truncate", topic, "--before", "50", "--yes")
    assert running.stop() == 0
    running.start()
    lines(running, "topic", "delete", topic, "--yes")
    lines(running, "topic", "create", topic)
    lines(running, "produce", topic, stdin="a\nb\nc\n")
    running.kill()
    running.start()
    assert lines(running, "consume", topic) == ["a", "b", "c"]
    assert "damaged" not in running.log


def test_a_partition_that_cannot_be_read_keeps_nobody_from_the_others(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    running = own_broker("--set", "log.retention.check.interval.ms=50").start()
    lines(running, "topic", "create", topic, "--partitions", "2")
    lines(running, "produce", topic, "--partition", "0", "bad")
    lines(running, "produce", topic, "--partition", "1", "good")
    assert running.stop() == 0
    (folder,) = Path(running.data_dir).glob(f"{topic}-0")
    (folder / "leader-epoch-checkpoint").write_text("99\n0\n")
    running.start()
    assert lines(running, "consume", topic, "--partition", "1") == ["good"]
    refused = penstock(running.address, "consume", topic, "--partition", "0", "--timeout", "2")
    assert refused.exit_code == 1
    assert "storage" in refused.stderr
    assert running.stop() == 0
    assert "cannot be read" in running.log
    assert "upkeep failed" not in running.log


def test_what_a_lost_checkpoint_knew_is_found_out_again(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    running = own_broker().start()
    lines(running, "produce", topic, stdin="a\nb\n")
    assert running.stop() == 0
    (running.data_dir / "recovery-point-offset-checkpoint").unlink()
    running.start()
    assert lines(running, "consume", topic, "--follow", "--count", "2") == ["a", "b"]


STORE = ("metadata.sqlite", "metadata.sqlite-wal")


def test_topics_that_a_cut_store_has_lost_are_kept_and_can_be_put_back(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    running = own_broker().start()
    wal = running.data_dir / STORE[1]
    before = wal.stat().st_size
    lines(running, "topic", "create", topic)
    lines(running, "produce", topic, stdin="a\nb\n")
    running.kill()
    whole = {name: (running.data_dir / name).read_bytes() for name in STORE}
    wal.write_bytes(whole[STORE[1]][: before + 100])
    for _ in range(2):
        running.start()
        assert topic not in lines(running, "topic", "list")
        assert running.stop() == 0
    assert f"{topic}-0." in running.log
    assert "put the store back from a backup" in running.log
    (stray,) = running.data_dir.glob(f"{topic}-0.*-stray")
    for name, data in whole.items():
        (running.data_dir / name).write_bytes(data)
    stray.rename(running.data_dir / f"{topic}-0")
    running.start()
    assert lines(running, "consume", topic) == ["a", "b"]
    assert "damaged" not in running.log


def test_more_connections_than_file_handles_do_not_stop_the_log(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    few = 256
    running = own_broker()
    running.wrapper = ("prlimit", f"--nofile={few}")
    running.start()
    with RawClient(running.port) as client:
        client.create_topic(topic, partitions=12)
        for partition in range(12):
            client.produce(topic, a_batch(b"a"), partition=partition)
        crowd = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(2 * few)]
        frames = [
            frame_of(produce_of(topic, a_batch(b"b"), partition=partition), 9, partition)
            for partition in range(12)
        ]
        client.send(b"".join(frames))
        for number in range(12):
            answer = client.answer_to(ProduceResponse, 9, number)
            assert answer.responses[0].partition_responses[0].error_code == 0
        for each in crowd:
            each.close()
        client.produce(topic, a_batch(b"c"), partition=0)
