"""What is left in the store of topics that are not there: of a creation that was given up after its
partitions had been written ahead, or of a deletion that was cut short before they were gone."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice

from penstock.metadata.changes import Commit
from penstock.metadata.election import PARTITIONS_A_COMMIT
from penstock.metadata.image import Image
from penstock.metadata.records import TERM, TermRecord, deleted_key, partition_key

DELETED_MAX = 1000
"""Deleted topics that are remembered, for brokers that were away."""


def sweep(image: Image, topic_ids: Collection[bytes]) -> Commit[int]:
    """The controller's, for topics that have been missing for longer than a creation takes.

    As much as a commit takes; the answer is how much that was. Should such a topic be created after
    all, its author finds its partitions gone, and writes them again.
    """
    term = image.single(TermRecord)
    assert term is not None
    rows = (row for row in image.orphans() if row[0] in topic_ids)
    keys = [partition_key(*row) for row in islice(rows, PARTITIONS_A_COMMIT)]
    return Commit(answer=len(keys), checks=[(TERM, term.revision)] if keys else (), deletes=keys)


def forget_deleted(image: Image) -> Commit[int]:
    """The controller's: topics that were deleted before many others are forgotten for good.

    As many as a commit takes; the answer is how many those were.
    """
    term = image.single(TermRecord)
    assert term is not None
    surplus = min(len(image.deleted) - DELETED_MAX, PARTITIONS_A_COMMIT)
    if surplus <= 0:
        return Commit(answer=0)
    oldest = sorted(image.deleted, key=lambda topic_id: image.deleted[topic_id].revision)
    keys = [deleted_key(topic_id) for topic_id in oldest[:surplus]]
    return Commit(answer=surplus, checks=[(TERM, term.revision)], deletes=keys)
