"""Holds the store and the image together: what one broker sees of the cluster, and how it asks for
changes.

The image moves only by what the watch brings, our own changes included, so it goes through the same
states on every broker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import TypeVar

from penstock.errors import ErrorCode, Refused
from penstock.metadata.changes import Commit
from penstock.metadata.cluster import Changed
from penstock.metadata.cluster_changes import found_cluster
from penstock.metadata.image import Image
from penstock.metadata.store import (
    OPERATIONS_MAX,
    Check,
    Conflict,
    NoRoom,
    Put,
    Reset,
    Store,
    Unavailable,
    Unknown,
)

T = TypeVar("T")

TRIES_MAX = 20
RETRY_MS = 200
"""After the store did not answer."""
AHEAD_MS_MAX = 30_000
"""For what is written ahead of a commit: left alone for twice as long it is taken for abandoned."""


class Keeper:
    """`on_change` is called on the loop, after the image has moved; it must not raise."""

    def __init__(
        self, store: Store, image: Image, on_change: Callable[[Changed], None] | None = None
    ) -> None:
        self.store = store
        self.image = image
        self.on_change = on_change or (lambda changed: None)
        self.make_room: Callable[[], bool] = lambda: False
        """Frees some of a full disk, for a change that will free more; False if it cannot."""
        self._turn = asyncio.Lock()
        self._moved = asyncio.Event()
        self._following: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None

    async def start(
        self, cluster_id: str, secret: bytes, configs: Mapping[str, str] | None = None
    ) -> None:
        """Loads the image and follows the store. Id, secret and settings that all brokers share are
        for a cluster that is founded by this."""
        await self._load()
        self._following = asyncio.create_task(self._follow(), name="metadata watch")
        await self.change(lambda image: found_cluster(image, cluster_id, secret, configs))

    async def close(self) -> None:
        """Stops following. The store is the caller's to close."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])
        self._fail(Unavailable("this broker is stopping"))

    async def wait_failed(self) -> BaseException:
        """What made it impossible to go on following the store, once something has."""
        while self._failure is None:
            await self._moved.wait()
        return self._failure

    async def change(self, decide: Callable[[Image], Commit[T]]) -> T:
        """The answer of the commit that was decided on, once our own image holds it.

        Changes of one broker go one after the other. `decide` runs again whenever another broker
        was faster, so it must look at nothing but the image. Raises what `decide` does, Refused
        when the store does not answer, SessionLost where the commit names one that has ended.
        """
        try:
            async with self._turn:
                return await self._change(decide)
        except Unavailable as problem:
            raise Refused(ErrorCode.REQUEST_TIMED_OUT, str(problem)) from problem

    async def _change(self, decide: Callable[[Image], Commit[T]]) -> T:
        unclear: list[tuple[Put, T]] = []
        reason = ""
        for _ in range(TRIES_MAX):
            self._refuse_if_failed()
            if done := await self._found(unclear):
                return done[0]
            commit = decide(self.image)
            if not commit.puts and not commit.deletes:
                return commit.answer
            try:
                revision = await self._commit(commit)
            except Conflict as conflict:
                reason = self._conflict_text(conflict)
                await self._seen(conflict.revision)
            except Unknown as problem:
                reason = f"the metadata store does not say whether it was written: {problem}"
                unclear.extend((put, commit.answer) for put in commit.puts[:1])
                await asyncio.sleep(RETRY_MS / 1000)
            else:
                await self._seen(revision)
                return commit.answer
        raise Refused(
            ErrorCode.REQUEST_TIMED_OUT,
            f"tried {TRIES_MAX} times in vain; {reason}",
        )

    def _conflict_text(self, conflict: Conflict) -> str:
        told = "others changed the same metadata each time"
        if conflict.revision < self.image.revision:
            told += (
                f"; or the store was put back from a backup, as it is at {conflict.revision} and "
                f"was at {self.image.revision}: then stop all brokers, and start them again"
            )
        return told

    async def _commit(self, commit: Commit[T]) -> int:
        try:
            return await self._write(commit)
        except NoRoom:
            if not (commit.makes_room and self.make_room()):
                raise
            return await self._write(commit)

    async def _write(self, commit: Commit[T]) -> int:
        checks = [*commit.checks, *await self._write_ahead(commit)]
        revision = await self.store.commit(checks, commit.puts, commit.deletes, commit.session)
        for keys in _pieces(commit.behind):
            with suppress(Unavailable, Unknown):  # the controller finds what is left
                revision = await self.store.commit([], [], keys)
        return revision

    async def _write_ahead(self, commit: Commit[T]) -> list[Check]:
        """What the commit is to check besides: that nobody else has written to the same keys."""
        guard: list[Check] = []
        time_s = asyncio.get_running_loop().time
        give_up_s = time_s() + AHEAD_MS_MAX / 1000
        for puts in _pieces(commit.ahead):
            revision = await self._write_piece(commit.ahead_checks, puts)
            guard = guard or [(puts[0][0], revision)]
            if time_s() > give_up_s:
                raise Unavailable("the metadata store is too slow for so many partitions")
        return guard

    async def _write_piece(self, checks: Sequence[Check], puts: Sequence[Put]) -> int:
        """Whether it was written makes no difference if it is written again."""
        for _ in range(TRIES_MAX):
            with suppress(Unknown):
                return await self.store.commit(checks, puts)
            await asyncio.sleep(RETRY_MS / 1000)
        raise Unavailable("the metadata store does not say whether anything was written")

    async def _found(self, unclear: list[tuple[Put, T]]) -> tuple[T] | None:
        """The answer of a commit whose outcome was unknown, if its first value is there now."""
        for (key, value), answer in unclear:
            entry = await self.store.get(key)
            if entry is None:
                continue
            await self._seen(entry.revision)
            if entry.value == value:
                return (answer,)
        return None

    async def _seen(self, revision: int) -> None:
        while self.image.revision < revision:
            self._refuse_if_failed()
            await self._moved.wait()

    def _refuse_if_failed(self) -> None:
        if self._failure is not None:
            raise self._failure

    # Following

    async def _load(self) -> None:
        self._move(self.image.load(*await self.store.list("/")))

    async def _follow(self) -> None:
        while True:
            try:
                await self._follow_watch()
                await self._load()
            except (Unavailable, Unknown):
                await asyncio.sleep(RETRY_MS / 1000)
            except Exception as problem:
                self._fail(problem)
                return

    async def _follow_watch(self) -> None:
        """Until the store says that we are too far behind."""
        async with aclosing(self.store.watch("/", self.image.revision)) as steps:
            async for step in steps:
                if isinstance(step, Reset):
                    return
                self._move(self.image.apply(step.events, step.revision))

    def _move(self, changed: Changed) -> None:
        self.on_change(changed)
        self._moved.set()
        self._moved = asyncio.Event()

    def _fail(self, problem: BaseException) -> None:
        self._failure = self._failure or problem
        self._moved.set()
        self._moved = asyncio.Event()


def _pieces(whole: Sequence[T]) -> Iterator[Sequence[T]]:
    """Each as large as a commit may be."""
    for start in range(0, len(whole), OPERATIONS_MAX):
        yield whole[start : start + OPERATIONS_MAX]
