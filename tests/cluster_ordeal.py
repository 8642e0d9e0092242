"""A cluster at work, with a producer and groups, that meets with one fault after another.

There is work in flight at every fault, which is checked at the end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cluster_faults import check
from tests.cluster_process import Cluster
from tests.cluster_traffic import Moment, Traffic
from tests.group_checks import MessageId, check_all_processed
from tests.group_stage import CLASSIC, Stage

PROTOCOLS: dict[str, dict[str, Any]] = {
    "classic": {**CLASSIC, "partition.assignment.strategy": "cooperative-sticky"},
    "consumer": {"group.protocol": "consumer"},
}
WORKERS = ("one", "two")
CATCH_UP_S = 240
"""A busy machine may let leases end that nobody meant to end, and groups begin anew."""


class Ordeal:
    def __init__(self, cluster: Cluster, sending: Traffic, partitions: int) -> None:
        self.cluster = cluster
        self.sending = sending
        self.topic = sending.topic
        self._places = [(self.topic, index) for index in range(partitions)]
        self._groups: list[Stage] = []
        self._moments: list[Moment] = []

    def start_group(self, folder: Path, protocol: str) -> None:
        """Two workers, and each has its share."""
        group = Stage(folder, self.cluster.address, f"{protocol}-{self.topic}")
        self._groups.append(group)
        for name in WORKERS:
            group.start(name, "confluent", [self.topic], PROTOCOLS[protocol])
        group.wait_until_shared(self._places)

    @property
    def group(self) -> str:
        """The name of the first one."""
        return self._groups[0].group

    def meet(self, what: str, fault: Callable[[], None]) -> None:
        """Returns once the producer has gone on after it, and groups have caught up."""
        moment = self.sending.pile_up()
        self._moments.append(moment)
        sys.stdout.write(f"{moment.at:.3f} {what}\n")
        fault()
        self.sending.go_on()
        acked = self._acked()
        for group in self._groups:
            group.wait_until_processed(acked, CATCH_UP_S)

    def check(self) -> None:
        """Every acked message is read once, and in the order of its key; by groups, too."""
        self.cluster.wait_in_sync(self.topic, 3)
        check(self.cluster, self.sending, len(self._places))
        acked = self._acked()
        for group in self._groups:
            group.wait_until_processed(acked, CATCH_UP_S)
            for worker in group.running:
                worker.leave()
            group.follow()
            check_all_processed(group.result(), acked)
            for moment in self._moments:
                self._check_in_flight(group, moment)
        for moment in self._moments:
            self.sending.check_under_way(moment)
        self.cluster.check_lines()

    def _acked(self) -> dict[MessageId, str]:
        return {
            ((self.topic, ack.partition), ack.offset): f"{ack.number}"
            for ack in tuple(self.sending.acked)
        }

    def end(self) -> None:
        for group in self._groups:
            group.end()

    def _check_in_flight(self, group: Stage, moment: Moment) -> None:
        """The group had to do at that moment: it processed later what was sent before."""
        turns = {((self.topic, ack.partition), ack.offset): ack.turn for ack in self.sending.acked}
        late = [
            message
            for message, times in group.result().processed().items()
            if times[0].at > moment.at and turns[message] < moment.sent
        ]
        assert late, f"{group.group} had nothing to do at {moment}"
