"""What the store's thread looks for between calls: commits of other processes, ended leases."""

from __future__ import annotations

from collections.abc import Callable

from penstock.errors import Unusable
from penstock.metadata.store import Unavailable, Unknown
from penstock.metadata.stores.monotonic import now_ms
from penstock.metadata.stores.sqlite_file import SqliteFile

LOOK_MS, LOOK_ALONE_MS = 10, 250
EXPIRY_CHECK_MS = 500


class Lookout:
    """Called by the thread; `file`, `watchers` and `leases` are set by the loop."""

    def __init__(self, moved: Callable[[], None]) -> None:
        self.file: SqliteFile | None = None
        self.watchers = 0
        self.leases = 0
        self._moved = moved
        self._seen = -1
        self._others = False
        self._expiry_check_ms = 0.0

    def __call__(self) -> float | None:
        """Looks, and says in how many seconds to look again."""
        if self.file is None or not (self.watchers or self.leases):
            return None
        try:
            self._look(self.file)
        except (Unavailable, Unknown, Unusable):
            self._moved()  # so that who watches looks, and meets the problem
            return LOOK_ALONE_MS / 1000
        often = self.watchers and self._others
        return (LOOK_MS if often else LOOK_ALONE_MS) / 1000

    def _look(self, file: SqliteFile) -> None:
        writes = file.foreign_writes()
        if now_ms() >= self._expiry_check_ms and self._end_expired(file):
            writes = -1
        if writes != self._seen:
            self._seen = writes
            self._others = file.others()
            self._moved()

    def _end_expired(self, file: SqliteFile) -> bool:
        """Until the next look there is time to renew: waiting for the lock is no part of that."""
        try:
            return file.end_expired()
        finally:
            self._expiry_check_ms = now_ms() + EXPIRY_CHECK_MS
