"""Offsets that were committed in transactions which are still open: they count once these are over.

Where two of them, or a transaction and a plain commit, are about one partition, what was written
later counts.
"""

from __future__ import annotations

from penstock.coordination.held import Held
from penstock.wire.stored.offset_commit import OffsetCommitKey, OffsetCommitValue

Place = tuple[str, int]
Pending = Held[Place, tuple[OffsetCommitKey, OffsetCommitValue]]
