"""Topics that brokers keep for themselves: clients read them, and leave the rest to us."""

from __future__ import annotations

from penstock.config import BrokerConfig
from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit, create_topic
from penstock.metadata.image import Image
from penstock.metadata.records import TopicRecord

OFFSETS = "__consumer_offsets"
INTERNAL = frozenset({OFFSETS})


def create_offsets_topic(
    image: Image, config: BrokerConfig, *, topic_id: bytes, now_ms: int
) -> Commit[TopicRecord]:
    """As it is when the first group asks for its coordinator."""
    existing = image.topic(OFFSETS)
    if existing is not None:
        return Commit(existing.record)
    if not image.brokers:
        raise Refused(
            ErrorCode.COORDINATOR_NOT_AVAILABLE, "no broker is there to look after the group"
        )
    return create_topic(
        image,
        OFFSETS,
        topic_id=topic_id,
        now_ms=now_ms,
        partitions=config.offsets_topic_num_partitions,
        replication=min(config.offsets_topic_replication_factor, len(image.brokers)),
        configs={
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
        },
    )


def refuse_internal(topic: str) -> None:
    if topic in INTERNAL:
        raise Refused(
            ErrorCode.INVALID_TOPIC, f"{topic} is an internal topic: only brokers may change it"
        )
