"""Replaying: rounds of so many records a partition, until the table is in the topic."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from penstock.client.cluster import WireClient
from penstock.client.group_offsets import CommittedOffset, committed_offsets
from penstock.client.metadata import Topic
from penstock.spark.connected import Connected
from penstock.spark.errors import SparkError
from penstock.spark.replay.plan import (
    Place,
    Wanted,
    check_progress,
    check_target,
    next_shares,
    place_of,
    replay_id,
    stretches,
)
from penstock.spark.replay.tasks import Job, Sent
from penstock.spark.tables.files import Lane, Stretch
from penstock.spark.tables.formats import open_table
from penstock.spark.tables.topic_table import TopicTable
from penstock.wire.compression import Codec

Runner = Callable[[Job], list[Sent]]


class ReplayOptions(NamedTuple):
    bootstrap: str
    folder: str
    target: str
    identity: str | None = None
    """Of a replay that is to go on, or of a new one; by default the command's own."""
    by_key: bool = False
    codec: Codec = Codec.NONE
    wanted: Wanted = Wanted()
    rows_a_round: int = 500_000
    """Of each partition."""
    timeout_s: float = 60.0


class Round(NamedTuple):
    number: int
    rows: int
    size_bytes: int
    seconds: float
    lag: int
    """Offsets of the table that are still to come."""


class Replayer:
    def __init__(
        self,
        options: ReplayOptions,
        run: Runner,
        on_round: Callable[[Round], None] = lambda _: None,
    ) -> None:
        self.stop = threading.Event()
        """Set by whoever wants it to end after the round."""
        self.identity = options.identity or ""
        self._options = options
        self._run = run
        self._on_round = on_round

    def run(self) -> int:
        """Until all is there, or it is stopped; what is left then, in offsets."""
        table = open_table(self._options.folder)
        files = table.files()
        deleted = table.deleted({each.lane for each in files})
        whole = stretches(files, self._options.wanted, deleted)
        connected = Connected(self._options.bootstrap, self._options.timeout_s)
        with connected.another() as client:
            target = self._target(client, table, whole)
            done = self._done(client, target, whole)
        rounds = 0
        while not self.stop.is_set():
            shares = next_shares(whole, done, self._options.rows_a_round)
            if not shares:
                break
            begun_s = time.monotonic()
            sent = self._run(self._job(table, target, shares))
            done |= {shares[each.share].lane: each.end for each in sent}
            rounds += 1
            self._on_round(_summed(rounds, sent, time.monotonic() - begun_s, _left(whole, done)))
        return _left(whole, done)

    def _target(self, client: WireClient, table: TopicTable, whole: list[Stretch]) -> Topic:
        options = self._options
        target = client.retry(lambda deadline: client.topic(options.target, deadline=deadline))
        indexes = [each.partition for each in whole]
        check_target(target, table.owner.topic_id, indexes, by_key=options.by_key)
        if not self.identity:
            self.identity = replay_id(table.id, target, options.wanted, by_key=options.by_key)
        return target

    def _done(self, client: WireClient, target: Topic, whole: Iterable[Stretch]) -> dict[Lane, int]:
        by_key = self._options.by_key
        places = self._places(target, whole, by_key=by_key)
        others = self._places(target, whole, by_key=not by_key)
        if _committed(client, others.values()).keys() & {each[1:] for each in others.values()}:
            raise SparkError(
                f"replay {self.identity} has sent records {'without' if by_key else 'with'} "
                "--by-key, and counts them otherwise: give this replay another --id"
            )
        known = _committed(client, places.values())
        done: dict[Lane, int] = {}
        for lane, place in places.items():
            if told := known.get(place[1:]):
                check_progress(self.identity, lane, self._options.wanted, told.metadata)
                done[lane] = told.offset
        return done

    def _places(
        self, target: Topic, whole: Iterable[Stretch], *, by_key: bool
    ) -> dict[Lane, Place]:
        return {
            each.lane: place_of(self.identity, target.name, each.lane, by_key=by_key)
            for each in whole
        }

    def _job(self, table: TopicTable, target: Topic, shares: list[Stretch]) -> Job:
        options = self._options
        return Job(
            options.bootstrap,
            options.timeout_s,
            str(table.folder),
            target.name,
            self.identity,
            options.by_key,
            int(options.codec),
            options.wanted,
            shares,
        )


def _committed(
    client: WireClient, places: Iterable[Place]
) -> dict[tuple[str, str, int], CommittedOffset]:
    """By group, topic and partition."""
    return {
        (group, *place): each
        for group in {each.group for each in places}
        for place, each in committed_offsets(client, group).items()
    }


def _left(whole: Iterable[Stretch], done: dict[Lane, int]) -> int:
    return sum(
        each.end - max(each.first, min(each.end, done.get(each.lane, each.first))) for each in whole
    )


def _summed(number: int, sent: Iterable[Sent], seconds: float, lag: int) -> Round:
    told = list(sent)
    rows, size_bytes = sum(each.rows for each in told), sum(each.size_bytes for each in told)
    return Round(number, rows, size_bytes, seconds, lag)
