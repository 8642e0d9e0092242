"""A partition as its leader sees it: how far each in-sync replica is, and so what is committed.

The high watermark is the least end over the in-sync replicas, the leader's own included. With
`flush.on.acks.all` an end counts once it is synced to disk, else once it is in the page cache.
Nothing above the high watermark is ever shown to a consumer.
"""

from __future__ import annotations

from penstock.errors import ErrorCode, Refused
from penstock.log.partition_log import PartitionLog
from penstock.metadata.internal_topics import INTERNAL
from penstock.replication.signals import Line, Reached, Signal


class Leader:
    __slots__ = (
        "committed",
        "deleted",
        "ends",
        "epoch",
        "high_watermark",
        "in_sync",
        "index",
        "is_internal",
        "log",
        "moved",
        "node_id",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        node_id: int,
        topic: str,
        index: int,
        epoch: int,
        in_sync: frozenset[int],
        log: PartitionLog,
    ) -> None:
        self.node_id = node_id
        self.topic = topic
        self.is_internal = topic in INTERNAL
        """Written to by coordinators alone."""
        self.topic_id = log.topic_id
        self.index = index
        self.epoch = epoch
        self.in_sync = in_sync
        self.log = log
        self.ends = {node_id: log.synced_end}
        self.high_watermark = log.start_offset
        self.deleted = False
        self.committed = Line()
        """Producers who wait for their append to be committed."""
        self.moved = Signal()
        """Consumers who wait for more to read."""
        self.advance()

    @property
    def own_end(self) -> int:
        """What this broker's disk answers for."""
        log = self.log
        return log.synced_end if log.config.flush_on_acks_all else log.end_offset

    def advance(self) -> bool:
        """Move the high watermark to where the replicas are; True if it moved."""
        self.ends[self.node_id] = self.own_end
        least = min(self.ends[broker] for broker in self.in_sync)
        if least <= self.high_watermark:
            return False
        self.high_watermark = self.log.high_watermark = least
        return True

    def announce(self) -> None:
        """Wake those who waited for the high watermark."""
        self.committed.reach(self.high_watermark)
        self.moved.fire()

    def check_epoch(self, epoch: int) -> None:
        """Refuse who knows another leader than this one (KIP-320); -1 knows none."""
        if epoch == self.epoch or epoch < 0:
            return
        if epoch < self.epoch:
            raise Refused(ErrorCode.FENCED_LEADER_EPOCH, f"the leader epoch is {self.epoch} now")
        raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH, f"leader epoch {epoch} is not known here yet")

    def check_enough_in_sync(self) -> None:
        """acks=all promises `min.insync.replicas` copies: refuse what could not be kept."""
        least = self.log.config.min_insync_replicas
        if len(self.in_sync) < least:
            raise Refused(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{len(self.in_sync)} replicas are in sync, min.insync.replicas asks for {least}",
            )

    def reached(self, offset: int) -> Reached:
        return Reached(self.committed, offset)

    @property
    def last_stable_offset(self) -> int:
        """Up to where no transaction is undecided: what read_committed may see."""
        return self.log.last_stable_offset(self.high_watermark)

    def delete(self) -> None:
        """The topic is gone: everyone who waits must look again."""
        self.deleted = True
        self.committed.drop()
        self.moved.fire()
