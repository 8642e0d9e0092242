"""What holds for a topic: its own settings over those that brokers give all topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.config import SAME_EVERYWHERE, TOPIC_DEFAULTS, TOPIC_SETTINGS, TopicConfig
from penstock.errors import ErrorCode, Refused
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


def check_together(config: TopicConfig) -> None:
    """Whether these settings of a topic go with each other."""
    if config.retention_hold_for_archive and config.compacts:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            "retention.hold.for.archive needs cleanup.policy=delete: compaction removes records "
            "by their keys, and would not wait for an archive",
        )
    if config.delayed_delivery and "compact" in config.cleanup_policy:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            "delayed.delivery needs cleanup.policy=delete: compaction removes records by their "
            "keys, and would remove those that are held",
        )

    if config.deletes_on_ack and config.compacts:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            "queue.delete.on.ack needs cleanup.policy=delete: what compaction keeps is the last "
            "record of each key, whoever has had it",
        )


def own(texts: Mapping[str, str]) -> dict[str, str]:
    """Of what is set for one broker, that which one alone can have."""
    return {name: text for name, text in texts.items() if name not in SAME_EVERYWHERE}


def shared(texts: Mapping[str, str]) -> dict[str, str]:
    """Of what a broker is started with, that which counts only for a cluster that it founds."""
    return {name: text for name, text in texts.items() if name in SAME_EVERYWHERE}


def unheeded(texts: Mapping[str, str], cluster: Mapping[str, str]) -> Iterator[str]:
    """What a broker was started with, and is otherwise in its cluster; said of each."""
    known: dict[str, Any] = {}
    lay(known, cluster, TOPIC_DEFAULTS)
    for name, text in shared(texts).items():
        setting = TOPIC_DEFAULTS[name]
        held = known.get(setting.attribute)
        if held != setting.parse(text):
            yield (
                f"{name}={text} of this broker's settings does not count, since brokers must agree "
                f"on it: the cluster has {'the default' if held is None else setting.show(held)}, "
                f"and `penstock broker config all --set {name}=...` changes that"
            )
