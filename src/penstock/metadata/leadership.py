"""Elections that somebody asks for, and leadership that goes back to where it belongs.

The first of a partition's replicas is its preferred leader. Others lead while it is away, and when
it is in sync again it gets its partitions back: by itself, after a while, or on request.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator

import msgspec

from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit, existing_topic
from penstock.metadata.claims import proved
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image
from penstock.metadata.offers import NOBODY, most
from penstock.metadata.records import (
    CATALOG,
    TERM,
    CatalogRecord,
    PartitionRecord,
    TermRecord,
    encode,
    partition_key,
)
from penstock.metadata.store import Check, Put

log = logging.getLogger(__name__)

Election = Callable[[Image, str, PartitionRecord], PartitionRecord]
RETURNED_A_COMMIT = 50
"""Leaderships that go back at once: every one makes its clients look for the leader anew."""


def elect(image: Image, name: str, index: int, election: Election, *, nonce: bytes) -> Commit[None]:
    """Carries out an election that was asked for; refused where there is nothing to elect."""
    topic = existing_topic(image, name)
    record = topic.partition(index)
    if record is None:
        raise Refused(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"{name} has {topic.record.partitions} partitions, so there is no {index}",
        )
    now = election(image, f"{name}-{index}", record)
    key = partition_key(topic.id, index)
    return Commit(
        None,
        checks=[(key, topic.partition_revision(index))],
        puts=[(CATALOG, encode(CatalogRecord(nonce=nonce))), (key, encode(now))],
    )


def preferred(image: Image, about: str, record: PartitionRecord) -> PartitionRecord:
    """Led by the first of its replicas, if that is in sync and up."""
    first = record.replicas[0]
    if record.leader == first:
        raise Refused(ErrorCode.ELECTION_NOT_NEEDED, f"broker {first} leads {about} already")
    if first not in record.isr or first not in _up(image):
        raise Refused(
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            f"broker {first} is down or not in sync, so it cannot lead {about}",
        )
    return _led_by(record, first, record.isr, record.eligible)


def unclean(image: Image, about: str, record: PartitionRecord) -> PartitionRecord:
    """Led by anyone who is up, those who have most first, where nobody leads it.

    What a leader has not that was not in sync is lost.
    """
    if record.leader in image.brokers:
        raise Refused(ErrorCode.ELECTION_NOT_NEEDED, f"broker {record.leader} leads {about}")
    up, is_guess = _up(image), record.claims is not None
    record = proved(record, up)
    for group in (record.isr, record.eligible, record.replicas):
        ready = [broker for broker in record.replicas if broker in group and broker in up]
        if ready:
            break
    else:
        raise Refused(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, f"no broker that has {about} is up")
    chosen = most(record, ready) if group is record.replicas else ready[0]
    if is_guess or group is record.replicas:
        log.error("broker %d is made the leader of %s: records may be lost", chosen, about)
    if group is record.isr:
        return _led_by(record, chosen, record.isr, record.eligible)
    return _led_by(record, chosen, (chosen,), ())


def _up(image: Image) -> Collection[int]:
    return [node_id for node_id in image.brokers if node_id not in image.leaving]


def _led_by(
    record: PartitionRecord, leader: int, isr: tuple[int, ...], eligible: tuple[int, ...]
) -> PartitionRecord:
    return msgspec.structs.replace(
        record,
        leader=leader,
        isr=isr,
        eligible=eligible,
        offers=None,
        leader_epoch=record.leader_epoch + 1,
        partition_epoch=record.partition_epoch + 1,
    )


def return_leadership(image: Image, percent: int) -> Commit[int]:
    """The controller's: some partitions go back to brokers that lack more than so many percent of
    what they should lead. The answer is how many."""
    term = image.single(TermRecord)
    assert term is not None
    checks: list[Check] = [(TERM, term.revision)]
    puts: list[Put] = []
    for topic, index, record in _led_by_others(image, _lacking(image, percent)):
        key = partition_key(topic.id, index)
        checks.append((key, topic.partition_revision(index)))
        now = _led_by(record, record.replicas[0], record.isr, record.eligible)
        puts.append((key, encode(now)))
        if len(puts) == RETURNED_A_COMMIT:
            break
    return Commit(answer=len(puts), checks=checks if puts else (), puts=puts)


def _lacking(image: Image, percent: int) -> set[int]:
    """Brokers that lead too few of the partitions that they are the first replica of."""
    due: Counter[int] = Counter()
    missing: Counter[int] = Counter()
    for _, _, record in _partitions(image):
        due[record.replicas[0]] += 1
        missing[record.replicas[0]] += record.leader != record.replicas[0]
    return {broker for broker, count in missing.items() if 100 * count > percent * due[broker]}


def _led_by_others(
    image: Image, brokers: Collection[int]
) -> Iterator[tuple[Topic, int, PartitionRecord]]:
    up = _up(image)
    for topic, index, record in _partitions(image):
        first = record.replicas[0]
        if record.leader in (first, NOBODY) or first not in brokers:
            continue
        if first in record.isr and first in up and first not in record.removing:
            yield topic, index, record


def _partitions(image: Image) -> Iterator[tuple[Topic, int, PartitionRecord]]:
    for topic in image.topics.values():
        for index, record in enumerate(topic.partitions):
            if record is not None:
                yield topic, index, record
