"""The last offset of each key, within a bound of memory: what compaction decides by.

A key that is long is represented by a digest of 31 bytes, so that two keys are never taken for one
(248 bits), and a shorter one by itself. The lengths differ, so nobody can write a key that passes
for another one's digest.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from penstock.wire.records import Span

BYTES_A_KEY = 192
"""At worst, while the table grows: 90 for two tables, 64 for the key, 32 for the offset."""
SHORT_KEY_BYTES = 30
_DIGEST_BYTES = SHORT_KEY_BYTES + 1


class KeyMap:
    __slots__ = ("_latest", "_most_keys", "end")

    def __init__(self, limit_bytes: int) -> None:
        self._latest: dict[bytes, int] = {}
        self._most_keys = max(limit_bytes // BYTES_A_KEY, 1)
        self.end = 0
        """The map knows every record below this offset that was not compacted before."""

    def __len__(self) -> int:
        return len(self._latest)

    @property
    def is_full(self) -> bool:
        return len(self._latest) >= self._most_keys

    def note(self, found: Sequence[Span], base_offset: int) -> None:
        """The records of a batch, which comes after all that were noted before."""
        latest = self._latest
        for span in found:
            key = span.key
            if key is not None:
                latest[_short(key)] = base_offset + span.offset_delta

    def survivors(self, found: Sequence[Span], base_offset: int) -> list[Span]:
        """Those of a batch's records that no later record of the same key replaces.

        A record without a key is never one of them: nothing can be said to replace it, and a
        compacted topic would keep it for ever.
        """
        get = self._latest.get
        kept: list[Span] = []
        for span in found:
            key = span.key
            if key is not None:
                latest = get(_short(key))
                if latest is None or latest <= base_offset + span.offset_delta:
                    kept.append(span)
        return kept


def _short(key: bytes) -> bytes:
    if len(key) <= SHORT_KEY_BYTES:
        return key
    return blake2b(key, digest_size=_DIGEST_BYTES).digest()
