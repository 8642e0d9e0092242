"""By what name an archive and brokers know each other."""

from __future__ import annotations


def archive_group(topic: str) -> str:
    """The consumer group whose offsets say how far a topic is archived."""
    return f"penstock-archive-{topic}"
