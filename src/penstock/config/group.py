"""The settings of single groups. Most have a broker setting that gives their default."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.config import offset_reset
from penstock.config.units import DAY_MS, HOUR_MS, INT_MAX
from penstock.settings import Setting, setting, settings_of


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """How one group behaves, within the limits that the broker sets."""

    consumer_session_timeout_ms: int = setting(
        "consumer.session.timeout.ms",
        45_000,
        at_least=1,
        at_most=INT_MAX,
        broker_name="group.consumer.session.timeout.ms",
        broker_limits=(
            "group.consumer.min.session.timeout.ms",
            "group.consumer.max.session.timeout.ms",
        ),
        doc="A consumer that gives no sign of life for so long leaves the group. More than the "
        "heartbeat interval.",
    )
    consumer_heartbeat_interval_ms: int = setting(
        "consumer.heartbeat.interval.ms",
        0,
        at_least=0,
        at_most=INT_MAX,
        broker_name="group.consumer.heartbeat.interval.ms",
        broker_limits=(
            "group.consumer.min.heartbeat.interval.ms",
            "group.consumer.max.heartbeat.interval.ms",
        ),
        doc="How often consumers of the group give a sign of life; 0 goes by its size.",
    )
    share_session_timeout_ms: int = setting(
        "share.session.timeout.ms",
        45_000,
        at_least=1,
        at_most=INT_MAX,
        broker_name="group.share.session.timeout.ms",
        broker_limits=(
            "group.share.min.session.timeout.ms",
            "group.share.max.session.timeout.ms",
        ),
        doc="A member of a share group that gives no sign of life for so long leaves it. More than "
        "the heartbeat interval.",
    )
    share_heartbeat_interval_ms: int = setting(
        "share.heartbeat.interval.ms",
        0,
        at_least=0,
        at_most=INT_MAX,
        broker_name="group.share.heartbeat.interval.ms",
        broker_limits=(
            "group.share.min.heartbeat.interval.ms",
            "group.share.max.heartbeat.interval.ms",
        ),
        doc="How often members of the share group give a sign of life; 0 goes by its size.",
    )
    share_record_lock_duration_ms: int = setting(
        "share.record.lock.duration.ms",
        30_000,
        at_least=1000,
        at_most=HOUR_MS,
        broker_name="group.share.record.lock.duration.ms",
        broker_limits=(
            "group.share.min.record.lock.duration.ms",
            "group.share.max.record.lock.duration.ms",
        ),
        doc="How long a member of a share group has a record before others may be given it.",
    )
    share_delivery_count_limit: int = setting(
        "share.delivery.count.limit",
        5,
        at_least=2,
        at_most=10,
        broker_name="group.share.delivery.count.limit",
        broker_limits=(
            "group.share.min.delivery.count.limit",
            "group.share.max.delivery.count.limit",
        ),
        doc="How often a record is given to members of a share group before it is given up.",
    )
    share_partition_max_record_locks: int = setting(
        "share.partition.max.record.locks",
        2000,
        at_least=100,
        at_most=10_000,
        broker_name="group.share.partition.max.record.locks",
        broker_limits=(
            "group.share.min.partition.max.record.locks",
            "group.share.max.partition.max.record.locks",
        ),
        doc="Records of a partition that are in flight in a share group at a time: with "
        "members, or waiting to be given to one again.",
    )
    share_auto_offset_reset: str = setting(
        "share.auto.offset.reset",
        offset_reset.LATEST,
        check=offset_reset.problem_of,
        doc="Where a share group begins with a partition that it has not read: earliest, latest, "
        "or so long ago (by_duration:P1DT12H).",
    )
    share_redelivery_backoff_ms: int = setting(
        "share.redelivery.backoff.ms",
        0,
        at_least=0,
        at_most=DAY_MS,
        doc="How long a record that a member of a share group has given back, or has had for too "
        "long, is given to nobody. Twice as long after each further delivery.",
    )
    share_redelivery_backoff_max_ms: int = setting(
        "share.redelivery.backoff.max.ms",
        HOUR_MS,
        at_least=0,
        at_most=DAY_MS,
        doc="What share.redelivery.backoff.ms grows to at most; if it is not more than that, all "
        "pauses are alike.",
    )
    share_isolation_level: str = setting(
        "share.isolation.level",
        "read_uncommitted",
        one_of=("read_committed", "read_uncommitted"),
        doc="Whether members of a share group are given what was written in transactions before "
        "these are committed.",
    )
    dead_letter_topic: str = setting(
        "errors.deadletterqueue.topic.name",
        "",
        doc="The topic that takes what a share group gives up: records that were rejected, or "
        "delivered too often. It needs errors.deadletterqueue.group.enable=true. Empty: such "
        "records are dropped.",
    )
    dead_letters_have_records: bool = setting(
        "errors.deadletterqueue.copy.record.enable",
        False,
        doc="Whether dead letters hold key, value and headers of the record, and not only tell "
        "where it is.",
    )
    share_renew_acknowledge_enable: bool = setting(
        "share.renew.acknowledge.enable",
        True,
        doc="Whether members of a share group may keep a record for longer, as often as they like.",
    )


GROUP_SETTINGS: dict[str, Setting] = settings_of(GroupConfig)
GROUP_DEFAULTS: dict[str, Setting] = {
    s.broker_name: s for s in GROUP_SETTINGS.values() if s.broker_name
}
"""Broker settings that give groups their defaults, by the broker's name for them."""
