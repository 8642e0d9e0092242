"""What a share is called: its group, its topic and its partition, as FindCoordinator names it."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple

from penstock.errors import ErrorCode, Refused

_ID_CHARS = 22
_INDEX_MAX = (1 << 31) - 1
_INDEX_DIGITS = 10
BESIDE_GROUP_CHARS_MAX = _ID_CHARS + _INDEX_DIGITS + 2
"""Of a name: what is not the group's, which may be as long as that of any group."""


class ShareKey(NamedTuple):
    group: str
    topic_id: bytes
    partition: int

    @property
    def name(self) -> str:
        topic_id = urlsafe_b64encode(self.topic_id).rstrip(b"=").decode()
        return f"{self.group}:{topic_id}:{self.partition}"


def read_name(name: str) -> ShareKey:
    """A group may have colons in its name. Raises Refused."""
    group, _, rest = name.rpartition(":")
    group, _, topic_id = group.rpartition(":")
    key = ShareKey(group, _read_id(topic_id), _read_index(rest))
    if not group or key.partition < 0 or key.name != name:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"{name[:300]!r} names no share: give GROUP:TOPIC_ID:PARTITION, the id in URL-safe "
            "base64 without padding",
        )
    return key


def _read_id(text: str) -> bytes:
    """Of something else, none: or one that has another text."""
    if len(text) != _ID_CHARS or not text.isascii():
        return b""
    try:
        return urlsafe_b64decode(text + "==")
    except ValueError:
        return b""


def _read_index(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _INDEX_DIGITS):
        return -1
    return min(int(text), _INDEX_MAX)
