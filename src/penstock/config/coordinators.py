"""The settings of what coordinators look after: groups, their offsets, transactions, shares."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.config.shares import ShareConfig
from penstock.config.units import DAY_MS, INT_MAX, MIB, MINUTE_MS
from penstock.settings import setting


def _some_assignor(assignors: tuple[str, ...]) -> str | None:
    return None if assignors else "at least one of uniform, range is needed"


@dataclass(frozen=True, slots=True)
class CoordinatorConfig(ShareConfig):
    """A part of what a broker is told."""

    group_initial_rebalance_delay_ms: int = setting(
        "group.initial.rebalance.delay.ms",
        250,
        at_least=0,
        at_most=INT_MAX,
        doc="How long an empty group of the classic protocol waits for more members before it "
        "shares out partitions for the first time.",
    )
    group_min_session_timeout_ms: int = setting(
        "group.min.session.timeout.ms",
        6000,
        at_least=1,
        at_most=INT_MAX,
        doc="The shortest session timeout that a member of a classic group may ask for.",
    )
    group_max_session_timeout_ms: int = setting(
        "group.max.session.timeout.ms",
        30 * MINUTE_MS,
        at_least=1,
        at_most=INT_MAX,
        doc="The longest session timeout that a member of a classic group may ask for.",
    )
    group_max_size: int = setting(
        "group.max.size",
        100_000,
        at_least=1,
        at_most=INT_MAX,
        doc="Members that a classic group can have; more are refused.",
    )
    group_consumer_assignors: tuple[str, ...] = setting(
        "group.consumer.assignors",
        ("uniform", "range"),
        one_of=("uniform", "range"),
        check=_some_assignor,
        doc="How the broker can share out partitions in groups of the consumer protocol. The first "
        "is for groups whose members ask for none.",
    )
    group_consumer_session_timeout_ms: int = setting(
        "group.consumer.session.timeout.ms",
        45_000,
        at_least=1,
        at_most=INT_MAX,
        doc="A consumer that gives no sign of life for so long leaves its group (consumer "
        "protocol). A group may have its own.",
    )
    group_consumer_min_session_timeout_ms: int = setting(
        "group.consumer.min.session.timeout.ms",
        6000,
        at_least=1,
        at_most=INT_MAX,
        doc="The shortest session timeout that a group of the consumer protocol may have.",
    )
    group_consumer_max_session_timeout_ms: int = setting(
        "group.consumer.max.session.timeout.ms",
        30 * MINUTE_MS,
        at_least=1,
        at_most=INT_MAX,
        doc="The longest session timeout that a group of the consumer protocol may have.",
    )
    group_consumer_heartbeat_interval_ms: int = setting(
        "group.consumer.heartbeat.interval.ms",
        0,
        at_least=0,
        at_most=INT_MAX,
        doc="How often consumers give a sign of life (consumer protocol); 0 goes by the size of "
        "the group, so that small ones settle fast. A group may have its own.",
    )
    group_consumer_min_heartbeat_interval_ms: int = setting(
        "group.consumer.min.heartbeat.interval.ms",
        100,
        at_least=1,
        at_most=INT_MAX,
        doc="The shortest heartbeat interval that a group of the consumer protocol may have.",
    )
    group_consumer_max_heartbeat_interval_ms: int = setting(
        "group.consumer.max.heartbeat.interval.ms",
        15_000,
        at_least=1,
        at_most=INT_MAX,
        doc="The longest heartbeat interval that a group of the consumer protocol may have.",
    )
    group_consumer_max_size: int = setting(
        "group.consumer.max.size",
        100_000,
        at_least=1,
        at_most=INT_MAX,
        doc="Members that a group of the consumer protocol can have; more are refused.",
    )
    group_consumer_migration_policy: str = setting(
        "group.consumer.migration.policy",
        "bidirectional",
        one_of=("bidirectional", "upgrade", "downgrade", "disabled"),
        any_case=True,
        doc="Which groups may change protocol while they run: upgrade is from classic to consumer, "
        "downgrade the way back, bidirectional both.",
    )
    group_consumer_regex_refresh_interval_ms: int = setting(
        "group.consumer.regex.refresh.interval.ms",
        10 * MINUTE_MS,
        at_least=10_000,
        at_most=INT_MAX,
        doc="How often the topics that a group's regular expressions match are looked up anew, "
        "even if no topic has come or gone.",
    )
    offsets_retention_minutes: int = setting(
        "offsets.retention.minutes",
        10_080,
        at_least=1,
        at_most=INT_MAX,
        doc="How long committed offsets are kept once their group is empty.",
    )
    offsets_retention_check_interval_ms: int = setting(
        "offsets.retention.check.interval.ms",
        10 * MINUTE_MS,
        at_least=1,
        doc="How often groups are looked at for offsets to drop.",
    )
    offset_metadata_max_bytes: int = setting(
        "offset.metadata.max.bytes",
        4096,
        at_least=0,
        at_most=INT_MAX,
        doc="The longest text that may be committed with an offset.",
    )
    offsets_topic_num_partitions: int = setting(
        "offsets.topic.num.partitions",
        50,
        at_least=1,
        at_most=100_000,
        doc="Partitions of the topic that groups are kept in; not to be changed once it is there.",
    )
    offsets_topic_replication_factor: int = setting(
        "offsets.topic.replication.factor",
        3,
        at_least=1,
        at_most=32_767,
        doc="Replicas of the topic that groups are kept in; at most as many as there are brokers "
        "when it is created.",
    )
    offsets_topic_segment_bytes: int = setting(
        "offsets.topic.segment.bytes",
        100 * MIB,
        at_least=1024,
        at_most=INT_MAX,
        doc="Size of the segments of the topic that groups are kept in; small ones are compacted "
        "sooner, and load faster.",
    )
    transaction_max_timeout_ms: int = setting(
        "transaction.max.timeout.ms",
        15 * MINUTE_MS,
        at_least=1,
        at_most=INT_MAX,
        doc="The longest that a producer may ask for its transactions to stay open. What takes "
        "longer than the producer has said is aborted.",
    )
    transactional_id_expiration_ms: int = setting(
        "transactional.id.expiration.ms",
        7 * DAY_MS,
        at_least=1,
        at_most=INT_MAX,
        doc="How long a transactional id that nobody uses is remembered.",
    )
    transaction_cleanup_interval_ms: int = setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        60 * MINUTE_MS,
        at_least=1,
        at_most=INT_MAX,
        doc="How often transactional ids are looked at for some to forget.",
    )
    transaction_two_phase_commit_enable: bool = setting(
        "transaction.two.phase.commit.enable",
        True,
        doc="Whether producers that ask for it may keep transactions open for as long as they "
        "like, to commit them together with another system (KIP-939), as the Spark sink does. What "
        "one leaves behind is ended by `penstock txn abort` only.",
    )
    transaction_topic_num_partitions: int = setting(
        "transaction.state.log.num.partitions",
        50,
        at_least=1,
        at_most=100_000,
        doc="Partitions of the topic that transactions are kept in; not to be changed once it is "
        "there.",
    )
    transaction_topic_replication_factor: int = setting(
        "transaction.state.log.replication.factor",
        3,
        at_least=1,
        at_most=32_767,
        doc="Replicas of the topic that transactions are kept in; at most as many as there are "
        "brokers when it is created.",
    )
    transaction_topic_segment_bytes: int = setting(
        "transaction.state.log.segment.bytes",
        100 * MIB,
        at_least=1024,
        at_most=INT_MAX,
        doc="Size of the segments of the topic that transactions are kept in.",
    )
