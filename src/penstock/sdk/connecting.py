"""From what was asked for to a client of librdkafka's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from penstock.sdk import semantics
from penstock.sdk.checks import check_addresses, check_settings, check_text
from penstock.sdk.errors import Misconfigured, TopicNotFound
from penstock.sdk.semantics import Delivery, Protocol, Settings, Tune, chosen, merged
from penstock.sdk.starting import Start, reset_word
from penstock.sdk.translation import told, translated

FIRST_CONTACT_S_MAX = 10.0
_MISSING = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)


def producer_settings(
    bootstrap: str, delivery: Delivery, tune: str, transactional_id: str | None, given: Settings
) -> dict[str, Any]:
    check_addresses(bootstrap)
    check_settings(given)
    if transactional_id is not None:
        check_text("transactional_id", transactional_id)
    tuned = semantics.PRODUCER_TUNE[chosen(Tune, "tune", tune)]
    promise = f'delivery="{delivery}"'
    if (delivery is Delivery.EXACTLY_ONCE) != bool(transactional_id):
        need = "needs" if delivery is Delivery.EXACTLY_ONCE else "has no use for"
        raise Misconfigured(f"{promise} {need} transactional_id=: a name that this producer keeps")
    changeable = (*semantics.ALWAYS_PRODUCER, *semantics.PATIENCE[delivery], *tuned)
    made = merged(promise, semantics.PRODUCER[delivery], changeable, given)
    made["bootstrap.servers"] = bootstrap
    if transactional_id:
        made["transactional.id"] = transactional_id
    return made


def consumer_settings(
    bootstrap: str,
    group: str,
    delivery: Delivery,
    tune: Tune,
    protocol: Protocol,
    start: Start,
    given: Settings,
) -> dict[str, Any]:
    check_addresses(bootstrap)
    check_settings(given)
    if not group:
        raise Misconfigured("group= is empty: give the name under which offsets are kept")
    check_text("group", group)
    changeable = (*semantics.ALWAYS_CONSUMER, *semantics.CONSUMER_TUNE[tune])
    made = merged(f'delivery="{delivery}"', semantics.CONSUMER[delivery], changeable, given)
    made |= {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "group.protocol": str(protocol),
        "auto.offset.reset": reset_word(start),
    }
    if protocol is Protocol.CLASSIC:
        made.setdefault("partition.assignment.strategy", "cooperative-sticky")
    return made


def created(kind: Callable[[dict[str, Any]], Any], settings: dict[str, Any]) -> Any:
    """librdkafka checks all settings then."""
    try:
        return kind(settings)
    except (KafkaException, ValueError, TypeError) as failure:
        error = failure.args[0]
        words = error.str() if isinstance(error, KafkaError) else str(error)
        raise Misconfigured(f"{words}; look at settings=") from None


def reach(rdkafka: Any, bootstrap: str, topic: str | None, timeout_s: float) -> int:
    """The first contact: that a broker answers, and has the topic; how many partitions that has.

    A producer's question makes the broker create a topic, where it is set to.
    """
    try:
        answer = rdkafka.list_topics(topic, timeout=min(timeout_s, FIRST_CONTACT_S_MAX))
    except KafkaException as failure:
        raise translated(f"no broker has answered at {bootstrap}", failure) from None
    if topic is None:
        return 0
    found = answer.topics[topic]
    if found.error is None or found.error.code() == KafkaError.LEADER_NOT_AVAILABLE:
        return len(found.partitions)
    if found.error.code() in _MISSING:
        raise TopicNotFound(told(f"topic {topic}", found.error), found.error.name())
    raise translated(f"topic {topic}", found.error)
