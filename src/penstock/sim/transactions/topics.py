"""What clients with transactions use: topics, a group, and what brokers are set to for that."""

from __future__ import annotations

SOURCE, COPIES = "entries", "copies"
PARTITIONS = 3
GROUP = "copiers"
TEXTS = {"transaction.state.log.num.partitions": "1"}
