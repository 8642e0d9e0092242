"""What a consumer is told, checked at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from penstock.sdk.checks import check_callable, check_method, check_seconds, check_whole
from penstock.sdk.errors import Misconfigured
from penstock.sdk.membership import Hook
from penstock.sdk.semantics import DeliveryWord, ProtocolWord, Settings, TuneWord
from penstock.sdk.serializers import Deserializer
from penstock.sdk.starting import Start

Topics = str | Sequence[str] | re.Pattern[str]


class Options(TypedDict, total=False):
    """What a consumer may be told besides where, what and for whom."""

    delivery: DeliveryWord
    tune: TuneWord
    key_deserializer: Deserializer[Any]
    start: Start
    protocol: ProtocolWord
    deduplicate: int
    idle_timeout: float | None
    on_assign: Hook | None
    on_revoke: Hook | None
    on_lost: Hook | None
    timeout: float
    where: str | None
    settings: Settings | None


def topic_names(topics: Topics) -> list[str]:
    """As librdkafka takes them: a pattern begins with a circumflex."""
    if isinstance(topics, re.Pattern):
        return [topics.pattern if topics.pattern.startswith("^") else f"^.*({topics.pattern})"]
    names = [topics] if isinstance(topics, str) else list(topics)
    if not names or not all(names):
        raise Misconfigured("no topic is named: give a name, several, or a pattern")
    return names


def check_size(max_messages: int) -> None:
    check_whole("max_messages", max_messages, 1)


def check_options(
    deserializers: Mapping[str, Any],
    deduplicate: int,
    seconds: Mapping[str, float | None],
    hooks: Mapping[str, Hook | None],
) -> None:
    """By their names."""
    check_whole("deduplicate", deduplicate, 0)
    for word, deserializer in deserializers.items():
        check_method(word, deserializer, "deserialize")
    for word, given in seconds.items():
        if given is not None:
            check_seconds(word, given)
    for word, hook in hooks.items():
        check_callable(word, hook)
