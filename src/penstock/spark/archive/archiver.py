"""Archiving: look, plan, write files, commit them, again.

Nothing is remembered but in the table: what it says of a partition is where the next round begins.
A process that is killed at any moment leaves either all of a round in the table or nothing of it;
its files that no commit names are removed by a vacuum.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from penstock.client.errors import ClientError
from penstock.client.group_offsets import commit_offsets
from penstock.client.looking import asked_of
from penstock.client.metadata import Topic
from penstock.client.offsets import EARLIEST, LATEST, deleted, ends
from penstock.spark.archive.homes import ClosedPartitions, Homes, by_lane, current_homes
from penstock.spark.archive.plan import (
    Pace,
    Plan,
    Situation,
    check_whole,
    into_tasks,
    lag_to,
    plan_round,
)
from penstock.spark.archive.tasks import Job, Runner
from penstock.spark.connected import Connected
from penstock.spark.errors import DataLossError, FolderError, SparkError
from penstock.spark.tables.files import DataFile, Lane, Stretch
from penstock.spark.tables.formats import create_table, find_table, open_table
from penstock.spark.tables.maintenance import compact
from penstock.spark.tables.owner import Owner, check_same
from penstock.spark.tables.topic_table import Overtaken, TableFormat, TopicTable
from penstock.spark.values.schema import ValueSchema
from penstock.wire.archive_group import archive_group

log = logging.getLogger(__name__)

PAUSE_S = 1.0
"""Before a topic without news is looked at again."""
TELL_S = 3600.0
"""After which the group is told again, without news too: brokers forget what is old."""


class ArchiveOptions(NamedTuple):
    bootstrap: str
    topic: str
    folder: str
    once: bool = False
    skip_lost: bool = False
    rows_a_round: int = 1_000_000
    bytes_a_round: int = 1 << 30
    compact_every: int = 50
    """Rounds; 0 is never."""
    timeout_s: float = 60.0
    values: ValueSchema | None = None
    """By what values are decoded; a table that is there has its own."""
    form: TableFormat | None = None
    """Of a table that is to be made, Delta unless it is said; one that is there has its own."""


class Round(NamedTuple):
    number: int
    rows: int
    size_bytes: int
    files: int
    seconds: float
    lag: int
    """Offsets that are still to be archived, as far as the topic went at the round's beginning."""
    lost: list[Stretch]


class Archiver:
    def __init__(
        self,
        options: ArchiveOptions,
        run: Runner,
        on_round: Callable[[Round], None] = lambda _: None,
    ) -> None:
        self.stop = threading.Event()
        """Set by whoever wants it to end after the round."""
        self._options = options
        self._run = run
        self._on_round = on_round
        self._client = Connected(options.bootstrap, options.timeout_s).another()
        self._pace = Pace(options.rows_a_round, options.bytes_a_round)
        self._closed = ClosedPartitions(self._client, options.topic)
        self._homes: Homes = {}
        self._rounds = 0
        self._told_s = 0.0

    def run(self) -> int:
        """Until it is stopped, or all is there that was in the topic at the start; the rounds."""
        with self._client:
            self._go_on()
        return self._rounds

    def _go_on(self) -> None:
        table, goal = self._table(), None
        while not self.stop.is_set():
            situation = self._situation(table)
            if self._options.once and goal is None:
                goal = dict(situation.ends)
            plan = self._plan(situation, goal)
            if plan.after:
                self._round(table, situation, plan, goal)
            elif goal is not None:
                break
            else:
                self._tell_idle(table)
                self.stop.wait(PAUSE_S)
        self._tell_group(table)

    # Looking

    def _table(self) -> TopicTable:
        return asked_of(self._topic, lambda told: self._found_or_made(*told))

    def _found_or_made(self, topic: Topic, owner: Owner) -> TopicTable:
        table = find_table(self._options.folder) or self._made(topic, owner)
        check_same(table.folder, table.owner, owner)
        if self._options.form not in (None, table.form):
            raise SparkError(
                f"{table.folder} is a table in {table.form}: leave --table-format out, or archive "
                "into a new folder"
            )
        if self._options.values not in (None, table.values):
            raise SparkError(
                f"{table.folder} was made with another schema for values, or none, and keeps it: "
                "leave --schema out, or archive into a new folder"
            )
        return table

    def _made(self, topic: Topic, owner: Owner) -> TopicTable:
        options, form = self._options, self._options.form or TableFormat.DELTA
        try:
            starts = self._ends(current_homes(topic), EARLIEST)
            return create_table(options.folder, owner, starts, options.values, form)
        except Overtaken:
            return open_table(options.folder)

    def _topic(self) -> tuple[Topic, Owner]:
        client, name = self._client, self._options.topic
        client.forget()
        told = client.retry(lambda deadline: client.metadata([name], deadline=deadline))
        topic = client.retry(lambda deadline: client.topic(name, deadline=deadline))
        identity = (topic.log_id or topic.topic_id).hex()
        return topic, Owner(name, identity, told.cluster_id or "")

    def _situation(self, table: TopicTable) -> Situation:
        """As it is once the table knows what was deleted."""

        def with_deleted(found: Situation) -> Situation:
            self._take_deleted(table)
            return found

        return asked_of(lambda: self._look(table), with_deleted)

    def _look(self, table: TopicTable) -> Situation:
        return asked_of(self._topic, lambda told: self._look_at(table, *told))

    def _look_at(self, table: TopicTable, topic: Topic, owner: Owner) -> Situation:
        """The table first: whoever else archives can only be ahead of what it says."""
        table.refresh()
        check_same(table.folder, table.owner, owner)
        current = current_homes(topic)
        homes = self._homes = current | self._closed.homes(table, current)
        marks = table.marks(homes)
        starts = self._ends(homes, EARLIEST)
        found = Situation(topic.name, marks, starts, self._ends(homes, LATEST))
        self._closed.note(found, current)
        return found

    def _ends(self, homes: Homes, which: int) -> dict[Lane, int]:
        """EARLIEST, or LATEST of what is committed."""
        return by_lane(homes, lambda name, at: ends(self._client, name, at, which, committed=True))

    def _take_deleted(self, table: TopicTable) -> None:
        """What was deleted by order is not to be given out by the table either."""
        told = by_lane(self._homes, lambda name, at: deleted(self._client, name, at))
        known = table.deleted(lane for lane, at in told.items() if at)
        if news := {lane: at for lane, at in told.items() if at > known.get(lane, 0)}:
            table.note_deleted(news)

    # A round

    def _plan(self, situation: Situation, goal: dict[Lane, int] | None) -> Plan:
        if situation.behind_ends:
            lane = situation.behind_ends[0]
            raise DataLossError(
                f"{situation.topic}-{lane[0]} ends at {situation.ends[lane]}, and was archived up "
                f"to {situation.mark(lane)}: the topic has lost records that the table has"
            )
        if situation.lost and not self._options.skip_lost:
            told = "; ".join(map(str, situation.lost))
            raise DataLossError(
                f"retention or DeleteRecords took {told} of topic {situation.topic} before they "
                "were archived; --skip-lost goes on behind them"
            )
        wanted = situation.ends
        if goal is not None:
            wanted = {lane: goal[lane] for lane in goal if lane in situation.ends}
        return plan_round(situation, wanted, self._pace.rows)

    def _round(
        self, table: TopicTable, situation: Situation, plan: Plan, goal: dict[Lane, int] | None
    ) -> None:
        begun_s = time.monotonic()
        files = self._files(table, plan)
        if files is None:
            return
        table.append(files, plan.before, plan.after)
        self._rounds += 1
        self._tell_group(table)
        rows, size_bytes = sum(each.rows for each in files), sum(each.size_bytes for each in files)
        self._pace.note(rows, size_bytes)
        left = situation._replace(marks={**situation.marks, **plan.after})
        lag = lag_to(left, situation.ends if goal is None else goal)
        lost = [each for each in situation.lost if each.lane in plan.after]
        seconds = time.monotonic() - begun_s
        self._on_round(Round(self._rounds, rows, size_bytes, len(files), seconds, lag, lost))
        if self._options.compact_every and self._rounds % self._options.compact_every == 0:
            _compact(table)

    def _files(self, table: TopicTable, plan: Plan) -> list[DataFile] | None:
        """None if retention was faster, so that the topic has to be looked at again."""
        options = self._options
        if not plan.ranges:
            return []
        tasks = into_tasks(plan.ranges, self._run.width)
        where = options.bootstrap, options.timeout_s, str(table.folder)
        job = Job(*where, tasks, table.values, table.form)
        try:
            files = self._run(job)
        except SparkError:
            lost = {each.lane for each in self._look(table).lost}
            if lost.isdisjoint(plan.after):
                raise
            return None
        check_whole(plan, files)
        return files

    def _tell_idle(self, table: TopicTable) -> None:
        if time.monotonic() - self._told_s >= TELL_S:
            self._tell_group(table)

    def _tell_group(self, table: TopicTable) -> None:
        """For retention that waits for it, and all who want to know the lag; what counts here is
        the table."""
        client, group = self._client, archive_group(self._options.topic)
        self._told_s = time.monotonic()
        try:
            for homes in (current_homes(client.topic(self._options.topic)), *self._closed.left()):
                marks = {homes[lane]: at for lane, at in table.marks(homes).items()}
                commit_offsets(client, group, marks)
        except ClientError as error:
            log.warning("progress was not committed to group %s: %s", group, error)


def _compact(table: TopicTable) -> None:
    """Archiving goes on without it."""
    try:
        compact(table)
    except (Overtaken, FolderError) as error:
        log.warning("the table's small files stay for now: %s", error)
