"""Tables sent to topics again: in order, once, and on where it stood."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.spark.records import TIME_MS, in_table, in_topic, send, wait_for_markers, without_offsets
from tests.spark.worker_process import work

from penstock.client import admin, offsets
from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.errors import ErrorCode
from penstock.spark.archive.archiver import ArchiveOptions, Archiver
from penstock.spark.archive.tasks import Here as ArchivedHere
from penstock.spark.errors import SparkError
from penstock.spark.replay import tasks
from penstock.spark.replay.plan import Wanted
from penstock.spark.replay.replayer import Replayer, ReplayOptions, Round
from penstock.spark.replay.tasks import Here
from penstock.spark.tables.topic_table import TableFormat
from penstock.wire.compression import Codec

Replay = Callable[..., list[Round]]


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


@pytest.fixture
def table(broker: BrokerProcess, client: WireClient, topic: str, tmp_path: Path) -> Path:
    """Of a topic with two partitions of 250 records each, in files of 50."""
    admin.create_topic(client, topic, partitions=2)
    send(client, topic, range(500))
    archive(broker, topic, tmp_path / "table")
    return tmp_path / "table"


def archive(
    broker: BrokerProcess, topic: str, folder: Path, form: TableFormat | None = None
) -> None:
    given = broker.address, topic, str(folder)
    options = ArchiveOptions(*given, once=True, rows_a_round=100, form=form)
    Archiver(options, ArchivedHere()).run()


@pytest.fixture
def copy(client: WireClient, topic: str) -> str:
    admin.create_topic(client, f"{topic}-copy", partitions=2)
    return f"{topic}-copy"


@pytest.fixture
def replay(broker: BrokerProcess, table: Path, copy: str) -> Replay:
    def run(**more: object) -> list[Round]:
        given = {"target": copy, **more}
        options = ReplayOptions(broker.address, str(table), **given)  # type: ignore[arg-type]
        rounds: list[Round] = []
        assert Replayer(options, Here(), rounds.append).run() == 0
        return rounds

    return run


def copied(client: WireClient, topic: str) -> list[object]:
    wait_for_markers(client, topic)
    return [*without_offsets(in_topic(client, topic))]


def test_a_copy_has_the_same_records_in_the_same_order(
    broker: BrokerProcess, client: WireClient, topic: str, table: Path, copy: str, replay: Replay
) -> None:
    rounds = replay(rows_a_round=100, codec=Codec.ZSTD)
    assert [(each.rows, each.lag) for each in rounds] == [(200, 300), (200, 100), (100, 0)]
    assert copied(client, copy) == without_offsets(in_table(table))
    assert replay() == []
    send(client, topic, range(500, 600))
    archive(broker, topic, table)
    assert sum(each.rows for each in replay()) == 100
    assert copied(client, copy) == without_offsets(in_topic(client, topic))


def test_a_table_in_iceberg_is_replayed_as_well(
    broker: BrokerProcess, client: WireClient, topic: str, tmp_path: Path, copy: str
) -> None:
    admin.create_topic(client, topic, partitions=2)
    send(client, topic, range(500))
    offsets.delete_records(client, topic, {0: 70})
    archive(broker, topic, tmp_path / "table", TableFormat.ICEBERG)
    options = ReplayOptions(broker.address, str(tmp_path / "table"), copy, rows_a_round=100)
    assert Replayer(options, Here()).run() == 0
    assert Replayer(options, Here()).run() == 0
    assert copied(client, copy) == without_offsets(in_topic(client, topic))


def test_the_source_may_be_gone(
    client: WireClient, topic: str, table: Path, copy: str, replay: Replay
) -> None:
    admin.delete_topic(client, topic)
    replay()
    assert copied(client, copy) == without_offsets(in_table(table))


def test_what_was_deleted_from_the_source_is_not_replayed_even_if_that_is_gone(
    broker: BrokerProcess, client: WireClient, topic: str, table: Path, copy: str, replay: Replay
) -> None:
    offsets.delete_records(client, topic, {0: 70, 1: 250})
    archive(broker, topic, table)
    admin.delete_topic(client, topic)
    replay()
    left = [each for each in in_table(table) if each.partition == 0 and each.offset >= 70]
    assert copied(client, copy) == [*without_offsets(left)]


def test_a_range_of_offsets_or_times_is_a_replay_of_its_own(
    client: WireClient, table: Path, copy: str, replay: Replay
) -> None:
    replay(wanted=Wanted(10, 20))
    early = [each for each in in_table(table) if 10 <= each.offset < 20]
    assert copied(client, copy) == without_offsets(early)
    replay(wanted=Wanted(time_ms_first=TIME_MS + 490))
    late = [each for each in in_table(table) if each.timestamp_ms >= TIME_MS + 490]
    assert copied(client, copy) == without_offsets(early + late)


def test_by_key_the_order_of_each_key_is_kept(
    client: WireClient, topic: str, table: Path, replay: Replay
) -> None:
    admin.create_topic(client, f"{topic}-one")
    with pytest.raises(SparkError, match="has 2 partitions"):
        replay(target=f"{topic}-one")
    replay(target=f"{topic}-one", by_key=True)
    assert replay(target=f"{topic}-one", by_key=True) == []
    found = [each.value for each in in_topic(client, f"{topic}-one")]
    assert len(found) == 500
    expected = [each.value for each in in_table(table) if each.partition == 1]
    assert [each for each in found if each in set(expected) - {None}] == [
        each for each in expected if each is not None
    ]


def test_into_the_same_topic_is_refused(topic: str, replay: Replay) -> None:
    with pytest.raises(SparkError, match="the one that was archived"):
        replay(target=topic)


def test_a_name_is_of_one_topics_records(
    broker: BrokerProcess, client: WireClient, topic: str, tmp_path: Path, copy: str, replay: Replay
) -> None:
    """The progress of one table would have another's records passed over."""
    replay(identity=f"{topic}-nightly")
    sent = copied(client, copy)
    other, folder = f"{topic}-other", tmp_path / "other"
    admin.create_topic(client, other, partitions=2)
    send(client, other, range(100))
    archive(broker, other, folder)
    options = ReplayOptions(broker.address, str(folder), copy, identity=f"{topic}-nightly")
    with pytest.raises(SparkError, match=r"of another topic.*give this replay another --id"):
        Replayer(options, Here()).run()
    assert copied(client, copy) == sent
    assert Replayer(options._replace(identity=f"{topic}-weekly"), Here()).run() == 0
    assert len(copied(client, copy)) == len(sent) + 100
    assert replay(identity=f"{topic}-nightly") == []


def test_a_name_is_of_one_part_of_a_table(
    client: WireClient, topic: str, copy: str, replay: Replay
) -> None:
    """What lies before an offset may not have been wanted, and never sent."""
    name, part = f"{topic}-part", Wanted(first=10)
    replay(identity=name, wanted=part)
    sent = copied(client, copy)
    with pytest.raises(SparkError, match=r"another part of partition 0.*another --id"):
        replay(identity=name)
    assert copied(client, copy) == sent
    assert replay(identity=name, wanted=part) == []


@pytest.mark.parametrize("by_key", [False, True])
def test_a_name_is_of_one_way_to_send(
    client: WireClient, topic: str, copy: str, replay: Replay, by_key: bool
) -> None:
    """By key or not, what was sent is counted in different places."""
    name = f"{topic}-by-key-{by_key}"
    replay(identity=name, by_key=by_key)
    sent = copied(client, copy)
    with pytest.raises(SparkError, match=r"--by-key.*another --id"):
        replay(identity=name, by_key=not by_key)
    assert copied(client, copy) == sent
    assert replay(identity=name, by_key=by_key) == []


def test_of_two_replays_of_one_name_the_later_goes_on(
    client: WireClient,
    table: Path,
    copy: str,
    replay: Replay,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It comes between the records of a transaction and its end."""
    original = vars(tasks)["commit_offsets"]

    def overtaken(*args: object) -> None:
        monkeypatch.setattr(tasks, "commit_offsets", original)
        replay()
        original(*args)

    monkeypatch.setattr(tasks, "commit_offsets", overtaken)
    with pytest.raises(ClientError) as raised:
        replay()
    assert raised.value.code in {ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH}
    assert copied(client, copy) == without_offsets(in_table(table))


@pytest.mark.parametrize("point", ["after flush", "after offsets", "end+0", "end+3", "after end"])
def test_a_killed_replay_goes_on_exactly_where_it_stood(
    broker: BrokerProcess, client: WireClient, table: Path, copy: str, point: str
) -> None:
    lived = work("replay", broker.address, copy, table, point)
    assert "+" in point or not lived
    assert 100 <= len(in_topic(client, copy)) <= (500 if "+" in point else 150)
    assert work("replay", broker.address, copy, table)
    assert copied(client, copy) == without_offsets(in_table(table))
