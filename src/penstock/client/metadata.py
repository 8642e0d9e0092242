"""What a client knows of the cluster: brokers, topics, and who leads what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.client.connection import Address
from penstock.client.errors import ClientError, refused
from penstock.errors import ErrorCode
from penstock.wire.messages.k03_metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from penstock.wire.primitives import NULL_UUID

NO_BROKER = -1


@dataclass(frozen=True, slots=True)
class Partition:
    index: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    offline: tuple[int, ...]
    log_id: bytes = b""
    """What its records are known by, where that is another one than the topic's."""


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    topic_id: bytes
    is_internal: bool
    partitions: dict[int, Partition]
    open_partitions: int = -1
    """How many are to stay, where the topic is to have fewer; else -1."""
    log_id: bytes = b""
    """What its records are known by, where it has another id since it lost partitions."""
    sealed_from: str = ""
    """The topic that had its partitions before, if it is what was left of one."""
    sealed_first: int = -1
    """Which of them is the first one here."""
    view_of: str = ""
    """The topic that this one shows a part of, if it is a view."""

    @property
    def writable(self) -> int:
        """How many partitions, from the first on, new records go to."""
        return len(self.partitions) if self.open_partitions < 0 else self.open_partitions

    def log_id_of(self, index: int) -> bytes:
        """Stays with the records of a partition, whatever becomes of its topic."""
        return self.partitions[index].log_id or self.log_id or self.topic_id

    def leader_of(self, index: int) -> int:
        about = f"{self.name}-{index}"
        partition = self.partitions.get(index)
        if partition is None:
            raise refused(about, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no such partition")
        if partition.leader == NO_BROKER:
            raise refused(about, ErrorCode.LEADER_NOT_AVAILABLE, "no broker leads it now")
        return partition.leader

    def by_leader(self, indexes: Iterable[int]) -> dict[int, list[int]]:
        """Partitions as they have to be asked for: in one request to each leader."""
        grouped, failures = self.shares(indexes)
        for error in failures.values():
            raise error
        return grouped

    def shares(self, indexes: Iterable[int]) -> tuple[dict[int, list[int]], dict[int, ClientError]]:
        """The same, and beside it those that nobody can be asked for."""
        grouped: dict[int, list[int]] = {}
        failures: dict[int, ClientError] = {}
        for index in indexes:
            try:
                grouped.setdefault(self.leader_of(index), []).append(index)
            except ClientError as error:
                failures[index] = error
        return grouped, failures


@dataclass(slots=True)
class Metadata:
    """What one answer told. Topics that it refused are not in it."""

    cluster_id: str | None = None
    controller: int = NO_BROKER
    brokers: dict[int, Address] = field(default_factory=dict)
    topics: dict[str, Topic] = field(default_factory=dict)
    refusals: dict[str, int] = field(default_factory=dict)

    @property
    def stored(self) -> dict[str, Topic]:
        """Topics with records of their own: all but views."""
        return {name: topic for name, topic in self.topics.items() if not topic.view_of}

    @classmethod
    def of(cls, response: MetadataResponse) -> Metadata:
        made = cls(response.cluster_id, response.controller_id)
        made.brokers = {each.node_id: Address(each.host, each.port) for each in response.brokers}
        for topic in response.topics:
            name = topic.name or ""
            if topic.error_code:
                made.refusals[name] = topic.error_code
            else:
                made.topics[name] = _topic(name, topic)
        return made


def _topic(name: str, told: MetadataResponseTopic) -> Topic:
    partitions = {each.partition_index: _partition(each) for each in told.partitions}
    return Topic(
        name,
        told.topic_id,
        told.is_internal,
        dict(sorted(partitions.items())),
        told.open_partitions,
        _id(told.log_id),
        told.sealed_from,
        told.sealed_first,
        told.view_of,
    )


def _partition(told: MetadataResponsePartition) -> Partition:
    return Partition(
        index=told.partition_index,
        leader=told.leader_id,
        leader_epoch=told.leader_epoch,
        replicas=tuple(told.replica_nodes),
        in_sync=tuple(told.isr_nodes),
        offline=tuple(told.offline_replicas),
        log_id=_id(told.log_id),
    )


def _id(told: bytes) -> bytes:
    return b"" if told == NULL_UUID else told
