"""The logs of a topic that was sealed: they are where its partitions were before."""

from __future__ import annotations

import logging

from penstock.log.log_dir import LogDir
from penstock.metadata.cluster import Topic

lines = logging.getLogger(__name__)


def take_over_logs(log_dir: LogDir, topic: Topic) -> None:
    """As far as this broker has them, and they are not in their new place yet."""
    sealed = topic.record.sealed
    if sealed is None:
        return
    for index in range(topic.record.partitions):
        old = sealed.name, sealed.first + index
        try:
            log_dir.take_over(old, (topic.name, index), topic.log_id(index))
        except OSError as problem:  # the next start tries again
            lines.error("%s-%d cannot become %s-%d: %s", *old, topic.name, index, problem)
