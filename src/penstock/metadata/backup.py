"""What a backup keeps of the store's records, and what becomes of them when they are put back.

Kept is what the cluster is: its id and secret, members, topics, partitions, settings. What belongs
to processes that run is not: registrations and the controller's lease. Nor are partitions of topics
that are not there, or not yet.

The data folders may be newer than the backup. So epochs and producer ids begin above all that can
have been in use since, and who is in sync is found out anew (see `claims`).

A backup may be put back more than once, and each time there are records and producers of the life
before. So where the numbers begin depends on the restore too: on its time, and for producer ids on
chance as well, as clocks may be set back. Epochs have too few bits for that; instead a new leader's
is above all that the replicas have seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from penstock.errors import Unusable
from penstock.metadata.image import Image
from penstock.metadata.records import (
    CLUSTER,
    CONTROLLER,
    PRODUCER_IDS,
    RESTORING,
    ClusterRecord,
    FeaturesRecord,
    MemberRecord,
    PartitionRecord,
    ProducerIdsRecord,
    Record,
    TermRecord,
    encode,
)
from penstock.metadata.store import Entry, Put
from penstock.world.ports import Chance

FIRST_MS = 1_735_689_600_000
"""The beginning of 2025: from then on seconds are counted."""
SECONDS_MAX = 1 << 30
"""A clock that is ahead by decades must not use up the epochs."""
EPOCH_MARGIN = 1_000_000
"""More elections than a partition sees between a backup and its return, and yet a small part of the
numbers that there are: an epoch has 31 bits."""
EPOCH_MAX = (1 << 31) - 1
PRODUCER_ID_MARGIN = 1_000_000_000
PRODUCER_IDS_A_SECOND = 1 << 31
"""More than a cluster hands out between two restores, so that chance can keep them apart."""
_PASSING = ("/brokers/", "/leaving/")


def kept(entries: Iterable[Entry]) -> list[Entry]:
    """What goes into a backup. Keys of a later release are kept as they are."""
    listed = list(entries)
    orphans = set(_orphans(listed))
    return [
        entry
        for entry in listed
        if entry.session is None
        and entry.key not in (CONTROLLER, RESTORING)
        and not entry.key.startswith(_PASSING)
        and entry.key not in orphans
    ]


def image_of(entries: Iterable[Entry]) -> Image:
    """Raises Unusable where a record cannot be read, or is a later release's."""
    image = Image()
    image.load(entries, 0)
    return image


def _orphans(entries: list[Entry]) -> Iterator[str]:
    """Partitions that no topic has."""
    topics = {topic.id.hex(): topic for topic in image_of(entries).topics.values()}
    for entry in entries:
        if entry.key.startswith("/partitions/"):
            _, _, topic_id, index = entry.key.split("/")
            if topic_id not in topics or int(index) >= topics[topic_id].record.partitions:
                yield entry.key


def summary(image: Image) -> dict[str, Any]:
    """What there is in a store or a backup, for who has to decide on it."""
    return {
        "cluster_id": image.cluster_id,
        "topics": len(image.topics),
        "partitions": sum(topic.record.partitions for topic in image.topics.values()),
        "brokers": sorted(each for each, held in image.members.items() if not held.record.is_gone),
    }


def restored(entries: Iterable[Entry], now_ms: int, chance: Chance) -> list[Put]:
    """What is written back: the cluster's own record last, as without it there is no cluster."""
    listed = kept(entries)
    records = {key: record for key, record, _ in image_of(listed).held()}
    if not isinstance(records.get(CLUSTER), ClusterRecord):
        raise Unusable("the backup has no cluster in it")
    beginning = _Beginning(now_ms)
    puts = [
        (entry.key, encode(beginning.of(records[entry.key])))
        if entry.key in records
        else (entry.key, entry.value)
        for entry in listed
        if entry.key != PRODUCER_IDS
    ]
    ids = records.get(PRODUCER_IDS, ProducerIdsRecord(next_id=0))
    assert isinstance(ids, ProducerIdsRecord)
    puts.append((PRODUCER_IDS, encode(beginning.producer_ids(ids, chance))))
    return sorted(puts, key=lambda put: put[0] == CLUSTER)


class _Beginning:
    """Where numbers begin after a restore."""

    def __init__(self, now_ms: int) -> None:
        self._seconds = min(max((now_ms - FIRST_MS) // 1000, 0), SECONDS_MAX)

    def of(self, record: Record) -> Record:
        raised = _RAISES.get(type(record))
        return raised(record, self.epoch) if raised else record

    def epoch(self, before: int) -> int:
        if before > EPOCH_MAX - EPOCH_MARGIN:
            raise Unusable("a partition has come to the end of its epochs; create its topic anew")
        return max(before + EPOCH_MARGIN, self._seconds)

    def producer_ids(self, record: ProducerIdsRecord, chance: Chance) -> ProducerIdsRecord:
        """Some may have been handed out even if the backup knows of none."""
        least = record.next_id + PRODUCER_ID_MARGIN
        first = max(least, self._seconds * PRODUCER_IDS_A_SECOND)
        next_id = first + chance.below(PRODUCER_IDS_A_SECOND)
        return msgspec.structs.replace(record, next_id=next_id)


Later = Callable[[int], int]


def _partition(record: PartitionRecord, later: Later) -> Record:
    return msgspec.structs.replace(
        record,
        leader=-1,
        isr=(),
        eligible=(),
        claims=(),
        offers=None,
        leader_epoch=later(record.leader_epoch),
        partition_epoch=later(record.partition_epoch),
    )


def _member(record: MemberRecord, _: Later) -> Record:
    return msgspec.structs.replace(record, is_restored=True)


def _count(record: FeaturesRecord | TermRecord, later: Later) -> Record:
    return msgspec.structs.replace(record, epoch=later(record.epoch))


_RAISES: dict[type[Record], Callable[[Any, Later], Record]] = {
    PartitionRecord: _partition,
    MemberRecord: _member,
    FeaturesRecord: _count,
    TermRecord: _count,
}
