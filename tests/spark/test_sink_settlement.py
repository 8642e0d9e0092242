"""Batches of a sink are settled, wherever that is cut off. Tasks are called as Spark calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest
from tests.broker_process import BrokerProcess
from tests.spark.topic_reading import open_transactions, values, wait_until

from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.client.offsets import LATEST, delete_records, ends
from penstock.client.open_transaction import OpenTransaction
from penstock.client.transactions import abort_transaction
from penstock.spark.errors import SparkError
from penstock.spark.sink import decisions
from penstock.spark.sink.decisions import Decisions
from penstock.spark.sink.entries import JOB, Entry
from penstock.spark.sink.options import SinkOptions, sink_options
from penstock.spark.sink.orphans import Orphan, end_orphans
from penstock.spark.sink.settlement import JobSettlement, Settlement
from penstock.spark.sink.stream import StreamWriter
from penstock.spark.sink.writing import Share, write_share


class Cut(Exception):
    """Here the driver was killed."""


class CutOff(Settlement):
    """Ends before one of its steps, or after the last of them."""

    steps = 0

    def _step(self) -> None:
        if not self.steps:
            raise Cut
        self.steps -= 1

    def _decide(self, decision: Entry) -> bool:
        self._step()
        return super()._decide(decision)

    def _commit_decided(self, opened: OpenTransaction) -> None:
        self._step()
        super()._commit_decided(opened)

    def _note_end(self, decision: Entry) -> None:
        self._step()
        super()._note_end(decision)

    def _abort_undecided(self, names: object) -> list[str]:
        self._step()
        raise Cut


class Query:
    """A query that writes the numbers of its batches, in two tasks each."""

    def __init__(self, client: WireClient, options: SinkOptions, kind: str = "") -> None:
        self.name = f"{kind}{uuid4()}"
        self.options = options
        self._client = client

    def write(self, batch: int, *parts: range) -> list[OpenTransaction]:
        """What the tasks of a batch hand on."""
        share = Share(self.name, "run", batch, may_be_decided=True)
        written = [write_share(self.options, share, rows(part)) for part in parts]
        return [each for each in written if each]

    def settlement(self, kind: type[Settlement] = Settlement) -> Settlement:
        """Of another driver each time."""
        return kind(self._client, self.name, f"run-{uuid4().hex}")


def rows(numbers: range) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch([pa.array([b"%d" % each for each in numbers])], names=["value"])


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[WireClient]:
    with WireClient(broker.address) as made:
        yield made


@pytest.fixture
def query(client: WireClient, broker: BrokerProcess, topic: str) -> Query:
    admin.create_topic(client, topic, partitions=2)
    return Query(client, sink_options({"bootstrapServers": broker.address, "topic": topic}))


@pytest.fixture
def holds(client: WireClient, query: Query, topic: str) -> Callable[[range], None]:
    def check(numbers: range) -> None:
        """Each of them once, and nothing is open any more."""
        wait_until(lambda: not open_transactions(client, query.name))
        assert values(client, topic) == sorted(b"%d" % each for each in numbers)

    return check


Holds = Callable[[range], None]


def test_a_batch_counts_once_it_is_committed(
    client: WireClient, topic: str, query: Query, holds: Holds
) -> None:
    offered = query.write(0, range(5), range(5, 9))
    assert len({each.name for each in offered}) == 2
    assert values(client, topic) == []
    query.settlement().commit(0, offered)
    holds(range(9))


def test_names_are_used_again_by_later_batches(query: Query, holds: Holds) -> None:
    first = query.write(0, range(5), range(5, 9))
    query.settlement().commit(0, first)
    second = query.write(1, range(9, 12))
    query.settlement().commit(1, second)
    assert second[0].name == first[0].name
    holds(range(12))


@pytest.mark.parametrize("steps", range(5))
def test_a_driver_that_was_cut_off_anywhere_is_followed_by_one_that_goes_on(
    client: WireClient, query: Query, holds: Holds, steps: int
) -> None:
    """The steps: the decision, two ends, the note, and what failed tasks have left."""
    killed = query.settlement(CutOff)
    assert isinstance(killed, CutOff)
    killed.steps = steps
    with pytest.raises(Cut):
        killed.commit(0, query.write(0, range(5), range(5, 9)))
    offered = query.write(0, range(5), range(5, 9))
    assert bool(offered) == (steps == 0), "decided: nothing is written again"
    query.settlement().commit(0, offered)
    query.settlement().commit(1, query.write(1, range(9, 20)))
    holds(range(20))


@pytest.mark.parametrize("steps", range(5))
def test_what_is_decided_is_never_undone(query: Query, holds: Holds, steps: int) -> None:
    killed = query.settlement(CutOff)
    assert isinstance(killed, CutOff)
    killed.steps = steps
    with pytest.raises(Cut):
        killed.commit(0, query.write(0, range(5), range(5, 9)))
    for _ in range(2):
        query.settlement().abort(0)
        holds(range(9 if steps else 0))


class Ordeal(Settlement):
    """Its broker is killed before every step."""

    broker: BrokerProcess

    def _decide(self, decision: Entry) -> bool:
        self._kill_broker()
        return super()._decide(decision)

    def _commit_decided(self, opened: OpenTransaction) -> None:
        self._kill_broker()
        super()._commit_decided(opened)

    def _note_end(self, decision: Entry) -> None:
        self._kill_broker()
        super()._note_end(decision)

    def _kill_broker(self) -> None:
        self.broker.kill()
        self.broker.start()


def test_a_broker_that_is_killed_before_every_step_loses_nothing(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    broker = own_broker().start()
    options = sink_options({"bootstrapServers": broker.address, "topic": topic})
    with WireClient(broker.address) as client:
        admin.create_topic(client, topic)
        query = Query(client, options)
        settlement = query.settlement(Ordeal)
        assert isinstance(settlement, Ordeal)
        settlement.broker = broker
        settlement.commit(0, query.write(0, range(5), range(5, 9)))
        wait_until(lambda: not open_transactions(client, query.name))
        assert values(client, topic) == sorted(b"%d" % each for each in range(9))


def test_a_commit_may_be_repeated(query: Query, holds: Holds) -> None:
    offered = query.write(0, range(5))
    settlement = query.settlement()
    for _ in range(3):
        settlement.commit(0, offered)
        query.settlement().commit(0, [])
    holds(range(5))


def test_a_batch_without_rows_is_nothing(client: WireClient, query: Query, holds: Holds) -> None:
    assert query.write(0, range(0)) == []
    query.settlement().commit(0, [])
    holds(range(0))
    assert Decisions(client).last(query.name) == Entry(query.name)


def test_what_failed_tasks_have_left_is_aborted_with_the_commit(query: Query, holds: Holds) -> None:
    query.write(0, range(3))
    query.settlement().commit(0, query.write(0, range(5)))
    holds(range(5))


def test_of_two_drivers_with_one_checkpoint_one_decides(query: Query, holds: Holds) -> None:
    first, second = query.write(0, range(5)), query.write(0, range(5))
    query.settlement().commit(0, first)
    query.settlement().commit(0, second)
    holds(range(5))


def test_what_was_aborted_from_outside_is_not_decided(
    client: WireClient, query: Query, holds: Holds
) -> None:
    offered = query.write(0, range(5), range(5, 9))
    abort_transaction(client, offered[0].name)
    with pytest.raises(SparkError, match="is not open any more"):
        query.settlement().commit(0, offered)
    query.settlement().abort(0)
    holds(range(0))
    query.settlement().commit(0, query.write(0, range(9)))
    holds(range(9))


def test_what_is_decided_and_was_aborted_from_outside_is_told_of(
    client: WireClient, query: Query
) -> None:
    killed = query.settlement(CutOff)
    assert isinstance(killed, CutOff)
    killed.steps = 1
    offered = query.write(0, range(5))
    with pytest.raises(Cut):
        killed.commit(0, offered)
    abort_transaction(client, offered[0].name)
    with pytest.raises(SparkError, match="rows are lost"):
        query.settlement().commit(0, [])


def test_what_is_condemned_cannot_be_decided(
    client: WireClient, query: Query, holds: Holds
) -> None:
    """Though it is open still: who has condemned it may take its time."""
    offered = query.write(0, range(5))
    entry = Entry(query.name).condemning("orphans-1", offered)
    assert Decisions(client).put(entry)
    with pytest.raises(SparkError, match="is not open any more"):
        query.settlement().commit(0, offered)
    query.settlement().abort(0)
    holds(range(0))


class Outrun(Decisions):
    """Somebody else is a bit faster to write, once."""

    def __init__(self, client: WireClient, faster: Callable[[], object]) -> None:
        super().__init__(client)
        self._faster = [faster]

    def put(self, entry: Entry) -> bool:
        while self._faster:
            self._faster.pop()()
        return super().put(entry)


def test_who_looks_for_orphans_and_is_outrun_by_the_driver_aborts_nothing(
    client: WireClient, query: Query, holds: Holds
) -> None:
    offered = query.write(0, range(5), range(5, 9))
    driver = query.settlement(CutOff)
    assert isinstance(driver, CutOff)
    driver.steps = 1

    def decide() -> None:
        with pytest.raises(Cut):
            driver.commit(0, offered)

    late = query.settlement()
    late._decisions = Outrun(client, decide)
    assert late.end([each.name for each in offered]) == {}
    query.settlement().commit(0, [])
    holds(range(9))


def test_a_driver_that_is_outrun_by_who_looks_for_orphans_decides_nothing(
    client: WireClient, query: Query, holds: Holds
) -> None:
    offered = query.write(0, range(5), range(5, 9))
    driver = query.settlement()
    driver._decisions = Outrun(client, lambda: query.settlement().end([offered[0].name]))
    with pytest.raises(SparkError, match="is not open any more"):
        driver.commit(0, offered)
    driver.abort(0)
    holds(range(0))


@pytest.mark.parametrize(("steps", "is_committed"), [(0, False), (1, True), (2, True)])
def test_orphans_are_ended_as_was_decided(
    client: WireClient, query: Query, holds: Holds, steps: int, is_committed: bool
) -> None:
    killed = query.settlement(CutOff)
    assert isinstance(killed, CutOff)
    killed.steps = steps
    offered = query.write(0, range(5), range(5, 9))
    with pytest.raises(Cut):
        killed.commit(0, offered)
    assert end_orphans(client, 3_600_000) == []
    left = offered[max(0, steps - 1) :]
    ended = [each for each in end_orphans(client, 0) if query.name in each.name]
    assert sorted(ended) == sorted(Orphan(each.name, is_committed) for each in left)
    holds(range(9 if is_committed else 0))
    again = query.write(0, range(9))
    query.settlement().commit(0, again)
    assert bool(again) != is_committed
    holds(range(9))


def test_orphans_say_what_became_of_them() -> None:
    assert str(Orphan("a", False)) == "a was left open, and is aborted"
    assert "as its driver had decided" in str(Orphan("a", True))


def test_a_task_that_fails_leaves_nothing_open(
    client: WireClient, query: Query, holds: Holds
) -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield from rows(range(3))
        raise RuntimeError("the disk is on fire")

    share = Share(query.name, "run", 0, may_be_decided=True)
    with pytest.raises(RuntimeError, match="on fire"):
        write_share(query.options, share, broken())
    holds(range(0))


def test_a_query_that_is_stopped_before_any_task_is_done_leaves_nothing_open(
    client: WireClient,
    broker: BrokerProcess,
    topic: str,
    query: Query,
    tmp_path: Path,
    holds: Holds,
) -> None:
    """Spark has no word of its tasks then, and its checkpoint says which query it was."""
    query.write(0, range(5), range(5, 9))
    given = {"bootstrapServers": broker.address, "topic": topic}
    StreamWriter(sink_options({**given, "checkpointLocation": str(tmp_path)})).abort([None], 0)
    assert len(open_transactions(client, query.name)) == 2, "it may be any query's"
    (tmp_path / "metadata").write_text(f'{{"id":"{query.name}"}}')
    StreamWriter(sink_options({**given, "checkpointLocation": f"file://{tmp_path}"})).abort(
        [None], 0
    )
    holds(range(0))


def test_a_job_that_is_done_leaves_no_decision_behind(client: WireClient, query: Query) -> None:
    settlement = query.settlement()
    settlement.commit(0, query.write(0, range(5)))
    settlement.forget()
    assert kept(client, query.name) == []


def test_a_job_that_failed_leaves_no_decision_behind(client: WireClient, query: Query) -> None:
    query.write(0, range(5))
    settlement = query.settlement()
    settlement.abort(0)
    assert kept(client, query.name)
    settlement.forget()
    assert kept(client, query.name) == []


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_what_a_job_has_decided_whose_driver_was_killed_is_forgotten_once_it_is_over(
    client: WireClient, query: Query, holds: Holds, steps: int
) -> None:
    """Before the first end, between the ends, before and after the end is noted."""
    job = Query(client, query.options, JOB)
    killed = job.settlement(CutOff)
    killed.steps = steps  # type: ignore[attr-defined]
    with pytest.raises(Cut):
        killed.commit(0, job.write(0, range(3), range(3, 6)))
    query.settlement().commit(0, query.write(0, range(6, 7)))
    assert bool(kept(client, job.name)) == bool(open_transactions(client, job.name))
    end_orphans(client, 0)
    query.settlement().commit(1, query.write(1, range(7, 8)))
    assert kept(client, job.name) == []
    holds(range(8))


def test_a_job_that_was_not_decided_is_not_forgotten_by_others(
    client: WireClient, query: Query
) -> None:
    """Its driver may be there still, and decide by what was said of it."""
    job = Query(client, query.options, JOB)
    job.write(0, range(3))
    end_orphans(client, 0)
    query.settlement().commit(0, query.write(0, range(3)))
    assert kept(client, job.name)


def test_a_job_whose_rows_count_does_not_fail_by_what_comes_after(
    own_broker: Callable[..., BrokerProcess], topic: str
) -> None:
    broker = own_broker().start()
    with WireClient(broker.address, timeout_s=2) as client:
        admin.create_topic(client, topic)
        options = sink_options({"bootstrapServers": broker.address, "topic": topic})
        job = Query(client, options, JOB)
        settlement = job.settlement(JobSettlement)
        settlement.commit(0, job.write(0, range(3)))
        broker.kill()
        settlement.forget()
        broker.start()
        assert values(client, topic) == [b"0", b"1", b"2"]


def test_nothing_is_forgotten_while_something_is_open(client: WireClient, query: Query) -> None:
    settlement = query.settlement()
    settlement.commit(0, query.write(0, range(5)))
    (left,) = query.write(1, range(5))
    settlement.forget()
    assert kept(client, query.name)
    abort_transaction(client, left.name)


def test_runs_of_a_query_leave_little_behind(
    client: WireClient, query: Query, holds: Holds
) -> None:
    for batch in range(6):
        query.settlement().commit(batch, query.write(batch, range(batch, batch + 1)))
    holds(range(6))
    assert len(kept(client, query.name)) <= 2


class Late(Decisions):
    """All that was before its record is gone before it comes to read it, as by compaction."""

    def _send(self, query: str, entries: Mapping[str, Entry | None]) -> None:
        super()._send(query, entries)
        end = ends(self._client, decisions.TOPIC, [0], LATEST)[0]
        delete_records(self._client, decisions.TOPIC, {0: end - len(entries)})


def test_who_cannot_read_what_was_before_does_not_take_itself_for_the_first(
    own_broker: Callable[..., BrokerProcess],
) -> None:
    with WireClient(own_broker().start().address) as client:
        admin.create_topic(client, decisions.TOPIC)
        late = Late(client)
        made = late.last("q").condemning("orphans-1", [])
        assert Decisions(client).put(Entry("q").deciding("run", 0, []))
        assert not late.put(made)


def kept(client: WireClient, query: str) -> list[str]:
    """Names of what is in the log about it."""
    read = Decisions(client)
    read.last(query)
    return read._history.names(query)


def test_at_least_once_takes_no_transaction(
    client: WireClient, broker: BrokerProcess, topic: str
) -> None:
    given = {"bootstrapServers": broker.address, "topic": topic, "delivery": "at-least-once"}
    share = Share(str(uuid4()), "run", 0, may_be_decided=True)
    assert write_share(sink_options(given), share, rows(range(5))) is None
    assert values(client, topic) == sorted(b"%d" % each for each in range(5))


def test_the_topic_of_decisions_is_compacted(client: WireClient, query: Query) -> None:
    query.settlement().commit(0, query.write(0, range(5)))
    configs = admin.topic_configs(client, decisions.TOPIC)
    assert configs["cleanup.policy"].value == "compact"
