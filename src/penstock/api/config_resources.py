"""What settings can belong to, as requests name it: a type and a name."""

from __future__ import annotations

from enum import IntEnum

from penstock.api.broker import Broker
from penstock.errors import ErrorCode, Refused


class ResourceType(IntEnum):
    """Those that Kafka has; settings of topics, brokers and groups are what we have."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


def broker_named(broker: Broker, name: str) -> int | None:
    """The number of a broker of the cluster, alive or not; or None for what holds for all: they are
    called ""."""
    if not name:
        return None
    image = broker.image
    known = {
        *image.brokers,
        *(each for each, held in image.members.items() if not held.record.is_gone),
    }
    if name not in map(str, known):
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"this is broker {broker.node_id}, and knows no broker {name[:100]!r}: give a number "
            "that `penstock broker list` shows, or an empty name for what holds for all brokers",
        )
    return int(name)


def without_settings(resource_type: int) -> Refused:
    known = {item.value: item.name for item in ResourceType}
    return Refused(
        ErrorCode.INVALID_REQUEST,
        f"resources of type {known.get(resource_type, resource_type)} have no settings here; "
        "topics, brokers and groups do",
    )
