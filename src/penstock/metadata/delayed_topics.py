"""Topics whose records may be held until their time has come (`delayed.delivery`).

Beside each there is NAME.scheduled, to be read by whoever asks for it by that name: it shows what
is held. It is not among the topics that are listed, or readers who subscribe to a pattern would
get messages before their time.
"""

from __future__ import annotations

import hashlib

from penstock.config import TOPIC_SETTINGS, TopicConfig
from penstock.errors import ErrorCode, Refused
from penstock.metadata.cluster import Topic
from penstock.metadata.records import TopicRecord, ViewRecord
from penstock.metadata.views import View

SUFFIX = ".scheduled"
NAME_MAX = 249
_SETTING = TOPIC_SETTINGS["delayed.delivery"]


class Scheduled(View):
    """What is held in a topic, as a topic to read."""

    __slots__ = ()

    def __init__(self, source: Topic) -> None:
        held = ViewRecord(
            name=scheduled_name(source.name),
            view_id=hashlib.blake2b(source.id + SUFFIX.encode(), digest_size=16).digest(),
            source_id=source.id,
            where="",
            created_ms=source.record.created_ms,
        )
        super().__init__(held, source.revision, source)


def scheduled_name(topic: str) -> str:
    return topic + SUFFIX


def has_delays(record: TopicRecord) -> bool:
    """No broker has a default for it, so the topic's own settings say all."""
    return bool(_SETTING.parse(record.configs.get(_SETTING.name, "false")))


def check_begin(record: TopicRecord, other: str | None) -> None:
    """Whether a topic may have delays from now on. `other`: what has the name that it needs."""
    name = scheduled_name(record.name)
    if len(name) > NAME_MAX:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"delayed.delivery: {record.name} has too long a name, as what is held would be read "
            f"as {name}",
        )
    if other is not None:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"delayed.delivery: what is held would be read as {name}, and there is {other} already",
        )
    if record.sealed is not None:
        raise Refused(
            ErrorCode.INVALID_CONFIG, f"delayed.delivery: {record.name} is sealed, and only read"
        )


def check_change(before: TopicConfig, topic: Topic, after: TopicRecord) -> None:
    """Nothing that is held may be lost by a change of settings."""
    if before.delayed_delivery and not has_delays(after):
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"delayed.delivery cannot be switched off: {topic.name} may hold records that are yet "
            "to be delivered; for records without delays leave their headers out, or use another "
            "topic",
        )
    if has_delays(after) and after.closing is not None:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"{topic.name} cannot have delayed.delivery and lose partitions: they may hold records "
            "that are yet to be delivered",
        )
