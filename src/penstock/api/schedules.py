"""The schedules of the partitions that this broker has with delays, and what Produce asks of them.

Whoever tends a partition (`server/delivering.py`) keeps its schedule in step with its log.
"""

from __future__ import annotations

from penstock.delays.asking import Asked, BadRecord
from penstock.delays.folding import catch_up
from penstock.delays.schedule import Schedule
from penstock.errors import ErrorCode, Refused
from penstock.log.partition_log import PartitionLog
from penstock.log.steps import Steps
from penstock.replication.leader import Leader


class Schedules:
    def __init__(self) -> None:
        self._by_log: dict[PartitionLog, Schedule] = {}
        self._sizes: dict[PartitionLog, int] = {}
        self.total = 0
        """Of held records, over all partitions."""

    def of(self, log: PartitionLog) -> Schedule:
        """One of which nothing is known yet, for a log that nobody has tended."""
        found = self._by_log.get(log)
        if found is None:
            found = self._by_log[log] = Schedule()
        return found

    def replace(self, log: PartitionLog, schedule: Schedule) -> None:
        self._by_log[log] = schedule
        self.count(log)

    def count(self, log: PartitionLog) -> None:
        """It has changed."""
        size = len(self._by_log[log])
        self.total += size - self._sizes.get(log, 0)
        self._sizes[log] = size

    def forget(self, log: PartitionLog) -> None:
        self._by_log.pop(log, None)
        self.total -= self._sizes.pop(log, 0)

    def knows_all(self, leader: Leader) -> bool:
        """Whether all that was in the log when this leader's term began has been gone through. What
        earlier leaders have done is known then, and nothing is done twice."""
        schedule = self.of(leader.log)
        return schedule.is_read and schedule.offset >= leader.epoch_start

    def held_between(self, log: PartitionLog, first: int, end: int) -> int:
        """How many of the records that were sent there wait still, for all that is known."""
        found = self._by_log.get(log)
        return 0 if found is None else found.pending.count_between(first, end)

    def caught_up(self, leader: Leader) -> Steps[None]:
        """With all that is committed: who cancels a record has been told of it."""
        return catch_up(self.of(leader.log), leader.log, leader.high_watermark)

    def check(self, leader: Leader, asked: Asked, most: int) -> None:
        """Refused where more would be held than a broker keeps, or what is to be cancelled is not
        held."""
        if asked.held and self.total + asked.held > most:
            raise Refused(
                ErrorCode.POLICY_VIOLATION,
                f"this broker holds {self.total} records for later, and delays.pending.max={most}",
            )
        if asked.cancels and not self.knows_all(leader):
            raise Refused(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{leader.topic}-{leader.index} has a new leader, which looks through what is held",
            )
        seen: set[int] = set()
        for index, number in asked.cancels:
            if number in seen or not self.of(leader.log).pending.may_come(number):
                raise BadRecord(
                    index,
                    f"nothing is pending under {number} in partition {leader.index}: it was "
                    "delivered or cancelled, or is of another partition",
                )
            seen.add(number)

    def take_out(self, leader: Leader, asked: Asked, base_offset: int) -> None:
        """What is cancelled by records that were appended just now. Should they not stay, it is
        found out by going through the log."""
        pending = self.of(leader.log).pending
        for index, number in asked.cancels:
            pending.set_aside(number, base_offset + index)
