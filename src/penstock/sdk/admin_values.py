"""What an Admin answers with. All of it is a picture of one moment, and none of it changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

Place = tuple[str, int]
"""A topic and a partition."""


@dataclass(frozen=True, slots=True)
class Setting:
    value: str | None
    source: str
    """Where it was set: topic, broker, cluster, file, group, or default."""
    is_read_only: bool


@dataclass(frozen=True, slots=True)
class TopicSummary:
    name: str
    partitions: int
    replicas: int
    is_internal: bool


@dataclass(frozen=True, slots=True)
class Partition:
    """None is what could not be found out, as while nobody leads the partition."""

    index: int
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    start: int | None
    """Of the first record that is there."""
    end: int | None
    """Past the last record that consumers can read."""
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class Closing:
    """How far a topic is that is to have fewer partitions."""

    partitions: int
    left: int
    """How many of them stay."""
    when: str
    since: datetime
    due: datetime | None
    """With `retention`: when the others go."""
    is_paused: bool
    """Writes to them are refused at the moment: they are about to go."""
    given_up: str
    """Why the last attempt was given up; empty if there was none. There will be another."""
    groups_behind: Mapping[str, int]
    """Groups that have not read what is waited for, with how many messages."""
    writers: Mapping[str, datetime]
    """Clients that still write to closing partitions, and when each last did."""


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    id: str
    is_internal: bool
    partitions: tuple[Partition, ...]
    configs: Mapping[str, Setting]
    """What is not as by default."""
    closing: Closing | None
    sealed_from: str | None
    """The topic that these were partitions of, where they are only read any more."""


@dataclass(frozen=True, slots=True)
class GroupSummary:
    name: str
    kind: str
    state: str
    coordinator: int


@dataclass(frozen=True, slots=True)
class Member:
    id: str
    instance_id: str | None
    client_id: str
    host: str
    topics: tuple[str, ...]
    """What it is subscribed to."""
    partitions: Mapping[str, tuple[int, ...]]
    """What it has now, by topic."""


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    kind: str
    """`classic`, `consumer` for the newer protocol, or `share`."""
    state: str
    coordinator: int
    assignor: str
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """None is what is not known, as while nobody leads the partition."""

    topic: str
    partition: int
    committed: int
    end: int | None
    messages: int | None
    seconds: float | None
    """How long the first record that was not read has been waiting."""


@dataclass(frozen=True, slots=True)
class Lag:
    """The sum and the longest wait of the partitions in which the group has an offset."""

    messages: int
    seconds: float
    partitions: tuple[PartitionLag, ...]
    is_complete: bool
    """False if some partition's lag is not known, and so not in the sum."""


@dataclass(frozen=True, slots=True)
class OffsetMove:
    topic: str
    partition: int
    before: int | None
    """None if nothing was committed."""
    after: int | None
    """None: it stays where it is, and the note says why."""
    lag: int | None
    note: str


@dataclass(frozen=True, slots=True)
class Broker:
    """Sizes are None of a broker that does not answer."""

    id: int
    host: str
    port: int
    rack: str
    is_alive: bool
    is_draining: bool
    is_controller: bool
    replicas: int
    leads: int
    behind: int
    """Replicas that are not in sync."""
    data_bytes: int | None
    free_bytes: int | None


@dataclass(frozen=True, slots=True)
class ScheduledMessage:
    """Its value is to be read from the topic NAME.scheduled."""

    topic: str
    partition: int
    offset: int
    """At which it was sent, which names it."""
    due: datetime
    repeat: str | None
    """When it comes, of one that comes again and again."""
    key: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    """Without those that say when."""
    size_bytes: int
    """Of key, value and headers."""


@dataclass(frozen=True, slots=True)
class DrainProgress:
    partitions_left: int
    partitions_moving: int
    copied_bytes: int
    moving_bytes: int
    """Of the partitions that are on the move."""
