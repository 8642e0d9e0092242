"""Who has most of a partition, after the store was put back from a backup.

The backup says who was in sync when it was made. Since then others may have come to be, and records
may have been committed that a replica of then has not. So nobody leads before each replica has
said what it has: the last epoch that its log knows, and its end. By these, one of them has all that
was committed. Who knows an epoch has had all that was committed when it began, since leaders are
elected from those in sync only; and is as its leader was, as far as it goes, since each epoch has
one leader. So of those who know the last one, the longest has most. An epoch is known by its
records, or by a note where it has none yet: nothing becomes committed in it before all that are in
sync know it (see `replication.leader`).
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from penstock.metadata.records import PartitionRecord

NOTHING = (-1, 0)


def missing(record: PartitionRecord) -> list[int]:
    """Replicas that are yet to say what they have. Those that were being added too: since the
    backup was made they may have come to hold what nobody else has."""
    known = {each.node_id for each in record.claims or ()}
    return [broker for broker in record.replicas if broker not in known]


def is_waited_for(record: PartitionRecord, up: Collection[int]) -> bool:
    """Whether one that is up is yet to speak, also where nobody waits for those that are down: it
    may have most, and says so at its next start."""
    return record.claims is not None and any(broker in up for broker in missing(record))


def proved(record: PartitionRecord, among: Collection[int] | None = None) -> PartitionRecord:
    """In sync are those that have most; the same record as long as not all have spoken. The next
    leader's epoch is to be above all that they have seen: after a second restore of one backup, or
    by a clock that was set back, the store's may be lower.

    `among`: those alone are asked, whatever the others may have.
    """
    if record.claims is None or (among is None and missing(record)):
        return record
    known = {each.node_id: (each.epoch, each.end) for each in record.claims}
    asked = [each for each in record.replicas if among is None or each in among]
    if not asked:
        return record
    most = max(known.get(broker, NOTHING) for broker in asked)
    isr = tuple(broker for broker in asked if known.get(broker, NOTHING) == most)
    epoch = max(record.leader_epoch, *(each.epoch for each in record.claims), NOTHING[0])
    return msgspec.structs.replace(record, isr=isr, claims=None, leader_epoch=epoch)
