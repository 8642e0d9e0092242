"""A topic that is to have fewer partitions: those that are to go are closing.

Its settings say how many are to stay, so that any admin client can begin and cancel it. The
controller does the rest (`reducing.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from penstock.config import TopicConfig
from penstock.errors import ErrorCode, Refused
from penstock.metadata import topic_settings
from penstock.metadata.changes import NAME_MAX, check_partition_count
from penstock.metadata.cluster import OPEN, Topic
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import INTERNAL
from penstock.metadata.records import Closing, TopicRecord

T = TypeVar("T")

SEALED_INFIX = ".sealed-"
_SEALED_CHARS = len(SEALED_INFIX) + 6
_ALL = -1


def with_configs(
    image: Image, topic: Topic, configs: Mapping[str, str], now_ms: int
) -> TopicRecord:
    """The topic's record with these settings, and with what they say of its partitions."""
    wanted, before = _wanted(topic, configs), topic.record
    if wanted is None:
        rest = {name: text for name, text in configs.items() if name != OPEN}
        return msgspec.structs.replace(before, configs=rest, closing=None)
    layers = image.settings.layers()
    _check(topic, topic_settings.effective(configs, layers, before.replication_factor))
    closing = before.closing
    if closing is None or wanted != topic.open_partitions:
        closing = Closing(since_ms=now_ms)
    return msgspec.structs.replace(before, configs=dict(configs), closing=closing)


def _wanted(topic: Topic, configs: Mapping[str, str]) -> int | None:
    """None where all partitions are to stay."""
    wanted, count = int(configs.get(OPEN, _ALL)), topic.record.partitions
    if wanted in (_ALL, count):
        return None
    if wanted > count:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"{OPEN}={wanted}: topic {topic.name} has {count} partitions; more are added with "
            f"`penstock topic alter {topic.name} --partitions {wanted}`",
        )
    check_partition_count(wanted)
    return wanted


def _check(topic: Topic, config: TopicConfig) -> None:
    if topic.name in INTERNAL:
        raise _invalid(f"{topic.name} is an internal topic, and its partitions stay")
    if topic.record.sealed is not None:
        raise _invalid(f"{topic.name} is sealed: it goes by itself, or with `topic delete`")
    if len(topic.name) + _SEALED_CHARS > NAME_MAX:
        raise _invalid(
            f"{topic.name} has too long a name: what is left of its partitions would be called "
            f"{topic.name}{SEALED_INFIX}1"
        )
    if config.partitions_close_when == "retention":
        _check_expiry(topic, config)


def _check_expiry(topic: Topic, config: TopicConfig) -> None:
    """What never expires would be waited for in vain."""
    if not config.deletes:
        reason = "it is compacted, so its records do not expire"
    elif config.retention_ms < 0:
        reason = "its retention.ms is -1, so its records do not expire"
    else:
        return
    raise _invalid(
        f"the partitions of {topic.name} cannot wait for retention, as {reason}: set "
        "partitions.close.when=drained (`--when drained`), or retention.ms"
    )


def _invalid(problem: str) -> Refused:
    return Refused(ErrorCode.INVALID_CONFIG, problem)
