"""What the clients of a run do: the topic they use, and what brokers and topic are set to."""

from __future__ import annotations

from penstock.sim.groups.member import SESSION_MS

TOPIC = "orders"
PARTITIONS = 3
PRODUCERS = 2
REPLICAS_MAX = 3
LAST_READERS = 2
LEASE_MS = 2000
LAG_MS = 3000
"""A follower that is behind for so long is not in sync any more."""
TOPIC_CONFIGS = {"segment.bytes": "8192", "index.interval.bytes": "512"}
TEXTS = {
    "broker.session.timeout.ms": str(LEASE_MS),
    "log.flush.offset.checkpoint.interval.ms": "1500",
    "log.retention.check.interval.ms": "5000",
    "replica.fetch.wait.max.ms": "500",
    "replica.lag.time.max.ms": str(LAG_MS),
    "offsets.topic.num.partitions": "1",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
}
