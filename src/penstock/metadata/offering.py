"""What a broker says of its partitions when one of those that are up is to lead, whoever it is."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.metadata.changes import Commit
from penstock.metadata.cluster import Topic
from penstock.metadata.election import Place, rewrite
from penstock.metadata.image import Image
from penstock.metadata.offers import is_asked
from penstock.metadata.records import Offer, PartitionRecord


def offer(image: Image, node_id: int, ends: Mapping[Place, tuple[int, int]]) -> Commit[int]:
    """A broker's own. `ends`: the epoch of the last record, and where the log ends."""
    known = image.brokers.get(node_id)

    def offered(topic: Topic, index: int) -> PartitionRecord | None:
        record = topic.partition(index)
        if record is None or known is None or not is_asked(image, node_id, topic.id, index):
            return None
        others = tuple(each for each in record.offers or () if each.node_id != node_id)
        own = Offer(node_id, known.epoch, *ends[topic.id, index])
        return msgspec.structs.replace(
            record, offers=(*others, own), partition_epoch=record.partition_epoch + 1
        )

    return rewrite(image, ends, image.registration(node_id), offered)
