"""A topic on three brokers, a Spark cluster, and drivers that do everything with the topic at once:
what is killed when, and what must be there in the end."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from deltalake import DeltaTable
from tests.cluster_process import Cluster
from tests.spark import cluster_driver
from tests.spark.cluster_driver import REPLAYED
from tests.spark.held_jobs import BROKER, DRIVER, EXECUTOR, HOLDS, place
from tests.spark.holding import Held
from tests.spark.records import (
    Seen,
    check_copy,
    check_same,
    in_files,
    in_table,
    in_topic,
    send,
    wait_for_markers,
)
from tests.spark.standalone import Standalone, command, kill, wait_for
from tests.spark.worker_process import ROOT

from penstock.client.cluster import WireClient
from penstock.client.transactions import OPEN, list_transactions
from penstock.spark.archive.archiver import ArchiveOptions, Archiver
from penstock.spark.archive.tasks import Here

COUNT = 400
"""Of messages, at first."""
COPIES = ("replay", "sink")
"""Jobs that make a topic; others make a table."""


class Stage:
    def __init__(
        self, cluster: Cluster, spark: Standalone, topic: str, folder: Path, jobs: Iterable[str]
    ) -> None:
        self.cluster = cluster
        self.topic = topic
        self.folder = folder
        self.jobs = list(jobs)
        self.held = Held(folder / "held")
        self._spark = spark
        self._log = folder / "driver.log"
        self._driver: subprocess.Popen[bytes] | None = None
        self._replayed: list[Seen] = []
        self._sent = 0
        self._client = WireClient(cluster.address)

    # Before

    def prepare(self) -> None:
        """Topics with messages, and a table that is to be replayed."""
        for name in (self.topic, *self.copies):
            self.cluster.create(name, partitions=2)
        self.send(COUNT)
        options = ArchiveOptions(
            self.cluster.address, self.topic, str(self.folder / REPLAYED), True, rows_a_round=100
        )
        Archiver(options, Here()).run()
        self._replayed = in_topic(self._client, self.topic)

    def send(self, count: int) -> None:
        send(self._client, self.topic, range(self._sent, self._sent + count))
        self._sent += count

    @property
    def copies(self) -> list[str]:
        return [each for each in self.jobs if each.startswith(COPIES)]

    @property
    def tables(self) -> list[str]:
        return [each for each in self.jobs if not each.startswith(COPIES)]

    def start_driver(self) -> None:
        shutil.rmtree(self.folder / "failures", ignore_errors=True)
        given = (self._spark.master, self.cluster.address, self.topic, str(self.folder))
        with self._log.open("ab") as log:
            self._driver = subprocess.Popen(
                [sys.executable, "-m", cluster_driver.__name__, *given, *self.jobs],
                cwd=ROOT,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    # Meanwhile

    def kill_executors(self) -> None:
        """Both, with a task of each kind in them."""
        self._wait_at(0)
        for name in self._long(self.tables):
            assert self._files_in_flight(name), "a file that no table has"
        assert len(self._open()) >= len(self._long(self.copies)), "a transaction of each copy"
        executors = self._spark.executors()
        assert len(executors) == 2
        for pid in executors:
            kill(pid)
            assert not command(pid)

    def kill_by_chance(self, chance: random.Random) -> None:
        """Whoever it is, at whatever it does; brokers come again."""
        whom = chance.choice((EXECUTOR, BROKER, DRIVER))
        executors = self._spark.executors()
        if whom == EXECUTOR and executors:
            kill(chance.choice(executors))
        elif whom == BROKER:
            member = chance.choice([*self.cluster.members.values()])
            member.kill()
            member.start()
        else:
            self.end()

    def kill_leader(self) -> None:
        """Of the topic, while it is read, and others are written or committed."""
        self._wait_at(1)
        leader = self.cluster.leader(self.topic)
        leader.kill()
        for name in self._long(self.jobs):
            self.held.let_go(place(name, HOLDS[name][1]))
        self._wait_at(-1)
        leader.start()

    def kill_driver(self) -> None:
        """With each job at its last place: some is done, and some is to come."""
        self._wait_at(-1)
        for name in self.tables:
            assert 0 < len(in_table(self.folder / name)) < COUNT, name
        for name in self.copies:
            assert len(in_topic(self._client, name)) < COUNT, name
        assert self._open(), "of a replay"
        self.end()

    def _wait_at(self, number: int) -> None:
        """All who stop so often; -1 is the last stop of each."""
        names = self.jobs if number < 0 else self._long(self.jobs)
        places = [place(name, HOLDS[name][number]) for name in names]
        self._wait(lambda: all(map(self.held.is_taken, places)), f"all of {places}")

    def _long(self, names: Iterable[str]) -> list[str]:
        """Jobs that stop in their tasks, too."""
        return [each for each in names if len(HOLDS[each]) > 1]

    def _files_in_flight(self, name: str) -> set[str]:
        folder = self.folder / name
        written = {str(each) for each in folder.rglob("*.parquet")}
        return written - set(DeltaTable(folder).file_uris())

    def _open(self) -> list[str]:
        return [each.name for each in list_transactions(self._client, OPEN)]

    def _wait(self, is_so: Callable[[], bool], what: str) -> None:
        def found() -> bool:
            failures = [each.read_text() for each in (self.folder / "failures").glob("*")]
            assert not failures, failures[0]
            assert self.is_running(), self._log.read_text()
            return is_so()

        wait_for(found, what)

    def is_running(self) -> bool:
        return self._driver is not None and self._driver.poll() is None

    def end(self) -> None:
        if self._driver is not None and self.is_running():
            os.killpg(self._driver.pid, signal.SIGKILL)
            self._driver.wait(timeout=30)

    # In the end

    def finish(self) -> None:
        """Another driver goes on, with some messages more."""
        self.send(20)
        self.start_driver()
        wait_for(lambda: not self.is_running(), "the end of the driver")
        assert self._driver is not None
        assert self._driver.returncode == 0, self._log.read_text()

    def check(self) -> None:
        expected = in_topic(self._client, self.topic)
        for name in self.tables:
            check_same(in_table(self.folder / name), expected)
        for read in cluster_driver.READ:
            check_same(in_files(self.folder / f"{read}.parquet"), expected)
        for name in self.copies:
            wait_for_markers(self._client, name)
            wanted = self._replayed if name.startswith("replay") else expected
            check_copy(in_topic(self._client, name), wanted)
        assert not self._open()

    def close(self) -> None:
        self.end()
        self._client.close()
