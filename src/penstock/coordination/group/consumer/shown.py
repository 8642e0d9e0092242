"""Assignments as members see them: topics that have lost partitions are shown under other ids.

A group itself goes by the ids that stay the same. So a partition that a member has under the id of
before is not given to another, until the member has let go of it.
"""

from __future__ import annotations

from penstock.coordination.group.assignors import Assignment
from penstock.metadata.image import Image


def shown(image: Image, assignment: Assignment) -> Assignment:
    """To tell a member."""
    found = {}
    for topic_id, partitions in assignment.items():
        topic = image.readable.topic_by_id(topic_id)
        found[topic.shown_id if topic else topic_id] = partitions
    return found


def meant(image: Image, told: Assignment) -> Assignment:
    """What a member tells, by ids of now or of before."""
    found: dict[bytes, frozenset[int]] = {}
    for shown_id, partitions in told.items():
        topic = image.shown.topic_meant(shown_id)
        topic_id = topic.id if topic else shown_id
        found[topic_id] = found.get(topic_id, frozenset()) | partitions
    return found


def has_new_ids(image: Image, assignment: Assignment) -> bool:
    """Whether a member may know some of these topics by another id."""
    topics = (image.readable.topic_by_id(topic_id) for topic_id in assignment)
    return any(topic is not None and topic.record.shown_id for topic in topics)
