"""Who leads a partition, and who counts as in sync with it, given who is alive.

A leader comes from those that are in sync, else from those that have all that is committed though
they are not in sync (KIP-966). Where neither lives the partition waits without a leader, unless the
topic would rather lose records than wait.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice

import msgspec

from penstock.config import TopicConfig
from penstock.metadata.changes import Commit
from penstock.metadata.claims import is_waited_for, proved
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image
from penstock.metadata.offers import NOBODY, asked, most, unheard
from penstock.metadata.reassignment import completed
from penstock.metadata.records import (
    CATALOG,
    TERM,
    CatalogRecord,
    PartitionRecord,
    TermRecord,
    broker_key,
    encode,
    partition_key,
)
from penstock.metadata.store import OPERATIONS_MAX, Check, Put

log = logging.getLogger(__name__)

Place = tuple[bytes, int]
"""A partition, by its topic's id and its index."""

PARTITIONS_A_COMMIT = OPERATIONS_MAX - 1
"""The controller's term is checked too."""
ISR_A_COMMIT = OPERATIONS_MAX // 2
JOINING_A_COMMIT = OPERATIONS_MAX - ISR_A_COMMIT - 1
"""Brokers whose registrations are checked too, as is the leader's own."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a topic's settings say."""

    min_isr: int
    unclean: bool
    """Whether any replica may lead where none is left that has all."""


def settled(
    record: PartitionRecord,
    up: Collection[int],
    rules: Rules,
    *,
    leader_is_new: bool = False,
) -> PartitionRecord:
    """What the record should be; the same one if it is right as it stands.

    `up` are the brokers that are alive and stay so. `leader_is_new`: the leader's process died, and
    another has taken its place before anybody noticed.
    """
    isr = tuple(broker for broker in record.isr if broker in up) or record.isr
    eligible = _eligible(record, isr, rules)
    leader = _leader(record, isr, up)
    if leader == NOBODY:
        isr, eligible, leader = _last_resort(record, isr, eligible, up, rules)
    has_new_term = leader != record.leader or leader_is_new
    if not has_new_term and (isr, eligible) == (record.isr, record.eligible):
        return record
    return msgspec.structs.replace(
        record,
        isr=isr,
        eligible=eligible,
        leader=leader,
        leader_epoch=record.leader_epoch + has_new_term,
        partition_epoch=record.partition_epoch + 1,
        offers=record.offers if leader == NOBODY else None,
    )


def _eligible(record: PartitionRecord, isr: tuple[int, ...], rules: Rules) -> tuple[int, ...]:
    if len(isr) >= rules.min_isr:
        return ()
    left = (*record.eligible, *record.isr)
    return tuple(broker for broker in record.replicas if broker in left and broker not in isr)


def _leader(record: PartitionRecord, isr: tuple[int, ...], up: Collection[int]) -> int:
    """The one that leads, as long as it can; else the first replica that is in sync and up."""
    if record.leader in isr and record.leader in up:
        return record.leader
    ready = [broker for broker in record.replicas if broker in isr and broker in up]
    return ready[0] if ready else NOBODY


def _last_resort(
    record: PartitionRecord,
    isr: tuple[int, ...],
    eligible: tuple[int, ...],
    up: Collection[int],
    rules: Rules,
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """In-sync replicas, eligible ones and leader, where nobody who is in sync is up."""
    ready = [broker for broker in record.replicas if broker in eligible and broker in up]
    if ready:
        alone = (ready[0],)
        return alone, _eligible(record, alone, rules), ready[0]
    ready = [broker for broker in record.replicas if broker in up]
    if ready and rules.unclean:
        chosen = most(record, ready)
        return (chosen,), (), chosen
    return isr, eligible, NOBODY


def settle_partitions(image: Image, places: Iterable[Place]) -> Commit[int]:
    """The controller's: as many of these as a commit takes; the answer is how many those were."""
    term = image.single(TermRecord)
    assert term is not None
    up = [node_id for node_id in image.brokers if node_id not in image.leaving]
    return rewrite(
        image, places, (TERM, term.revision), lambda topic, index: _settle(image, topic, index, up)
    )


def leaderless_first(image: Image, places: Iterable[Place]) -> list[Place]:
    """Where a broker has died, others wait for those that it led, and not for the rest."""
    return sorted(places, key=lambda place: _has_leader(image.partition(*place), image))


def _has_leader(record: PartitionRecord | None, image: Image) -> bool:
    return record is not None and record.leader in image.brokers


def _settle(image: Image, topic: Topic, index: int, up: Collection[int]) -> PartitionRecord | None:
    record = topic.partition(index)
    if record is None:
        return None
    config = image.settings.of_topic(topic)
    rules = _rules(config.min_insync_replicas, record, config.unclean_leader_election_enable)
    known = proved(record)
    found = proved(known, up) if rules.unclean and not is_waited_for(known, up) else known
    if found.claims is not None:
        return record
    found = _with_minimum(found, config)
    alive = _with_the_last(found, up, image)
    is_new = leader_is_new(image, topic, index, record)
    now = settled(found, alive, rules, leader_is_new=is_new)
    had_all = NOBODY, *found.isr, *found.eligible
    if now.leader not in had_all and unheard(found, alive, image):
        now = asked(settled(found, alive, replace(rules, unclean=False), leader_is_new=is_new))
    now = _closed(completed(now, up, rules.min_isr), is_to_be=is_to_be_closed(topic, index))
    if now.leader not in (NOBODY, *known.isr, *known.eligible):
        log.error(
            "broker %d leads %s-%d now, without having been in sync: records may be lost",
            now.leader,
            topic.name,
            index,
        )
    return now


def is_to_be_closed(topic: Topic, index: int) -> bool:
    """Whether nothing may be written to a partition, since its topic is about to lose some."""
    closing = topic.record.closing
    return closing is not None and closing.closed_ms > 0 and index in topic.closed_range


def _closed(record: PartitionRecord, *, is_to_be: bool) -> PartitionRecord:
    """It closes with a new term. So a leader that knows its term knows that nothing more comes."""
    if record.is_closed == is_to_be:
        return record
    return msgspec.structs.replace(
        record,
        is_closed=is_to_be,
        leader_epoch=record.leader_epoch + is_to_be,
        partition_epoch=record.partition_epoch + 1,
    )


def _rules(min_isr: int, record: PartitionRecord, unclean: bool) -> Rules:
    return Rules(min(min_isr, len(record.replicas)), unclean)


def _with_minimum(record: PartitionRecord, config: TopicConfig) -> PartitionRecord:
    """Who is eligible by another minimum is decided in the same step: nothing is committed by the
    new one before it, nor by the old one after it."""
    if record.min_isr == config.min_insync_replicas:
        return record
    return msgspec.structs.replace(
        record,
        min_isr=config.min_insync_replicas,
        partition_epoch=record.partition_epoch + 1,
    )


def _with_the_last(record: PartitionRecord, up: Collection[int], image: Image) -> Collection[int]:
    """A broker that is about to stop leads on where nobody can take over from it."""
    if any(broker in up for broker in (*record.isr, *record.eligible)):
        return up
    return image.brokers


def leader_is_new(image: Image, topic: Topic, index: int, record: PartitionRecord) -> bool:
    """Whether the leader crashed and was started again. It is to begin a new term first."""
    broker = image.brokers.get(record.leader)
    if broker is None or broker.record.clean:
        return False
    return topic.partition_revision(index) < broker.epoch


def leads_for_others(image: Image, node_id: int) -> bool:
    """Whether a broker that is about to stop leads anything that another could lead."""
    others = [each for each in image.brokers if each not in image.leaving and each != node_id]
    return any(
        record is not None
        and record.leader == node_id
        and any(broker in others for broker in (*record.isr, *record.eligible))
        for topic in image.topics.values()
        for record in topic.partitions
    )


def is_kept_by_others(image: Image, topic: Topic, index: int, node_id: int) -> bool:
    """Whether a broker is in sync with others that are up: then they can do without it."""
    record = topic.partition(index)
    if record is None or node_id not in (*record.isr, record.leader):
        return False
    return any(
        broker in image.brokers and broker not in image.leaving
        for broker in record.isr
        if broker != node_id
    )


def resign(image: Image, node_id: int, has_lost: Callable[[Topic, int], bool]) -> Commit[int]:
    """A broker's own: it is in sync no more where it has lost records.

    As many as a commit takes; the answer is how many those were.
    """
    places = [
        (topic.id, index)
        for topic in image.topics.values()
        for index, record in enumerate(topic.partitions)
        if record is not None and node_id in (*record.isr, *record.eligible, record.leader)
        if has_lost(topic, index)
    ]
    guard = image.registration(node_id)
    return rewrite(image, places, guard, lambda topic, index: _without(topic, index, node_id))


def _without(topic: Topic, index: int, node_id: int) -> PartitionRecord | None:
    record = topic.partition(index)
    if record is None:
        return None
    leads = record.leader == node_id
    return msgspec.structs.replace(
        record,
        isr=tuple(broker for broker in record.isr if broker != node_id),
        eligible=tuple(broker for broker in record.eligible if broker != node_id),
        leader=NOBODY if leads else record.leader,
        leader_epoch=record.leader_epoch + leads,
        partition_epoch=record.partition_epoch + 1,
    )


@dataclass(frozen=True, slots=True)
class WantedIsr:
    """In-sync replicas that a leader asks for."""

    leader_epoch: int
    isr: frozenset[int]
    is_repeated: bool = False
    """It was asked before, and nobody knows what became of it. So the record is written even if
    nothing in it changes: what may still be under way then comes to nothing."""
    joining: Mapping[int, int] | None = None
    """Those of them that were not in sync, with the registrations in which they have caught up:
    since then they may have been replaced, and have nothing (KIP-903)."""


def change_isr(
    image: Image, node_id: int, wanted: Mapping[Place, WantedIsr], *, broker_epoch: int
) -> Commit[int]:
    """A leader's, for terms that it still is the leader in. Only brokers that live are in sync."""
    joined: dict[int, Check] = {}

    def may_join(broker: int, asked: WantedIsr) -> bool:
        known = image.brokers.get(broker)
        if known is None or broker in image.leaving or len(joined) >= JOINING_A_COMMIT:
            return False
        if asked.joining is not None and asked.joining.get(broker) != known.epoch:
            return False
        joined[broker] = broker_key(broker), known.epoch
        return True

    def with_isr(topic: Topic, index: int) -> PartitionRecord | None:
        record, asked = topic.partition(index), wanted[topic.id, index]
        if record is None or (record.leader, record.leader_epoch) != (node_id, asked.leader_epoch):
            return None
        if record.is_closed:
            return None
        isr = tuple(
            broker
            for broker in record.replicas
            if broker in asked.isr and (broker in record.isr or may_join(broker, asked))
        )
        if record.isr == isr and not asked.is_repeated:
            return None
        least = record.min_isr or image.settings.of_topic(topic).min_insync_replicas
        rules = _rules(least, record, unclean=False)
        return msgspec.structs.replace(
            record,
            isr=isr,
            eligible=_eligible(record, isr, rules),
            partition_epoch=record.partition_epoch + 1,
        )

    places = list(islice(wanted, ISR_A_COMMIT))
    commit = rewrite(image, places, (broker_key(node_id), broker_epoch), with_isr)
    return replace(commit, checks=[*commit.checks, *joined.values()] if commit.puts else ())


def rewrite(
    image: Image,
    places: Iterable[Place],
    guard: Check | None,
    rewritten: Callable[[Topic, int], PartitionRecord | None],
) -> Commit[int]:
    """Records that are not as they should be, up to the most that a commit takes."""
    checks: list[Check] = [guard] if guard else []
    puts: list[Put] = []
    encoded: dict[PartitionRecord, bytes] = {}
    was_closed = False
    for topic_id, index in places:
        topic = image.topic_by_id(topic_id)
        before, now = (topic.partition(index), rewritten(topic, index)) if topic else (None, None)
        if topic is None or before is None or now is None or now is before:
            continue
        key = partition_key(topic_id, index)
        checks.append((key, topic.partition_revision(index)))
        if now not in encoded:  # partitions of one shape share their record
            encoded[now] = encode(now)
        puts.append((key, encoded[now]))
        was_closed |= before.is_closed
        if len(puts) == PARTITIONS_A_COMMIT:
            break
    count = len(puts)
    if was_closed:  # so that who is about to copy these records looks again
        puts.append((CATALOG, encode(CatalogRecord())))
    return Commit(answer=count, checks=checks if puts else (), puts=puts)
