"""The settings of share groups, and of what has become of their records."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.config.units import HOUR_MS, INT_MAX, MIB, MINUTE_MS
from penstock.settings import setting


@dataclass(frozen=True, slots=True)
class ShareConfig:
    """A part of what a broker is told."""

    share_updates_per_snapshot: int = setting(
        "share.coordinator.snapshot.update.records.per.snapshot",
        500,
        at_least=0,
        at_most=500,
        doc="Updates of a share (a partition in a share group) that are written at most before all "
        "of it is written again. It is sooner where that takes less room.",
    )
    share_topic_num_partitions: int = setting(
        "share.coordinator.state.topic.num.partitions",
        50,
        at_least=1,
        at_most=100_000,
        doc="Partitions of the topic that shares are kept in; not to be changed once it is there.",
    )
    share_topic_replication_factor: int = setting(
        "share.coordinator.state.topic.replication.factor",
        3,
        at_least=1,
        at_most=32_767,
        doc="Replicas of the topic that shares are kept in; at most as many as there are brokers "
        "when it is created.",
    )
    share_topic_segment_bytes: int = setting(
        "share.coordinator.state.topic.segment.bytes",
        100 * MIB,
        at_least=1024,
        at_most=INT_MAX,
        doc="Size of the segments of the topic that shares are kept in.",
    )
    group_share_session_timeout_ms: int = setting(
        "group.share.session.timeout.ms",
        45_000,
        at_least=1,
        at_most=INT_MAX,
        doc="A member of a share group that gives no sign of life for so long leaves it. A group "
        "may have its own.",
    )
    group_share_min_session_timeout_ms: int = setting(
        "group.share.min.session.timeout.ms",
        6000,
        at_least=1,
        at_most=INT_MAX,
        doc="The shortest session timeout that a share group may have.",
    )
    group_share_max_session_timeout_ms: int = setting(
        "group.share.max.session.timeout.ms",
        30 * MINUTE_MS,
        at_least=1,
        at_most=INT_MAX,
        doc="The longest session timeout that a share group may have.",
    )
    group_share_heartbeat_interval_ms: int = setting(
        "group.share.heartbeat.interval.ms",
        0,
        at_least=0,
        at_most=INT_MAX,
        doc="How often members of share groups give a sign of life; 0 goes by the size of the "
        "group, so that small ones settle fast. A group may have its own.",
    )
    group_share_min_heartbeat_interval_ms: int = setting(
        "group.share.min.heartbeat.interval.ms",
        100,
        at_least=1,
        at_most=INT_MAX,
        doc="The shortest heartbeat interval that a share group may have.",
    )
    group_share_max_heartbeat_interval_ms: int = setting(
        "group.share.max.heartbeat.interval.ms",
        15_000,
        at_least=1,
        at_most=INT_MAX,
        doc="The longest heartbeat interval that a share group may have.",
    )
    group_share_max_size: int = setting(
        "group.share.max.size",
        200,
        at_least=1,
        at_most=1000,
        doc="Members that a share group can have; more are refused.",
    )
    group_share_record_lock_duration_ms: int = setting(
        "group.share.record.lock.duration.ms",
        30_000,
        at_least=1000,
        at_most=HOUR_MS,
        doc="How long a member of a share group has a record before others may be given it. A "
        "group may have its own.",
    )
    group_share_min_record_lock_duration_ms: int = setting(
        "group.share.min.record.lock.duration.ms",
        15_000,
        at_least=1000,
        at_most=30_000,
        doc="The shortest that a share group may let its members have a record.",
    )
    group_share_max_record_lock_duration_ms: int = setting(
        "group.share.max.record.lock.duration.ms",
        60_000,
        at_least=30_000,
        at_most=HOUR_MS,
        doc="The longest that a share group may let its members have a record.",
    )
    group_share_delivery_count_limit: int = setting(
        "group.share.delivery.count.limit",
        5,
        at_least=2,
        at_most=10,
        doc="How often a record is given to members of a share group before it is given up. A "
        "group may have its own.",
    )
    group_share_min_delivery_count_limit: int = setting(
        "group.share.min.delivery.count.limit",
        2,
        at_least=2,
        at_most=5,
        doc="The lowest such limit that a share group may have.",
    )
    group_share_max_delivery_count_limit: int = setting(
        "group.share.max.delivery.count.limit",
        10,
        at_least=5,
        at_most=25,
        doc="The highest such limit that a share group may have.",
    )
    group_share_partition_max_record_locks: int = setting(
        "group.share.partition.max.record.locks",
        2000,
        at_least=100,
        at_most=10_000,
        doc="Records of a partition that are in flight in a share group at a time: with "
        "members, or waiting to be given to one again. A group may have its own.",
    )
    group_share_min_partition_max_record_locks: int = setting(
        "group.share.min.partition.max.record.locks",
        100,
        at_least=100,
        at_most=2000,
        doc="The fewest such records that a share group may ask for.",
    )
    group_share_max_partition_max_record_locks: int = setting(
        "group.share.max.partition.max.record.locks",
        4000,
        at_least=2000,
        at_most=10_000,
        doc="The most such records that a share group may ask for.",
    )
    dead_letter_prefix: str = setting(
        "errors.deadletterqueue.topic.name.prefix",
        "dlq.",
        dynamic=True,
        doc="What the names of topics begin with that share groups may send their dead letters to.",
    )
    creates_dead_letter_topics: bool = setting(
        "errors.deadletterqueue.auto.create.topics.enable",
        False,
        dynamic=True,
        doc="Whether a topic is created that a share group wants to send its dead letters to, and "
        "that is not there.",
    )
    share_sessions: int = setting(
        "group.share.max.share.sessions",
        2000,
        at_least=1,
        at_most=INT_MAX,
        doc="Members of share groups that a broker serves at a time; more are refused until some "
        "have gone.",
    )
