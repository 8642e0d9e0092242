"""The settings of topics. Most have a broker setting that gives their default."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.config.units import DAY_MS, FOREVER_MS, GIB, INT_MAX, MIB
from penstock.settings import Setting, setting, settings_of

CODECS = ("uncompressed", "gzip", "snappy", "lz4", "zstd", "producer")


def _cleanup_together(policies: tuple[str, ...]) -> str | None:
    return None if policies else "at least one of compact, delete is needed"


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """How one topic behaves. `broker_name` is the broker setting that gives the default."""

    cleanup_policy: tuple[str, ...] = setting(
        "cleanup.policy",
        ("delete",),
        one_of=("compact", "delete"),
        check=_cleanup_together,
        broker_name="log.cleanup.policy",
        doc="What becomes of old segments: delete drops them by time and size, compact keeps the "
        "last record of each key; both may be given.",
    )
    compression_type: str = setting(
        "compression.type",
        "producer",
        one_of=CODECS,
        broker_name="compression.type",
        doc="How batches are stored: producer keeps what was sent; any other codec makes the "
        "broker compress again what came differently.",
    )
    compression_gzip_level: int = setting(
        "compression.gzip.level",
        -1,
        at_least=-1,
        at_most=9,
        broker_name="compression.gzip.level",
        doc="The level for compression.type=gzip; -1 is the codec's own default.",
    )
    compression_lz4_level: int = setting(
        "compression.lz4.level",
        9,
        at_least=1,
        at_most=17,
        broker_name="compression.lz4.level",
        doc="The level for compression.type=lz4.",
    )
    compression_zstd_level: int = setting(
        "compression.zstd.level",
        3,
        at_least=-131072,
        at_most=22,
        broker_name="compression.zstd.level",
        doc="The level for compression.type=zstd.",
    )
    delayed_delivery: bool = setting(
        "delayed.delivery",
        False,
        doc="Whether records with the header penstock-deliver-at (ms since 1970) or "
        "penstock-delay-ms are held until then, and penstock-cancel takes one back. Not together "
        "with compaction, and for good: it cannot be switched off again.",
    )
    delete_retention_ms: int = setting(
        "delete.retention.ms",
        DAY_MS,
        at_least=0,
        broker_name="log.cleaner.delete.retention.ms",
        doc="How long a compacted topic keeps the mark of a deleted key, so that readers see it.",
    )
    file_delete_delay_ms: int = setting(
        "file.delete.delay.ms",
        60_000,
        at_least=0,
        broker_name="log.segment.delete.delay.ms",
        doc="How long a dropped segment's files stay on disk for those who are reading them.",
    )
    flush_messages: int = setting(
        "flush.messages",
        FOREVER_MS,
        at_least=1,
        broker_name="log.flush.interval.messages",
        doc="Sync to disk after so many messages, whatever acknowledgements ask for.",
    )
    flush_ms: int = setting(
        "flush.ms",
        FOREVER_MS,
        at_least=0,
        broker_name="log.flush.interval.ms",
        doc="Sync to disk after so much time, whatever acknowledgements ask for.",
    )
    flush_on_acks_all: bool = setting(
        "flush.on.acks.all",
        True,
        broker_name="log.flush.on.acks.all",
        doc="Whether a record counts as committed only once it is synced to disk on every in-sync "
        "replica. Without it acks=all means the replicas' page caches, as in Kafka.",
    )
    index_interval_bytes: int = setting(
        "index.interval.bytes",
        4096,
        at_least=0,
        at_most=INT_MAX,
        broker_name="log.index.interval.bytes",
        doc="About one index entry is kept for so many bytes of log.",
    )
    max_compaction_lag_ms: int = setting(
        "max.compaction.lag.ms",
        FOREVER_MS,
        at_least=1,
        broker_name="log.cleaner.max.compaction.lag.ms",
        doc="A record is compacted at the latest when it is so old.",
    )
    max_message_bytes: int = setting(
        "max.message.bytes",
        1_048_588,
        at_least=0,
        at_most=INT_MAX,
        broker_name="message.max.bytes",
        doc="The largest batch that is taken, in bytes as it was sent.",
    )
    message_timestamp_after_max_ms: int = setting(
        "message.timestamp.after.max.ms",
        3_600_000,
        at_least=0,
        broker_name="log.message.timestamp.after.max.ms",
        doc="How far a record's own timestamp may lie in the future.",
    )
    message_timestamp_before_max_ms: int = setting(
        "message.timestamp.before.max.ms",
        FOREVER_MS,
        at_least=0,
        broker_name="log.message.timestamp.before.max.ms",
        doc="How far a record's own timestamp may lie in the past.",
    )
    message_timestamp_type: str = setting(
        "message.timestamp.type",
        "CreateTime",
        one_of=("CreateTime", "LogAppendTime"),
        broker_name="log.message.timestamp.type",
        doc="Whose time a record carries: the producer's, or the broker's at the append.",
    )
    min_cleanable_dirty_ratio: float = setting(
        "min.cleanable.dirty.ratio",
        0.5,
        at_least=0.0,
        at_most=1.0,
        broker_name="log.cleaner.min.cleanable.ratio",
        doc="A log is compacted once this share of it has not been compacted before.",
    )
    min_compaction_lag_ms: int = setting(
        "min.compaction.lag.ms",
        0,
        at_least=0,
        broker_name="log.cleaner.min.compaction.lag.ms",
        doc="A record stays out of compaction at least so long.",
    )
    min_insync_replicas: int = setting(
        "min.insync.replicas",
        1,
        at_least=1,
        at_most=INT_MAX,
        broker_name="min.insync.replicas",
        same_everywhere=True,
        doc="acks=all is refused while fewer replicas than this are in sync.",
    )
    partitions_close_max_pause_ms: int = setting(
        "partitions.close.max.pause.ms",
        10_000,
        at_least=100,
        at_most=INT_MAX,
        doc="How long writes to closing partitions are refused at most, before the topic loses "
        "them; to all, where the new number of partitions does not divide the old one. If groups "
        "have not read them to the end by then, writes go on, and it is tried again after six "
        "times as long.",
    )
    partitions_close_when: str = setting(
        "partitions.close.when",
        "retention",
        one_of=("retention", "drained"),
        doc="When a topic loses its closing partitions: retention waits until retention.ms has "
        "passed, drained until every group has read them.",
    )
    partitions_open: int = setting(
        "partitions.open",
        -1,
        at_least=-1,
        at_most=INT_MAX,
        doc="How many partitions the topic is to have, if fewer than it has: the others are "
        "closing. Unset, or -1, all of them stay.",
    )
    preallocate: bool = setting(
        "preallocate",
        False,
        broker_name="log.preallocate",
        doc="Accepted for compatibility; segments are never preallocated.",
    )
    deletes_on_ack: bool = setting(
        "queue.delete.on.ack",
        False,
        doc="Whether records go away once all share groups that read the topic have accepted them, "
        "or given them up. Retention holds all the same. Not for compacted topics.",
    )
    record_validation: str = setting(
        "record.validation",
        "batch",
        one_of=("batch", "full"),
        broker_name="log.record.validation",
        doc="batch checks header, CRC, counts and timestamps of what is produced; full "
        "decompresses it and checks every record. Compacted topics, and those with "
        "delayed.delivery, are always checked in full.",
    )
    replica_lag_max: int = setting(
        "replica.lag.max.messages",
        -1,
        at_least=-1,
        broker_name="replica.lag.max.messages",
        doc="A replica that lacks more records than this is not in sync any more; -1: any number.",
    )
    replica_lag_time_max_ms: int = setting(
        "replica.lag.time.max.ms",
        30_000,
        at_least=1,
        broker_name="replica.lag.time.max.ms",
        doc="A replica that has not caught up with its leader for so long is not in sync any more.",
    )
    retention_bytes: int = setting(
        "retention.bytes",
        -1,
        at_least=-1,
        broker_name="log.retention.bytes",
        doc="The size up to which a partition's log is kept; -1 sets no limit.",
    )
    retention_hold_for_archive: bool = setting(
        "retention.hold.for.archive",
        False,
        doc="Whether retention.ms and retention.bytes wait until `penstock pipeline archive` has "
        "what they would drop, up to retention.hold.max.bytes. Not for compacted topics.",
    )
    retention_hold_max_bytes: int = setting(
        "retention.hold.max.bytes",
        10 * GIB,
        at_least=-1,
        broker_name="log.retention.hold.max.bytes",
        doc="With retention.hold.for.archive: the size of a partition's log above which retention "
        "waits for no archive. -1 sets no limit.",
    )
    retention_ms: int = setting(
        "retention.ms",
        14 * DAY_MS,
        at_least=-1,
        broker_name="log.retention.ms",
        doc="How long a segment is kept after its last record. -1 keeps it for ever.",
    )
    segment_bytes: int = setting(
        "segment.bytes",
        GIB,
        at_least=1024,
        at_most=INT_MAX,
        broker_name="log.segment.bytes",
        doc="A new segment file is begun when the old one would grow past this.",
    )
    segment_index_bytes: int = setting(
        "segment.index.bytes",
        10 * MIB,
        at_least=4,
        at_most=INT_MAX,
        broker_name="log.index.size.max.bytes",
        doc="A new segment is begun when an index would grow past this.",
    )
    segment_jitter_ms: int = setting(
        "segment.jitter.ms",
        0,
        at_least=0,
        broker_name="log.roll.jitter.ms",
        doc="Up to so much is taken off segment.ms at random, so that segments do not all roll at "
        "once.",
    )
    segment_ms: int = setting(
        "segment.ms",
        7 * DAY_MS,
        at_least=1,
        broker_name="log.roll.ms",
        doc="A new segment file is begun when the first record of the old one is so old.",
    )
    takes_dead_letters: bool = setting(
        "errors.deadletterqueue.group.enable",
        False,
        doc="Whether share groups may send their dead letters to this topic.",
    )
    unclean_leader_election_enable: bool = setting(
        "unclean.leader.election.enable",
        False,
        broker_name="unclean.leader.election.enable",
        same_everywhere=True,
        doc="Whether a replica that may lack acknowledged records may lead when no other is left.",
    )

    @property
    def compacts(self) -> bool:
        """Never with delays, whatever brokers have by default: what is held would be lost."""
        return "compact" in self.cleanup_policy and not self.delayed_delivery

    @property
    def deletes(self) -> bool:
        return "delete" in self.cleanup_policy or self.delayed_delivery

    @property
    def holds(self) -> bool:
        """Whether retention waits for an archive."""
        return self.retention_hold_for_archive and not self.compacts

    @property
    def keeps_batches(self) -> bool:
        """Whether every batch is stored as it came, unseen: the usual case, and quick to tell."""
        return (
            self.compression_type == "producer"
            and self.record_validation == "batch"
            and self.cleanup_policy == ("delete",)
            and not self.delayed_delivery
        )

    @property
    def looks_inside(self) -> bool:
        """Whether produced batches are decompressed and checked record by record."""
        return self.record_validation == "full" or self.compacts or self.delayed_delivery


TOPIC_SETTINGS: dict[str, Setting] = settings_of(TopicConfig)
TOPIC_DEFAULTS: dict[str, Setting] = {
    s.broker_name: s for s in TOPIC_SETTINGS.values() if s.broker_name
}
"""Broker settings that give topics their defaults, by the broker's name for them."""
SAME_EVERYWHERE = frozenset(name for name, s in TOPIC_DEFAULTS.items() if s.same_everywhere)
"""Those of them that are set for all brokers at once. Leaders commit by them, and the controller
elects by them: if they differed, records that were acknowledged would be lost."""
