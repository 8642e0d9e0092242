"""Read, process, write in one transaction, from asyncio.

What blocks is done in the consumer's thread, one step after the other, also where the task was
cancelled that waited for it. So whatever is done next finds an end, or comes after it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from penstock.sdk.errors import TransactionAborted
from penstock.sdk.exactly_once import Batch, Batches
from penstock.sdk.worker import Worker

if TYPE_CHECKING:
    from penstock.sdk.message import Message

T = TypeVar("T")
V = TypeVar("V")


class AsyncBatch(Generic[V]):
    """Messages to be worked on inside `async with batch:`; as `exactly_once.Batch`."""

    def __init__(self, batch: Batch[V], worker: Worker) -> None:
        self.batch = batch
        self._worker = worker

    def __iter__(self) -> Iterator[Message[V]]:
        return iter(self.batch)

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def aborted(self) -> TransactionAborted | None:
        return self.batch.aborted

    async def __aenter__(self) -> Self:
        await self._step(self.batch.__enter__)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        return await self._step(self.batch.__exit__, kind, error, trace)

    async def _step(self, call: Callable[..., T], *arguments: object) -> T:
        try:
            return await self._worker.run(call, *arguments)
        except asyncio.CancelledError:
            self._worker.start(self.batch.give_up)
            raise


async def batches_in_transactions(
    batches: Batches[V], worker: Worker
) -> AsyncIterator[AsyncBatch[V]]:
    await worker.run(batches.prepare)
    while True:
        await worker.run(batches.fill)
        batch = batches.cut()
        if batch is not None:
            yield AsyncBatch(batch, worker)
            await worker.run(batches.look_back, batch)
        elif batches.is_idle:
            return
