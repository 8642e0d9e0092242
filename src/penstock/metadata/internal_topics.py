"""Topics that brokers keep for themselves: clients read them, and leave the rest to us.

Their settings may be changed, but for what the brokers rely on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from penstock.config import TOPIC_SETTINGS, BrokerConfig
from penstock.errors import ErrorCode, Refused
from penstock.metadata import topic_settings
from penstock.metadata.changes import Commit, create_topic
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image
from penstock.metadata.placement import open_racks
from penstock.metadata.records import TopicRecord

OFFSETS = "__consumer_offsets"
TRANSACTIONS = "__transaction_state"
SHARES = "__share_group_state"
INTERNAL = frozenset({OFFSETS, TRANSACTIONS, SHARES})
MESSAGE_BYTES_MIN = 1 << 20
"""What a group of many members takes."""


class Shape(NamedTuple):
    """What a broker's settings say of an internal topic."""

    partitions: int
    replicas: int
    segment_bytes: int


def shape(config: BrokerConfig, topic: str) -> Shape:
    if topic == OFFSETS:
        return Shape(
            config.offsets_topic_num_partitions,
            config.offsets_topic_replication_factor,
            config.offsets_topic_segment_bytes,
        )
    if topic == SHARES:
        return Shape(
            config.share_topic_num_partitions,
            config.share_topic_replication_factor,
            config.share_topic_segment_bytes,
        )
    return Shape(
        config.transaction_topic_num_partitions,
        config.transaction_topic_replication_factor,
        config.transaction_topic_segment_bytes,
    )


def create_internal_topic(
    image: Image, name: str, config: BrokerConfig, *, topic_id: bytes, now_ms: int
) -> Commit[TopicRecord]:
    """As it is when the first one asks for its coordinator."""
    existing = image.topic(name)
    if existing is not None:
        return Commit(existing.record)
    if not image.brokers:
        raise Refused(
            ErrorCode.COORDINATOR_NOT_AVAILABLE, f"no broker is there to look after {name}"
        )
    partitions, replicas, segment_bytes = shape(config, name)
    return create_topic(
        image,
        name,
        topic_id=topic_id,
        now_ms=now_ms,
        partitions=partitions,
        replication=min(replicas, max(len(open_racks(image)), 1)),
        configs={
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(segment_bytes),
        },
    )


def refuse_internal(topic: str) -> None:
    if topic in INTERNAL:
        raise Refused(
            ErrorCode.INVALID_TOPIC,
            f"{topic} is an internal topic: clients can read it and change its settings, no more",
        )


def check_internal_configs(image: Image, topic: Topic, configs: Mapping[str, str]) -> None:
    """Refuse settings of its own with which an internal topic would not keep what it is for.

    What it has from its brokers' defaults is the operator's own choice. Only compaction is needed
    whoever says otherwise: without it what was committed is deleted some day.
    """
    if topic.name not in INTERNAL:
        return
    replicas = topic.record.replication_factor
    config = topic_settings.effective(configs, image.settings.layers(), replicas)
    own = {name: getattr(config, TOPIC_SETTINGS[name].attribute) for name in configs}
    if config.cleanup_policy != ("compact",):
        raise _needs(topic, "cleanup.policy", "is compact: what is old would be deleted")
    if not own.get("flush.on.acks.all", True):
        raise _needs(topic, "flush.on.acks.all", "is true: commits would be lost in a power cut")
    if own.get("max.message.bytes", MESSAGE_BYTES_MIN) < MESSAGE_BYTES_MIN:
        raise _needs(
            topic,
            "max.message.bytes",
            f"is at least {MESSAGE_BYTES_MIN}: what is kept in it would not fit",
        )
    if own.get("min.insync.replicas", 1) > replicas:
        raise _needs(
            topic,
            "min.insync.replicas",
            f"is at most {replicas}, its replication factor: nothing could be committed",
        )


def _needs(topic: Topic, setting: str, why: str) -> Refused:
    return Refused(
        ErrorCode.INVALID_CONFIG, f"{topic.name} is an internal topic, and its {setting} {why}"
    )
