"""Who has most of a partition that anyone may lead, where nobody is left that has all of it.

An unclean election loses records in any case, and as few as can be if those that are up say first
what they have. Nobody leads meanwhile, so that does not change; and if somebody comes back who has
all, that one leads.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from penstock.metadata.claims import NOTHING
from penstock.metadata.image import Image
from penstock.metadata.records import PartitionRecord

NOBODY = -1


def asked(record: PartitionRecord) -> PartitionRecord:
    """Its replicas are to say what they have."""
    if record.offers is not None:
        return record
    return msgspec.structs.replace(record, offers=(), partition_epoch=record.partition_epoch + 1)


def is_asked(image: Image, node_id: int, topic_id: bytes, index: int) -> bool:
    """Whether a broker is to say what it has of a partition, and has not since it registered."""
    record, known = image.partition(topic_id, index), image.brokers.get(node_id)
    if record is None or known is None or record.offers is None or record.leader != NOBODY:
        return False
    return node_id in record.replicas and (node_id, known.epoch) not in _heard(record)


def unheard(record: PartitionRecord, up: Collection[int], image: Image) -> list[int]:
    """Those that are up and yet to speak. Where there is one alone it need not."""
    ready = [broker for broker in record.replicas if broker in up]
    if len(ready) < 2:
        return []
    heard = _heard(record)
    return [broker for broker in ready if (broker, image.brokers[broker].epoch) not in heard]


def _heard(record: PartitionRecord) -> set[tuple[int, int]]:
    return {(each.node_id, each.registration) for each in record.offers or ()}


def most(record: PartitionRecord, ready: Sequence[int]) -> int:
    """Who has most of these; the first of them, if they are alike or did not say."""
    known = {each.node_id: (each.epoch, each.end) for each in record.offers or ()}
    return max(ready, key=lambda broker: known.get(broker, NOTHING))
