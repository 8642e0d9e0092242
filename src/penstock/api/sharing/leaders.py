"""Where a member is to go instead, if it is wrong here."""

from __future__ import annotations

from typing import NamedTuple

from penstock.api.broker import Broker
from penstock.errors import ErrorCode, Refused
from penstock.sharing.sessions import Place

ELSEWHERE = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


class Endpoint(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None


class Led(NamedTuple):
    node_id: int = -1
    epoch: int = -1
    endpoint: Endpoint | None = None


def led_by(broker: Broker, place: Place, problem: Refused | None) -> Led:
    """Told only to who needs to know it."""
    if problem is None or problem.code not in ELSEWHERE:
        return Led()
    image, (shown_id, index) = broker.image, place
    topic = image.shown.topic(shown_id)
    record = image.partition(topic.id, index) if topic is not None else None
    if record is None:
        return Led()
    member = image.brokers.get(record.leader)
    if member is None:
        return Led(record.leader, record.leader_epoch)
    found = member.record
    endpoint = Endpoint(record.leader, found.host, found.port, found.rack or None)
    return Led(record.leader, record.leader_epoch, endpoint)
