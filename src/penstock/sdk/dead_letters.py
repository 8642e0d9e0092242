"""Messages that nobody could process, in a topic of their own, with what is known about them.

The names are those of KIP-1191, so that whoever reads Kafka's dead letters can read these.
"""

from __future__ import annotations

from typing import Any

TOPIC = "__dlq.errors.topic"
PARTITION = "__dlq.errors.partition"
OFFSET = "__dlq.errors.offset"
GROUP = "__dlq.errors.group"
ATTEMPTS = "__dlq.errors.delivery.count"
CAUSE = "__dlq.errors.message"
NAMES = (TOPIC, PARTITION, OFFSET, GROUP, ATTEMPTS, CAUSE)
CAUSE_CHARACTERS_MAX = 1000


def headers_for(
    raw: Any, group: str, attempts: int, error: BaseException
) -> list[tuple[str, bytes | None]]:
    """The message's own, then where it came from and why it is here. Those of an earlier stay in
    a dead-letter topic are replaced."""
    cause = f"{type(error).__name__}: {error}"[:CAUSE_CHARACTERS_MAX]
    told = (raw.topic(), raw.partition(), raw.offset(), group, attempts, cause)
    own = [each for each in raw.headers() or () if each[0] not in NAMES]
    return own + [(name, str(value).encode()) for name, value in zip(NAMES, told, strict=True)]
