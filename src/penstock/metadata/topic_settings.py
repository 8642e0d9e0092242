"""What holds for a topic: its own settings over those that brokers give all topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.config import TOPIC_DEFAULTS, TOPIC_SETTINGS, TopicConfig
from penstock.settings import lay

_MIN_ISR = TOPIC_SETTINGS["min.insync.replicas"]


def effective(
    own: Mapping[str, str], layers: Sequence[Mapping[str, str]], replication_factor: int
) -> TopicConfig:
    """`layers` are broker settings by their broker names, the weakest first."""
    values: dict[str, Any] = {}
    if replication_factor >= 3:
        values[_MIN_ISR.attribute] = 2  # with three replicas, one may fail and none be alone
    for layer in layers:
        lay(values, layer, TOPIC_DEFAULTS)
    lay(values, own, TOPIC_SETTINGS)
    return TopicConfig(**values)
