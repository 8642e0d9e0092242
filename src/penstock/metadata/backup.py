"""What a backup keeps of the store's records, and what becomes of them when they are put back.

Kept is what the cluster is: its id and secret, members, topics, partitions, settings. What belongs
to processes that run is not: registrations and the controller's lease. Nor are partitions of topics
that are not there, or not yet.

The data folders may be newer than the backup. So epochs and producer ids begin above all that can
have been in use since, and who is in sync is found out anew (see `claims`).
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

EPOCH_MARGIN = 1_000_000
"""More elections than a partition sees between a backup and its return, and yet a small part of the
numbers that there are: an epoch has 31 bits."""
EPOCH_MAX = (1 << 31) - 1
PRODUCER_ID_MARGIN = 1_000_000_000
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


def restored(entries: Iterable[Entry]) -> list[Put]:
    """What is written back: the cluster's own record last, as without it there is no cluster."""
    listed = kept(entries)
    records = {key: record for key, record, _ in image_of(listed).held()}
    if not isinstance(records.get(CLUSTER), ClusterRecord):
        raise Unusable("the backup has no cluster in it")
    puts = [
        (entry.key, encode(_raised(records[entry.key])) if entry.key in records else entry.value)
        for entry in listed
    ]
    return sorted(puts, key=lambda put: put[0] == CLUSTER)


def _raised(record: Record) -> Record:
    raise_ = _RAISES.get(type(record))
    return raise_(record) if raise_ else record


def _partition(record: PartitionRecord) -> Record:
    return msgspec.structs.replace(
        record,
        leader=-1,
        isr=(),
        eligible=(),
        claims=(),
        offers=None,
        leader_epoch=_later(record.leader_epoch),
        partition_epoch=_later(record.partition_epoch),
    )


def _later(epoch: int) -> int:
    if epoch > EPOCH_MAX - EPOCH_MARGIN:
        raise Unusable("a partition has come to the end of its epochs; create its topic anew")
    return epoch + EPOCH_MARGIN


def _member(record: MemberRecord) -> Record:
    return msgspec.structs.replace(record, is_restored=True)


def _producer_ids(record: ProducerIdsRecord) -> Record:
    return msgspec.structs.replace(record, next_id=record.next_id + PRODUCER_ID_MARGIN)


def _count(record: FeaturesRecord | TermRecord) -> Record:
    return msgspec.structs.replace(record, epoch=_later(record.epoch))


_RAISES: dict[type[Record], Callable[[Any], Record]] = {
    PartitionRecord: _partition,
    MemberRecord: _member,
    ProducerIdsRecord: _producer_ids,
    FeaturesRecord: _count,
    TermRecord: _count,
}
