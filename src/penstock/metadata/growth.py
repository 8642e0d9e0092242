"""Topics whose number of replicas changes after they were made.

Internal topics get theirs as brokers join; and a topic's record says how many replicas it has, of
whatever it was given since.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from penstock.metadata.changes import Commit, rewrite_topic
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image
from penstock.metadata.placement import Replicas, open_racks, widened
from penstock.metadata.reassignment import before, begun, is_moving
from penstock.metadata.records import TERM, PartitionRecord, TermRecord, encode, partition_key
from penstock.metadata.store import OPERATIONS_MAX, Check

PARTITIONS_A_COMMIT = OPERATIONS_MAX - 1
"""The controller's term is checked too."""


def widen_topic(image: Image, name: str, wanted: int) -> Commit[int]:
    """The controller's: more replicas for partitions that have fewer than `wanted`, as far as there
    are brokers. The answer is for how many of them this begins."""
    topic = image.topic(name)
    if topic is None:
        return Commit(answer=0)
    checks: list[Check] = [_term_check(image)]
    puts = []
    for index, record, replicas in _too_narrow(image, topic, wanted):
        key = partition_key(topic.id, index)
        checks.append((key, topic.partition_revision(index)))
        puts.append((key, encode(begun(record, replicas, image.brokers))))
        if len(puts) == PARTITIONS_A_COMMIT:
            break
    return Commit(answer=len(puts), checks=checks if puts else (), puts=puts)


def _too_narrow(
    image: Image, topic: Topic, wanted: int
) -> Iterator[tuple[int, PartitionRecord, Replicas]]:
    racks, held = open_racks(image), Counter(image.replicas_held())
    firsts = Counter(
        record.replicas[0]
        for record in topic.partitions
        if record is not None and len(record.replicas) >= wanted
    )
    for index, record in enumerate(topic.partitions):
        if record is None or is_moving(record) or len(record.replicas) >= wanted:
            continue
        if record.claims is not None:  # who is added now would be waited for, and has nothing
            continue
        replicas = widened(record.replicas, wanted, racks, held)
        if replicas != record.replicas:
            held.update(replicas[len(record.replicas) :])
            yield index, record, _with_rarest_first(replicas, firsts)


def _with_rarest_first(replicas: Replicas, firsts: Counter[int]) -> Replicas:
    """Led by whoever leads least in the end: those that come later would never lead otherwise."""
    first = min(replicas, key=lambda broker: firsts[broker])
    firsts[first] += 1
    return first, *(broker for broker in replicas if broker != first)


def settle_factor(image: Image, topic_id: bytes) -> Commit[bool]:
    """The controller's: a topic has as many replicas as each of its partitions has at least.

    By that number goes what is in sync at least: it grows once all have theirs.
    """
    topic = image.topic_by_id(topic_id)
    factor = _factor(topic) if topic else 0
    if topic is None or factor in (0, topic.record.replication_factor):
        return Commit(answer=False)
    record = msgspec.structs.replace(topic.record, replication_factor=factor)
    term = _term_check(image)
    nonce = b"%d %d" % (term[1], topic.revision)
    commit = rewrite_topic(image, topic, record, nonce)
    return Commit(answer=True, checks=[*commit.checks, term], puts=commit.puts)


def _factor(topic: Topic) -> int:
    """What is still to come does not count; what is to go does until it is gone, or less would be
    asked for before those that stay have everything. 0 where not all is known."""
    shapes = {id(record): record for record in topic.partitions}.values()
    return min((len(before(record)) if record else 0 for record in shapes), default=0)


def _term_check(image: Image) -> Check:
    term = image.single(TermRecord)
    assert term is not None
    return TERM, term.revision
