"""What a broker can say that it has of a partition, to be compared with what others have."""

from __future__ import annotations

import logging

from penstock.errors import Refused, Unusable
from penstock.log.log_dir import LogDir
from penstock.metadata.claims import NOTHING
from penstock.metadata.image import Image

log = logging.getLogger(__name__)


def known_end(log_dir: LogDir, image: Image, topic_id: bytes, index: int) -> tuple[int, int]:
    """The last epoch that the log knows, and where it ends."""
    topic = image.topic_by_id(topic_id)
    key = topic.name if topic else "", index
    found = log_dir.logs.get(key)
    if found is None or key in log_dir.unrecoverable:
        return NOTHING
    try:
        return found.latest_epoch, found.end_offset
    except (OSError, Refused, Unusable) as problem:
        log.error("%s cannot be read: %s", found.folder, problem)
        return NOTHING
