"""A cluster as users run it: several `penstock serve` that share a store, and ways to harm them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import confluent_kafka.admin

from penstock.wire.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
)
from penstock.wire.messages.k10_find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from tests.broker_process import BrokerProcess
from tests.cluster_roads import Roads
from tests.cluster_stores import Way
from tests.group_process import WAIT_S
from tests.group_stage import QUICK_BROKER, administer, wait_until
from tests.metadata.zookeeper_backend import wait_stopped
from tests.raw_client import RawClient

rdkafka: Any = confluent_kafka.admin
"""Its types are not all there."""
LEASE_MS = 2000
QUICK_CLUSTER = (
    *("--set", f"broker.session.timeout.ms={LEASE_MS}"),
    *("--set", "offsets.topic.num.partitions=3"),
    *QUICK_BROKER,
)
"""Settings of brokers that soon notice the death of another."""


class Member(BrokerProcess):
    """One broker of a cluster. Others and clients are told of its road."""

    def __init__(self, node_id: int, folder: Path, store: str, *options: str) -> None:
        super().__init__(folder / f"data-{node_id}", *options)
        self.node_id = node_id
        self.store = store
        self.is_paused = self.is_cut_off = False
        self.way: Way | None = None
        """To the store, if it can be cut."""

    def start(self) -> Member:
        own = ("--node-id", str(self.node_id), "--store", self.store)
        if self.options[-len(own) :] != own:
            self.options = (*self.options, *own)
        super().start()
        return self

    @property
    def is_up(self) -> bool:
        return self._process is not None

    @property
    def is_well(self) -> bool:
        return self.is_up and not self.is_paused and not self.is_cut_off

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)
        wait_stopped(self.pid)
        self.is_paused = True

    def wake(self) -> None:
        os.kill(self.pid, signal.SIGCONT)
        self.is_paused = False

    def wait_ended(self) -> int:
        """By itself; the exit code."""
        assert self._process is not None
        code = self._process.wait(60)
        self.kill()
        return code

    def lose_disk(self) -> None:
        shutil.rmtree(self.data_dir)

    def knows(self) -> set[int]:
        """The brokers that it tells clients of."""
        return {each.node_id for each in self._cluster().brokers}

    @property
    def controller_id(self) -> int:
        """As it tells clients."""
        return self._cluster().controller_id

    def _cluster(self) -> MetadataResponse:
        with self.connect() as client:
            answer: MetadataResponse = client.ask(MetadataRequest([]))
        return answer

    def connect(self) -> RawClient:
        """Straight to it, whatever has become of its road."""
        return RawClient(self.port)


class Cluster:
    def __init__(
        self,
        folder: Path,
        store: str = "",
        options: Sequence[str] = (),
        build_way: Callable[[], Way] | None = None,
    ) -> None:
        self.folder = folder
        self.store = store or f"sqlite:{folder / 'metadata.db'}"
        self.options = (*QUICK_CLUSTER, *options)
        self._build_way = build_way
        self.roads = Roads()
        self.members: dict[int, Member] = {}
        self._ports: dict[int, int] = {}

    def add(self, *options: str) -> Member:
        """One more, which is not started yet."""
        node_id = len(self._ports) + 1
        way = self._build_way() if self._build_way else None
        store = way.url if way else self.store
        member = Member(node_id, self.folder, store, *self.options, *options)
        member.way = way
        self.members[node_id] = member
        self._ports[node_id] = self.roads.build(node_id, lambda: member.port)
        member.options += ("--advertise", f"127.0.0.1:{self._ports[node_id]}")
        return member

    def start(self, count: int) -> Cluster:
        for _ in range(count):
            self.add().start()
        self.wait_known()
        return self

    def wait_known(self) -> None:
        """All who are well know each other."""
        well = [each for each in self.members.values() if each.is_well]
        ids = {each.node_id for each in well}
        self.wait(lambda: all(each.knows() >= ids for each in well), f"all know {ids}")

    def __getitem__(self, node_id: int) -> Member:
        return self.members[node_id]

    @property
    def address(self) -> str:
        """Of all roads."""
        return ",".join(f"127.0.0.1:{port}" for port in self._ports.values())

    def others(self, member: Member) -> list[Member]:
        return [each for each in self.members.values() if each is not member]

    @property
    def all_well(self) -> list[Member]:
        return [each for each in self.members.values() if each.is_well]

    @property
    def well(self) -> Member:
        return self.all_well[0]

    def isolate(self, member: Member, *, jam: bool = False) -> None:
        others = [each.node_id for each in self.others(member)]
        self.roads.isolate(member.node_id, others, jam=jam)
        if member.way is not None:
            member.way.cut()
        member.is_cut_off = True

    def repair(self) -> None:
        """All roads are open again."""
        self.roads.repair()
        for member in self.members.values():
            if member.is_cut_off and member.way is not None:
                member.way.repair()
            member.is_cut_off = False

    def mend(self) -> None:
        """Whatever a test has done to it: all are up, and reach each other."""
        self.repair()
        for member in self.members.values():
            if member.is_up and member.is_paused:
                member.wake()
            if not member.is_up:
                member.start()
        self.wait_known()

    def end(self) -> None:
        for member in self.members.values():
            if member.is_up and member.is_paused:
                member.wake()
            self._forget(member)
        self.roads.end()

    def remove(self, member: Member) -> None:
        """One that holds nothing any more, and will not come back."""
        assert member.stop() == 0
        self.call("broker", "remove", str(member.node_id), "--yes")
        del self.members[member.node_id]
        self._forget(member)

    @staticmethod
    def _forget(member: Member) -> None:
        member.kill()
        if member.way is not None:
            member.way.end()

    def call(self, *arguments: str) -> str:
        """What the command line says to an operator."""
        done = subprocess.run(
            [sys.executable, "-m", "penstock", *arguments, "--bootstrap", self.address],
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def check_lines(self) -> None:
        """No broker has met with what it was not made for."""
        for member in self.members.values():
            assert "Traceback" not in member.log, member.log

    # -- topics

    def create(self, topic: str, partitions: int = 1, replicas: int = 3, **configs: str) -> None:
        """Settings are given with underscores in place of dots. All replicas are in sync then."""
        config = {name.replace("_", "."): text for name, text in configs.items()}
        new = rdkafka.NewTopic(
            topic, num_partitions=partitions, replication_factor=replicas, config=config
        )
        administer(self.address, lambda admin: admin.create_topics([new]))
        self.wait_in_sync(topic, replicas)

    def delete(self, topic: str) -> None:
        administer(self.address, lambda admin: admin.delete_topics([topic]))

    def partition(self, topic: str, index: int = 0) -> MetadataResponsePartition | None:
        """As a broker that is well has it in its metadata."""
        found = [each for each in self.partitions(topic) if each.partition_index == index]
        return found[0] if found else None

    def partitions(self, topic: str) -> list[MetadataResponsePartition]:
        return _of(self.well, topic)

    def leader(self, topic: str, index: int = 0) -> Member:
        """Waits for one that is up."""

        def found() -> Member | None:
            partition = self.partition(topic, index)
            member = self.members.get(partition.leader_id) if partition else None
            return member if member is not None and member.is_up else None

        leader: Member = wait_until(found, f"a leader of {topic}-{index}")
        return leader

    def coordinator(self, group: str) -> Member:
        """Waits for one that is up."""

        def found() -> Member | None:
            with self.well.connect() as client:
                request = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
                answer: FindCoordinatorResponse = client.ask(request)
            member = self.members.get(answer.coordinators[0].node_id)
            return member if member is not None and member.is_up else None

        member: Member = self.wait(found, f"a coordinator of {group}")
        return member

    def controller(self) -> Member:
        """As one that is well knows it; waits for one that is up."""

        def found() -> Member | None:
            member = self.members.get(self.well.controller_id)
            return member if member is not None and member.is_up else None

        member: Member = self.wait(found, "a controller")
        return member

    def in_sync(self, topic: str, index: int = 0) -> set[int]:
        partition = self.partition(topic, index)
        return set(partition.isr_nodes) if partition else set()

    def wait_in_sync(self, topic: str, count: int) -> None:
        """So many replicas of all partitions."""

        def all_are() -> bool:
            found = self.partitions(topic)
            return bool(found) and all(len(each.isr_nodes) == count for each in found)

        try:
            self.wait(all_are, f"{topic} with {count} replicas in sync")
        except AssertionError as error:
            known = "\n".join(f"{each.node_id} knows {_of(each, topic)}" for each in self.all_well)
            raise AssertionError(f"{error}\n{known}") from None

    def wait_partitions(self, topic: str, count: int) -> None:
        """All who are well tell clients of so many: a producer that asks another would be told that
        the last of them is not there."""
        self.wait(
            lambda: all(len(_of(each, topic)) == count for each in self.all_well),
            f"all know {count} partitions of {topic}",
        )

    def wait(self, holds: Callable[[], Any], what: str) -> Any:
        try:
            return wait_until(holds, what)
        except AssertionError as error:
            lines = [f"{each.node_id}: {each.log[-2000:]}" for each in self.members.values()]
            raise AssertionError("\n".join([str(error), *lines])) from None


def _of(member: Member, topic: str) -> list[MetadataResponsePartition]:
    """The topic's partitions as this broker knows them."""
    try:
        with member.connect() as client:
            request = MetadataRequest([MetadataRequestTopic(name=topic)], False)
            answer: MetadataResponse = client.ask(request)
    except OSError:  # it is about to stop, or does not listen yet
        return []
    return answer.topics[0].partitions
