"""What clients with transactions use: topics, a group, and what brokers are set to for that."""

from __future__ import annotations

SOURCE, COPIES = "entries", "copies"
PARTITIONS = 3
GROUP = "copiers"
TEXTS = {"transaction.state.log.num.partitions": "1"}
COMPACTING = {
    "offsets.topic.segment.bytes": "4096",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.min.cleanable.ratio": "0",
    "log.cleaner.delete.retention.ms": "0",
}
"""The group's offsets are compacted all the time, with transactions open.

Markers go as soon as they are not needed."""
