"""What a consumer is told, checked at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
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
        return [_pattern(topics)]
    names = [topics] if isinstance(topics, str) else _all_of(topics)
    if not names or not all(names):
        raise Misconfigured("no topic is named: give a name, several, or a pattern")
    return [_anywhere(name) if name.startswith("^") else name for name in names]


def _all_of(topics: Any) -> list[str]:
    names = list(topics) if isinstance(topics, Iterable) else [topics]
    for name in names:
        if not isinstance(name, str):
            raise Misconfigured(
                f"topic {name!r} is no name: give names as text, or re.compile(...) by itself"
            )
    return names


def _pattern(given: re.Pattern[Any]) -> str:
    """Brokers are not sent flags, and without them it would be another pattern."""
    if not isinstance(given.pattern, str):
        raise Misconfigured(f"the pattern {given.pattern!r} is not of text: names of topics are")
    if given.flags & ~re.UNICODE:
        raise Misconfigured(
            f"{given!r} has flags, which brokers do not know: say it in the pattern itself, as in "
            "[Oo]rders"
        )
    return _anywhere(given.pattern)


def _anywhere(pattern: str) -> str:
    """What `search` would find, also where a name is to be matched as a whole, as by brokers in
    groups of the consumer protocol."""
    return f"^.*({pattern}).*$"


def is_named(topic: str, names: Sequence[str]) -> bool:
    """By one of these names, or patterns. What only brokers can read as a pattern names nothing."""
    for name in names:
        try:
            if name == topic or (name.startswith("^") and re.match(name, topic)):
                return True
        except re.error:
            continue
    return False


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
