"""What is left in the store of topics that are not there: of a creation that was given up after its
partitions had been written ahead, or of a deletion that was cut short before they were gone."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice

from penstock.metadata.changes import Commit
from penstock.metadata.election import PARTITIONS_A_COMMIT
from penstock.metadata.image import Image
from penstock.metadata.records import TERM, TermRecord, partition_key


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
