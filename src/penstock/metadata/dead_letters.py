"""Which topics may take the dead letters of share groups.

Who can have a group give up records could else have brokers write them to any topic. So such a
topic has a name that tells, and says that it takes them.
"""

from __future__ import annotations

from penstock.config import BROKER_SETTINGS, GroupConfig
from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import is_topic_name
from penstock.metadata.cluster import Topic
from penstock.metadata.group_settings import broker_value
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import INTERNAL

PREFIX = BROKER_SETTINGS["errors.deadletterqueue.topic.name.prefix"]
OPTED_IN = "errors.deadletterqueue.group.enable"


class Nowhere(Exception):
    """There is no such topic, and waiting does not help."""


class NotNow(Exception):
    """They cannot be written yet."""


class NoTopic(NotNow):
    """It is not there."""


def check_group(image: Image, config: GroupConfig) -> None:
    """Whether a group may name this topic, which need not be there. Raises Refused."""
    if config.dead_letter_topic and (problem := _problem_of(image, config.dead_letter_topic)):
        raise Refused(ErrorCode.INVALID_CONFIG, f"errors.deadletterqueue.topic.name: {problem}")


def topic_for(image: Image, group: str) -> Topic:
    """Where the dead letters of a group go. Raises Nowhere and NotNow."""
    name = image.settings.of_group(group).dead_letter_topic
    if not name:
        raise Nowhere("the group has no topic for them any more")
    if problem := _problem_of(image, name):
        raise Nowhere(problem)
    topic = image.topic(name)
    if topic is None:
        raise NoTopic(f"there is no topic {name!r}: create it with {OPTED_IN}=true")
    if not image.settings.of_topic(topic).takes_dead_letters:
        raise NotNow(f"topic {name!r} does not take dead letters: set its {OPTED_IN}=true")
    return topic


def _problem_of(image: Image, name: str) -> str | None:
    prefix = broker_value(PREFIX, image.settings.layers())
    if not is_topic_name(name) or name in INTERNAL:
        return f"{name!r} cannot be a topic of yours"
    if not name.startswith(prefix):
        return f"{name!r} does not begin with {prefix!r}, as the broker's {PREFIX.name} wants it"
    return None
