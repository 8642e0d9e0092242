"""How a backup is put back into a store, in pieces, so that a half is never taken for the whole.

A marker is written first and goes with the last piece, which also brings the cluster's own record.
As long as the marker is there no broker founds a cluster, joins or registers; every piece checks
it. So a run that was cut short is done again from the beginning, and of two that meet one fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import aclosing, suppress
from typing import TypeVar

from penstock.errors import Unusable
from penstock.metadata.backup import image_of
from penstock.metadata.image import Image
from penstock.metadata.records import CLUSTER, RESTORING, RestoringRecord, encode
from penstock.metadata.store import (
    OPERATIONS_MAX,
    Check,
    Conflict,
    Put,
    Store,
    Unavailable,
    Unknown,
)

T = TypeVar("T")

TRIES_MAX = 20
RETRY_MS = 200
PIECE = OPERATIONS_MAX - 2
"""The last one also deletes the marker."""


class Restoring:
    def __init__(self, store: Store, nonce: bytes, timeout_ms: int, *, replace: bool) -> None:
        """The time is for brokers that were killed: their leases have to end first."""
        self._store = store
        self._marker = encode(RestoringRecord(nonce=nonce))
        self._timeout_ms = timeout_ms
        self._replace = replace

    async def look(self) -> Image:
        """What is in the store now. Unusable if that is not to be overwritten."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timeout_ms / 1000):
                await self._wait_until_free()
        entries, _ = await self._store.list("/")
        image = image_of(entries)
        _refuse_registered(image)
        if image.cluster_id and not self._replace:
            raise _occupied(f"there is a cluster in this store already, {image.cluster_id}")
        if entries and not image.cluster_id and image.single(RestoringRecord) is None:
            raise Unusable(
                f"the store is not empty, and there is no cluster in it, but {entries[0].key}: "
                "choose another file, prefix or chroot"
            )
        return image

    async def _wait_until_free(self) -> None:
        """Leases in SQLite end only while somebody watches."""
        while True:
            brokers, revision = await self._store.list("/brokers/")
            if not brokers:
                return
            async with aclosing(self._store.watch("/brokers/", revision)) as steps:
                async for _ in steps:
                    break

    async def run(self, puts: Sequence[Put]) -> None:
        guard = await self._begin()
        try:
            _refuse_registered(image_of((await self._store.list("/"))[0]))
        except Unusable:
            await self._commit([guard], [], [RESTORING])
            raise
        await self._clear(guard, {key for key, _ in puts})
        *first, (key, cluster) = puts
        assert key == CLUSTER
        for piece in _pieces(first):
            await self._commit([guard], piece)
        await self._finish(guard, cluster)

    async def _begin(self) -> Check:
        """Takes the store for this run, from one that was cut short too."""
        for _ in range(TRIES_MAX):
            marker, cluster = await self._store.get(RESTORING), await self._store.get(CLUSTER)
            if marker is not None and marker.value == self._marker:
                return RESTORING, marker.revision
            if cluster is not None and not self._replace:
                raise _occupied("a broker has begun a cluster in this store meanwhile")
            checks = [
                (RESTORING, marker.revision if marker else 0),
                (CLUSTER, cluster.revision if cluster else 0),
            ]
            try:
                return RESTORING, await self._store.commit(checks, [(RESTORING, self._marker)])
            except (Conflict, Unknown):
                await asyncio.sleep(RETRY_MS / 1000)
        raise Unavailable("the metadata store does not take the restore; try again")

    async def _clear(self, guard: Check, wanted: set[str]) -> None:
        """The cluster's own record first, and all that the backup has not."""
        entries, _ = await self._store.list("/")
        there = [entry.key for entry in entries]
        if CLUSTER in there:
            await self._commit([guard], [], [CLUSTER])
        extra = [key for key in there if key not in wanted and key != RESTORING]
        for keys in _pieces(extra):
            await self._commit([guard], [], keys)

    async def _finish(self, guard: Check, cluster: bytes) -> None:
        """Whether it was written shows by the marker, which goes with it."""
        for _ in range(TRIES_MAX):
            try:
                await self._store.commit([guard], [(CLUSTER, cluster)], [RESTORING])
            except Unknown:
                await asyncio.sleep(RETRY_MS / 1000)
                if await self._store.get(RESTORING) is None:
                    return
            except Conflict:
                raise _disturbed() from None
            else:
                return
        raise Unavailable("the metadata store does not say whether the restore was completed")

    async def _commit(
        self, checks: Sequence[Check], puts: Sequence[Put], deletes: Sequence[str] = ()
    ) -> None:
        """Whether it was written makes no difference if it is written again."""
        for _ in range(TRIES_MAX):
            try:
                await self._store.commit(checks, puts, deletes)
            except Conflict:
                raise _disturbed() from None
            except Unknown:
                await asyncio.sleep(RETRY_MS / 1000)
            else:
                return
        raise Unavailable("the metadata store does not say whether anything was written")


def _refuse_registered(image: Image) -> None:
    if image.brokers:
        raise Unusable(
            f"brokers are registered in this store: {', '.join(map(str, sorted(image.brokers)))}; "
            "stop them first (one that was killed is forgotten when its lease ends)"
        )


def _occupied(problem: str) -> Unusable:
    return Unusable(
        f"{problem}: restore into an empty one (another file, prefix or chroot), or overwrite it "
        "with --replace"
    )


def _disturbed() -> Unusable:
    return Unusable("another restore has taken over; let one of them run, and no other")


def _pieces(whole: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(whole), PIECE):
        yield whole[start : start + PIECE]
