"""What the simulated metadata store holds: keys, revisions and leases. Synchronous, never failing.

It forgets deleted keys at some point, as real stores do, so that watches from before must begin
anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.metadata.store import Check, Conflict, Entry, Event, Events, Put, SessionLost


@dataclass(slots=True)
class Lease:
    ttl_s: float
    ends_s: float


class StoreState:
    def __init__(self) -> None:
        self.revision = 0
        self._entries: dict[str, Entry] = {}
        self._deleted: dict[str, int] = {}
        """Keys that are gone, and since which revision."""
        self._forgotten = 0
        """Keys that went up to this revision are known no more."""
        self._leases: dict[str, Lease] = {}
        self._lease_count = 0

    # Reading

    def get(self, key: str) -> Entry | None:
        return self._entries.get(key)

    def list(self, prefix: str) -> tuple[Sequence[Entry], int]:
        keys = sorted(key for key in self._entries if key.startswith(prefix))
        return [self._entries[key] for key in keys], self.revision

    def changes(self, prefix: str, after: int) -> Events | None:
        """None: what went since then is no longer known."""
        if after < self._forgotten:
            return None
        events = [
            Event(key, entry, entry.revision)
            for key, entry in self._entries.items()
            if entry.revision > after and key.startswith(prefix)
        ]
        events += [
            Event(key, None, revision)
            for key, revision in self._deleted.items()
            if revision > after and key.startswith(prefix)
        ]
        events.sort(key=lambda event: (event.revision, event.key))
        return Events(self.revision, tuple(events))

    # Writing

    def commit(
        self,
        checks: Sequence[Check],
        puts: Sequence[Put],
        deletes: Sequence[str],
        session: str | None,
    ) -> int:
        for key, expected in checks:
            entry = self._entries.get(key)
            if (entry.revision if entry else 0) != expected:
                raise Conflict(key, self.revision)
        if session is not None and session not in self._leases:
            raise SessionLost(f"session {session} has ended")
        gone = [key for key in dict.fromkeys(deletes) if key in self._entries]
        if not puts and not gone:
            return self.revision
        self.revision += 1
        for key, value in puts:
            self._entries[key] = Entry(key, value, self.revision, session)
            self._deleted.pop(key, None)
        self._bury(gone)
        return self.revision

    def _bury(self, keys: Sequence[str]) -> None:
        for key in keys:
            if self._entries.pop(key, None) is not None:
                self._deleted[key] = self.revision

    def forget_deleted(self) -> None:
        self._forgotten = self.revision
        self._deleted.clear()

    # Leases

    def begin_lease(self, ttl_s: float, now_s: float) -> str:
        self._lease_count += 1
        name = str(self._lease_count)
        self._leases[name] = Lease(ttl_s, now_s + ttl_s)
        return name

    def renew_lease(self, name: str, now_s: float) -> bool:
        lease = self._leases.get(name)
        if lease is None:
            return False
        lease.ends_s = now_s + lease.ttl_s
        return True

    def end_lease(self, name: str) -> None:
        if self._leases.pop(name, None) is not None:
            bound = [key for key, entry in self._entries.items() if entry.session == name]
            if bound:
                self.revision += 1
                self._bury(bound)

    def spare_leases(self, now_s: float) -> None:
        """The store was away: nobody could renew, so all get their time again."""
        for lease in self._leases.values():
            lease.ends_s = now_s + lease.ttl_s

    def end_overdue(self, now_s: float) -> None:
        for name in [name for name, lease in self._leases.items() if lease.ends_s < now_s]:
            self.end_lease(name)
