"""What a broker says of its partitions at its first start after the store was put back."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from penstock.metadata.changes import Commit
from penstock.metadata.cluster import Topic
from penstock.metadata.election import Place, rewrite
from penstock.metadata.image import Image
from penstock.metadata.records import Claim, PartitionRecord


def unclaimed(image: Image, node_id: int) -> list[Place]:
    """Partitions of which a broker is to say what it has."""
    return [
        (topic.id, index)
        for topic in image.topics.values()
        for index, record in enumerate(topic.partitions)
        if record is not None and record.claims is not None and node_id in record.replicas
    ]


def claim(image: Image, node_id: int, ends: Callable[[Topic, int], tuple[int, int]]) -> Commit[int]:
    """A broker's own, before it registers. `ends`: the last epoch that is known, and the end.

    As many as a commit takes; the answer is how many those were.
    """

    def claimed(topic: Topic, index: int) -> PartitionRecord | None:
        record = topic.partition(index)
        if record is None or record.claims is None:
            return None
        own = Claim(node_id, *ends(topic, index))
        if own in record.claims:
            return None
        others = tuple(each for each in record.claims if each.node_id != node_id)
        return msgspec.structs.replace(
            record, claims=(*others, own), partition_epoch=record.partition_epoch + 1
        )

    return rewrite(image, unclaimed(image, node_id), image.registration(node_id), claimed)
