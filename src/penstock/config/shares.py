"""The settings of share groups, and of what has become of their records."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.config.units import INT_MAX, MIB
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
