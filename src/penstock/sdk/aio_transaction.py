"""A transaction, from asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from penstock.sdk.errors import PenstockError
from penstock.sdk.transaction import Transaction

if TYPE_CHECKING:
    from penstock.sdk.aio_consumer import AsyncConsumer
    from penstock.sdk.aio_producer import AsyncProducer


class AsyncTransaction:
    """Commits at the end of its `async with`; aborts on an exception, which goes on."""

    def __init__(self, transaction: Transaction, producer: AsyncProducer) -> None:
        self._transaction = transaction
        self._producer = producer

    async def __aenter__(self) -> Self:
        await self.begin()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await self.commit()
            return
        try:
            await self.abort()
        except PenstockError as late:
            error.add_note(f"when the transaction was aborted: {late}")

    async def prepare(self) -> None:
        await self._producer.worker.run(self._transaction.prepare)

    async def begin(self) -> None:
        await self._surely(self._transaction.begin)

    async def send_offsets(self, consumer: AsyncConsumer[Any]) -> None:
        await self._producer.worker.run(self._transaction.send_offsets, consumer.consumer)

    async def commit(self) -> None:
        await self._surely(self._transaction.commit)

    async def abort(self) -> None:
        await self._surely(self._transaction.abort)

    async def _surely(self, step: Callable[[], None]) -> None:
        """Who is cancelled cannot end it any more: then it is aborted after this step, unless that
        was its end, or the producer could begin no other."""
        try:
            await self._producer.worker.run(step)
        except asyncio.CancelledError:
            with suppress(PenstockError):  # it is closed, which has ended this too
                self._producer.worker.start(self._transaction.abort)
            raise
