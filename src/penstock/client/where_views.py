"""Views for who wants a part of a topic and gives a predicate: found or made, and read as a topic.

All who want the same of a topic read the same view, by a name that both give. It goes when nobody
has read it for a week.
"""

from __future__ import annotations

import hashlib

from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError, refused
from penstock.errors import ErrorCode
from penstock.predicate.predicate import Predicate

OF, WHERE, IDLE = "view.of", "view.where", "view.idle.ms"
IDLE_MS = 7 * 24 * 3600 * 1000
NAME_MAX = 249
HASH_DIGITS = 12


def view_name(topic: str, predicate: Predicate) -> str:
    """Of a topic whose name leaves no room, a part; then the hash tells which topic it is."""
    suffix = f".where-{_hash(predicate.text)}"
    if len(topic) + len(suffix) <= NAME_MAX:
        return topic + suffix
    suffix = f".where-{_hash(f'{topic} {predicate.text}')}"
    return topic[: NAME_MAX - len(suffix)] + suffix


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]


def open_view(client: WireClient, topic: str, predicate: Predicate, idle_ms: int = IDLE_MS) -> str:
    """Its name, once it can be read. Raises ClientError where it cannot be made."""
    name = view_name(topic, predicate)
    wanted = {OF: topic, WHERE: predicate.text}
    if client.retry(lambda deadline: client.topic_if_any(name, deadline=deadline)) is None:
        _make(client, name, {**wanted, IDLE: str(idle_ms)})
    client.retry(lambda deadline: client.topic(name, deadline=deadline))
    _check(client, name, wanted)
    return name


def _make(client: WireClient, name: str, configs: dict[str, str]) -> None:
    """Or another has, in this moment."""
    try:
        admin.create_topic(client, name, configs=configs)
    except ClientError as error:
        if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise
    client.forget()


def _check(client: WireClient, name: str, wanted: dict[str, str]) -> None:
    """That it is the view that is meant, and no topic that happens to be called so."""
    found = admin.topic_configs(client, name)
    if any(word not in found or found[word].value != text for word, text in wanted.items()):
        raise refused(
            f"topic {name}",
            ErrorCode.TOPIC_ALREADY_EXISTS,
            f"it is no view of {wanted[OF]} where {wanted[WHERE]}: delete it, or rename it",
        )
