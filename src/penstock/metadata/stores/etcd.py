"""The store in etcd, through its JSON gateway; from version 3.4 on.

Revisions are etcd's own: they count all that is written to the cluster, also by others, so they
have gaps. A revision that this store names is one that a watch comes to, or has passed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from penstock.errors import ErrorCode, Refused, Unusable
from penstock.metadata.store import (
    OPERATIONS_MAX,
    Check,
    Conflict,
    Entry,
    Events,
    Put,
    Reset,
    Unavailable,
)
from penstock.metadata.stores import etcd_session
from penstock.metadata.stores.etcd_address import parse_url, tls_context
from penstock.metadata.stores.etcd_failures import Failed, NoAnswer, NotSent
from penstock.metadata.stores.etcd_messages import (
    RANGE,
    TXN,
    WATCH,
    Found,
    Json,
    Transacted,
    end_of,
    transaction,
    trial,
    watching,
)
from penstock.metadata.stores.etcd_session import EtcdSession
from penstock.metadata.stores.etcd_version import warn_if_old
from penstock.metadata.stores.etcd_watch import Steps, entry_of
from penstock.metadata.stores.monotonic import now_ms
from penstock.world.ports import Chance

if TYPE_CHECKING:
    from penstock.metadata.stores.etcd_gateway import Gateway

TIMEOUT_MS = 5000
PAGE_KEYS = 1000
LIST_TRIES_MAX = 5
RETRY_MS_MIN, RETRY_MS_MAX = 50, 2000


class EtcdStore:
    def __init__(self, gateway: Gateway, prefix: str, chance: Chance) -> None:
        self._gateway = gateway
        self._prefix = prefix
        self._prefix_length = len(prefix.encode())
        self._chance = chance
        self._sessions: set[EtcdSession] = set()

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        chance: Chance,
        timeout_ms: int = TIMEOUT_MS,
        user: str = "",
        password: str = "",
        ca_file: str = "",
        certificate_file: str = "",
        key_file: str = "",
    ) -> EtcdStore:
        """Over TLS if a file of authorities is given. Unusable if etcd cannot be used so."""
        address = parse_url(url)
        tls = tls_context(ca_file, certificate_file, key_file)
        gateway = _gateway()(tls, address, user, password, timeout_ms)
        store = cls(gateway, address.prefix, chance)
        try:
            await store._reach()
        except Unavailable as problem:
            await gateway.close()
            raise Unusable(
                f"no etcd can be used at {', '.join(address.endpoints)}: {problem}; check that it "
                "runs, the address, and whether it wants TLS"
            ) from problem
        except BaseException:
            await gateway.close()
            raise
        return store

    async def _reach(self) -> None:
        """It may have been started at the same time as we were, or be about to elect a leader."""
        deadline_ms = now_ms() + self._gateway.timeout_ms
        while True:
            try:
                await self._gateway.log_in()
                await self._gateway.ask(TXN, trial(self._prefix), Transacted)
                warn_if_old(await self._gateway.version())
                return
            except Unavailable:
                if now_ms() >= deadline_ms:
                    raise
            await asyncio.sleep(RETRY_MS_MIN / 1000)

    async def close(self) -> None:
        """Sessions still open end with their leases: a caller that goes for good closes them."""
        for session in tuple(self._sessions):
            await session.stop_renewing()
        await self._gateway.close()

    # Reading

    async def get(self, key: str) -> Entry | None:
        found = await self._gateway.ask(RANGE, {"key": self._key(key)}, Found)
        return entry_of(found.kvs[0], self._prefix_length) if found.kvs else None

    async def list(self, prefix: str) -> tuple[Sequence[Entry], int]:
        for _ in range(LIST_TRIES_MAX):
            with suppress(Failed):  # compacted away between two pages; a newer one can be read
                return await self._list(self._key(prefix))
        raise Unavailable(f"etcd is compacted faster than the keys under {prefix} can be read")

    async def _list(self, prefix: bytes) -> tuple[Sequence[Entry], int]:
        request: Json = {"key": prefix, "range_end": end_of(prefix), "limit": PAGE_KEYS}
        page = await self._gateway.ask(RANGE, request, Found)
        request["revision"] = revision = page.header.revision
        found = [*page.kvs]
        while page.more:
            request["key"] = page.kvs[-1].key + b"\0"
            page = await self._gateway.ask(RANGE, request, Found)
            found += page.kvs
        return [entry_of(each, self._prefix_length) for each in found], revision

    def _key(self, key: str) -> bytes:
        return (self._prefix + key).encode()

    # Committing

    async def commit(
        self,
        checks: Sequence[Check],
        puts: Sequence[Put],
        deletes: Sequence[str] = (),
        session: str | None = None,
    ) -> int:
        _refuse_too_many(len(checks), len(puts) + len(deletes))
        lease = 0 if session is None else int(session)
        request = transaction(checks, puts, deletes, lease, self._prefix)
        answer = await self._gateway.write(TXN, request, Transacted)
        if not answer.succeeded:
            raise await self._conflict(checks, answer)
        return answer.header.revision if answer.changed else await self._last_written()

    async def _conflict(self, checks: Sequence[Check], answer: Transacted) -> Conflict:
        found = answer.revisions
        key, expected, actual = next(
            (key, expected, actual)
            for (key, expected), actual in zip(checks, found, strict=True)
            if expected != actual
        )
        if not actual:
            actual = await self._gone(key, expected, answer.header.revision)
        return Conflict(key, actual)

    async def _gone(self, key: str, expected: int, revision: int) -> int:
        """When a key was deleted that is not there at a revision. etcd does not tell, but can be
        asked what was there at any revision between."""
        before = expected - 1
        while revision - before > 1:
            middle = (before + revision) // 2
            if await self._was_there(key, expected, middle):
                before = middle
            else:
                revision = middle
        return revision

    async def _was_there(self, key: str, expected: int, at: int) -> bool:
        request = {"key": self._key(key), "revision": at, "keys_only": True}
        try:
            found = await self._gateway.ask(RANGE, request, Found)
        except Failed:
            return False  # too long ago: who has not seen it by now is reset
        return bool(found.kvs) and found.kvs[0].mod_revision == expected

    async def _last_written(self) -> int:
        """Of our own keys. etcd's revision may be of a write by others, which no watch brings."""
        prefix = self._key("/")
        request = {
            "key": prefix,
            "range_end": end_of(prefix),
            "sort_order": "DESCEND",
            "sort_target": "MOD",
            "limit": 1,
            "keys_only": True,
        }
        found = await self._gateway.ask(RANGE, request, Found)
        return found.kvs[0].mod_revision if found.kvs else 0

    # Watching

    async def watch(self, prefix: str, after: int) -> AsyncGenerator[Events | Reset, None]:
        """Goes on over outages for as long as the store is open."""
        steps = Steps(self._prefix, after, self._gateway.check_cluster)
        failures = 0
        logged_in = False
        while True:
            request = watching(self._key(prefix), steps.after)
            try:
                async with self._gateway.stream(WATCH, request) as parts:
                    async for part in parts:
                        for step in steps.feed(part):
                            failures, logged_in = 0, False
                            yield step
                            if isinstance(step, Reset):
                                return
            except (NotSent, NoAnswer):
                failures += 1
            except Failed as failure:
                failures += 1
                logged_in = failure.denied and await self._log_in_for(failure, logged_in)
            steps.begin_again()
            await asyncio.sleep(self._pause_s(failures))

    async def _log_in_for(self, failure: Failed, logged_in: bool) -> bool:
        """If the watch was refused although we had just logged in, it will always be."""
        if logged_in:
            raise Unusable(f"etcd refuses to watch the keys under {self._prefix}: {failure}")
        try:
            await self._gateway.log_in()
        except Unavailable:
            return False
        return True

    def _pause_s(self, failures: int) -> float:
        longest_ms = min(RETRY_MS_MIN << min(failures, 10), RETRY_MS_MAX)
        return (longest_ms // 2 + self._chance.below(longest_ms // 2)) / 1000

    # Sessions

    async def session(self, ttl_ms: int) -> EtcdSession:
        session = await etcd_session.begin(self._gateway, ttl_ms, self._sessions.discard)
        self._sessions.add(session)
        return session


def _gateway() -> type[Gateway]:
    """Imported only now: who keeps metadata elsewhere need not have aiohttp."""
    try:
        from penstock.metadata.stores.etcd_gateway import Gateway  # noqa: PLC0415
    except ModuleNotFoundError as problem:
        raise Unusable(
            f"a store in etcd needs {problem.name}: pip install penstock[etcd]"
        ) from problem
    return Gateway


def _refuse_too_many(checks: int, changes: int) -> None:
    if max(checks, changes) > OPERATIONS_MAX:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"a change of metadata has {checks} checks and {changes} writes, of each at most "
            f"{OPERATIONS_MAX} are possible; change less at a time",
        )
