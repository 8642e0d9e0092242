"""A topic and its table, compared record by record, whatever happens between two rounds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from tests.broker_process import BrokerProcess
from tests.group_stage import wait_until
from tests.reduction_stage import reduce, wait_reduced
from tests.spark.records import in_table, in_topic, send, send_in_transaction, wait_for_markers

from penstock.client import admin, group_offsets, offsets
from penstock.client.cluster import WireClient
from penstock.client.group_offsets import committed_offsets
from penstock.client.open_transaction import begin, end
from penstock.client.producer import Producer
from penstock.spark.archive import archiver
from penstock.spark.archive.archiver import ArchiveOptions, Archiver, Round
from penstock.spark.archive.tasks import Here, Job
from penstock.spark.errors import DataLossError, SparkError
from penstock.spark.tables.files import DataFile
from penstock.spark.tables.formats import open_table
from penstock.spark.tables.topic_table import Overtaken

Archive = Callable[..., list[Round]]


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "table"


@pytest.fixture
def archive(broker: BrokerProcess, topic: str, folder: Path) -> Archive:
    """All that is there now; the rounds that it took."""

    def run(runner: Callable[[Job], list[DataFile]] | None = None, **more: object) -> list[Round]:
        given = {"topic": topic, **more}
        options = ArchiveOptions(broker.address, folder=str(folder), once=True, **given)  # type: ignore[arg-type]
        rounds: list[Round] = []
        Archiver(options, runner or Here(), rounds.append).run()  # type: ignore[arg-type]
        return rounds

    return run


class Meanwhile(Here):
    """Something happens before a round's tasks run, or after."""

    def __init__(
        self, before: Callable[[], object] | None = None, after: Callable[[], object] | None = None
    ) -> None:
        self._before, self._after = before, after

    def __call__(self, job: Job) -> list[DataFile]:
        if self._before:
            self._before()
        done = super().__call__(job)
        if self._after:
            self._after()
        return done


def test_a_table_has_what_the_topic_has_and_goes_on(
    client: WireClient, topic: str, archive: Archive, folder: Path
) -> None:
    admin.create_topic(client, topic, partitions=2)
    send(client, topic, range(500))
    assert sum(each.rows for each in archive()) == 500
    assert in_table(folder) == in_topic(client, topic)
    assert archive() == []
    send(client, topic, range(500, 800))
    rounds = archive(rows_a_round=100)
    assert [each.rows for each in rounds] == [100, 100, 100]
    assert [each.lag for each in rounds] == [200, 100, 0]
    assert in_table(folder) == in_topic(client, topic)
    found = committed_offsets(client, f"penstock-archive-{topic}")
    assert {place: (each.offset, each.lag) for place, each in found.items()} == {
        (topic, 0): (400, 0),
        (topic, 1): (400, 0),
    }


def test_only_what_was_committed_is_archived(
    client: WireClient, topic: str, archive: Archive, folder: Path
) -> None:
    admin.create_topic(client, topic)
    send_in_transaction(client, topic, [b"never"], ok=False)
    archive()
    assert in_table(folder) == []
    send_in_transaction(client, topic, [b"done"], ok=True)
    opened = begin(client, f"{topic}-open")
    producer = Producer(client, topic, transaction=opened)
    producer.send(b"open")
    producer.flush()
    send(client, topic, range(1, 2), 1)
    archive()
    assert [each.value for each in in_table(folder)] == [b"done"]
    end(client, opened, is_commit=True)
    wait_for_markers(client, topic)
    archive()
    assert [each.value for each in in_table(folder)] == [b"done", b"open", b"value 1"]
    assert in_table(folder) == in_topic(client, topic)


def test_times_that_no_column_can_hold_stop_nothing(
    broker: BrokerProcess, client: WireClient, topic: str, archive: Archive, folder: Path
) -> None:
    far = {"message.timestamp.after.max.ms": str(2**63 - 1)}
    admin.create_topic(client, topic, partitions=1, configs=far)
    producer = Producer(client, topic)
    for time_ms in (2**61, -1, 1_700_000_000_000):
        producer.send(b"value", timestamp_ms=time_ms)
        producer.flush()
    other = confluent_kafka.Producer({"bootstrap.servers": broker.address})
    for time_ms in (2**62, 2**63 - 1):  # which our own producer does not send
        other.produce(topic, b"value", timestamp=time_ms)
        assert other.flush(30) == 0
    at_once = confluent_kafka.Producer({"bootstrap.servers": broker.address, "linger.ms": 1000})
    for time_ms in (1, 2**63 - 1, 2):  # in one batch, farther apart than it counts
        at_once.produce(topic, b"value", timestamp=time_ms)
    assert at_once.flush(30) == 0
    archive()
    found = [each.timestamp_ms for each in in_table(folder)]
    last = (2**63 - 1) // 1000
    assert found == [last, -1, 1_700_000_000_000, last, last, 1, last, 2]


def test_the_beginning_is_what_there_is(
    client: WireClient, topic: str, archive: Archive, folder: Path
) -> None:
    admin.create_topic(client, topic)
    send(client, topic, range(50), 1)
    offsets.delete_records(client, topic, {0: 20})
    (done,) = archive()
    assert (done.rows, done.lost) == (30, [])


def test_what_went_before_it_was_archived_is_an_error_or_passed_over(
    client: WireClient, topic: str, archive: Archive, folder: Path
) -> None:
    admin.create_topic(client, topic)
    send(client, topic, range(10), 1)
    archive()
    send(client, topic, range(10, 50), 1)
    offsets.delete_records(client, topic, {0: 20})
    with pytest.raises(DataLossError, match=r"offsets 10 to 19 of partition 0.*--skip-lost"):
        archive()
    (done,) = archive(skip_lost=True)
    assert [each[:3] for each in done.lost] == [(0, 10, 20)]
    assert [each.offset for each in in_table(folder)] == [*range(10), *range(20, 50)]
    offsets.delete_records(client, topic, {0: 50})
    assert archive() == []


@pytest.mark.parametrize("skip_lost", [True, False])
def test_retention_that_is_faster_than_a_round_is_noticed(
    client: WireClient, topic: str, archive: Archive, folder: Path, skip_lost: bool
) -> None:
    admin.create_topic(client, topic)
    send(client, topic, range(50), 1)
    faster = Meanwhile(before=lambda: offsets.delete_records(client, topic, {0: 20}))
    if not skip_lost:
        with pytest.raises(DataLossError, match="offsets 0 to 19"):
            archive(faster)
        return
    (done,) = archive(faster, skip_lost=True)
    assert [each[:3] for each in done.lost] == [(0, 0, 20)]
    assert in_table(folder) == in_topic(client, topic)


def test_partitions_that_are_added_are_archived_from_their_beginning(
    client: WireClient, topic: str, archive: Archive, folder: Path
) -> None:
    admin.create_topic(client, topic)
    send(client, topic, range(5), 1)
    archive()
    admin.add_partitions(client, topic, 3)
    client.forget()
    send(client, topic, range(5, 20), 3)
    archive()
    assert in_table(folder) == in_topic(client, topic)


def test_a_topic_made_anew_and_another_topic_are_refused(
    client: WireClient, topic: str, archive: Archive, folder: Path
) -> None:
    for name in (topic, f"{topic}-other"):
        admin.create_topic(client, name)
        send(client, name, range(5), 1)
    archive()
    with pytest.raises(SparkError, match=f"the table of topic {topic}, not of {topic}-other"):
        archive(topic=f"{topic}-other")
    admin.delete_topic(client, topic)
    client.forget()
    admin.create_topic(client, topic)
    send(client, topic, range(3), 1)
    with pytest.raises(SparkError, match="deleted, and made anew"):
        archive()
    assert len(in_table(folder)) == 5


def test_a_topic_made_anew_in_the_middle_of_a_round_is_not_mixed_in(
    client: WireClient, topic: str, archive: Archive, folder: Path
) -> None:
    admin.create_topic(client, topic)
    send(client, topic, range(5), 1)
    archive()
    send(client, topic, range(5, 10), 1)

    def renew() -> None:
        admin.delete_topic(client, topic)
        client.forget()
        admin.create_topic(client, topic)
        send(client, topic, range(100, 120), 1)

    with pytest.raises(Exception, match="made anew"):
        archive(Meanwhile(before=renew))
    assert [each.offset for each in in_table(folder)] == [*range(5)]


def test_partitions_that_close_are_archived_to_their_end_and_may_come_again(
    client: WireClient, broker: BrokerProcess, topic: str, archive: Archive, folder: Path
) -> None:
    admin.create_topic(client, topic, partitions=4)
    send(client, topic, range(40), 4)
    archive()
    send(client, topic, range(40, 80), 4)
    expected = in_topic(client, topic)
    group_offsets.commit_offsets(  # as if it had read all, or the partitions would stay open
        client, f"penstock-archive-{topic}", {(topic, index): 20 for index in range(4)}
    )
    reduce(broker.address, topic, 2, "--when", "drained")
    wait_reduced(broker.address, topic, 2)
    client.forget()
    archive()
    assert in_table(folder) == expected
    assert archive() == []
    told = committed_offsets(client, f"penstock-archive-{topic}")
    assert told[f"{topic}.sealed-1", 1].lag == 0
    admin.add_partitions(client, topic, 3)
    client.forget()
    send(client, topic, range(80, 110), 3)
    archive()
    again = [each for each in in_topic(client, topic) if each not in expected]
    assert sorted(in_table(folder), key=str) == sorted([*expected, *again], key=str)


def test_partitions_that_go_while_a_topic_is_looked_at_stop_nothing(
    client: WireClient,
    broker: BrokerProcess,
    topic: str,
    archive: Archive,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They go when the archive has seen them, and before it has asked where they end."""
    admin.create_topic(client, topic, partitions=4)
    send(client, topic, range(40), 4)
    archive()
    send(client, topic, range(40, 80), 4)
    expected = in_topic(client, topic)
    marks = {(topic, index): 20 for index in range(4)}
    group_offsets.commit_offsets(client, f"penstock-archive-{topic}", marks)
    original = offsets.ends

    def late(*args: Any, **more: Any) -> dict[int, int]:
        monkeypatch.setattr(archiver, "ends", original)
        reduce(broker.address, topic, 2)
        wait_reduced(broker.address, topic, 2)
        return original(*args, **more)

    monkeypatch.setattr(archiver, "ends", late)
    archive()
    assert in_table(folder) == expected


def test_retention_that_waits_for_the_archive_loses_nothing_and_goes_on_behind_it(
    own_broker: Callable[..., BrokerProcess], topic: str, folder: Path
) -> None:
    broker = own_broker("--set", "log.retention.check.interval.ms=50").start()
    held = {"retention.hold.for.archive": "true", "retention.ms": "1", "segment.bytes": "1024"}
    options = ArchiveOptions(broker.address, topic, str(folder), once=True)
    with WireClient(broker.address) as client:
        admin.create_topic(client, topic, partitions=2, configs=held)
        for first in (0, 100):
            send(client, topic, range(first, first + 100))
            seen = f"{topic}: retention waits for the archive ("
            wait_until(lambda: broker.log.count(seen) > first // 100, seen)  # noqa: B023
            Archiver(options, Here()).run()
            wait_until(
                lambda: (
                    offsets.ends(client, topic, [0, 1], offsets.EARLIEST)
                    == offsets.ends(client, topic, [0, 1], offsets.LATEST)
                ),
                "all that is archived goes",
            )
    assert [each.offset for each in in_table(folder)] == [*range(100), *range(100)]


def test_the_group_is_told_again_where_there_is_no_news(
    broker: BrokerProcess,
    client: WireClient,
    topic: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archiver, "TELL_S", 0.0)
    admin.create_topic(client, topic)
    send(client, topic, range(5), 1)
    group = f"penstock-archive-{topic}"
    running = Archiver(ArchiveOptions(broker.address, topic, str(folder)), Here())
    thread = threading.Thread(target=running.run)
    thread.start()

    def is_told() -> bool:
        found = committed_offsets(client, group).get((topic, 0))
        return found is not None and found.offset == 5

    try:
        wait_until(is_told, "it is told")
        group_offsets.delete_offsets(client, group, [(topic, 0)])
        wait_until(is_told, "it is told again")
    finally:
        running.stop.set()
        thread.join(60)


def test_an_archiver_that_is_overtaken_adds_nothing(
    client: WireClient, topic: str, archive: Archive, folder: Path
) -> None:
    admin.create_topic(client, topic, partitions=2)
    send(client, topic, range(100))
    with pytest.raises(Overtaken, match="another process has changed"):
        archive(Meanwhile(after=archive))
    assert in_table(folder) == in_topic(client, topic)
    send(client, topic, range(100, 120))
    with pytest.raises(Overtaken):
        archive(Meanwhile(before=archive))
    assert in_table(folder) == in_topic(client, topic)


def test_small_files_become_large_ones_on_the_way(
    client: WireClient, topic: str, archive: Archive, folder: Path
) -> None:
    admin.create_topic(client, topic, partitions=2)
    send(client, topic, range(100))
    assert len(archive(rows_a_round=10, compact_every=5)) == 10
    assert len(open_table(folder).files()) == 2
    assert in_table(folder) == in_topic(client, topic)


def test_it_goes_on_until_it_is_stopped(
    broker: BrokerProcess, client: WireClient, topic: str, folder: Path
) -> None:
    admin.create_topic(client, topic)
    came = threading.Semaphore(0)
    options = ArchiveOptions(broker.address, topic, str(folder))
    archiver = Archiver(options, Here(), lambda _: came.release())
    running = threading.Thread(target=archiver.run)
    running.start()
    try:
        for first in (0, 10):
            send(client, topic, range(first, first + 10), 1)
            assert came.acquire(timeout=60)
    finally:
        archiver.stop.set()
        running.join(60)
    assert not running.is_alive()
    assert in_table(folder) == in_topic(client, topic)
