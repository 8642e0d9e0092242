"""Copies with the SDK's clients for asyncio."""

from __future__ import annotations

import asyncio

from penstock import AsyncConsumer, AsyncProducer
from tests.copy_worker import Job, say
from tests.copy_worker_sdk import promises


def copy(job: Job) -> None:
    asyncio.run(_copy(job))


async def _copy(job: Job) -> None:
    sending, reading = promises(job)
    async with AsyncProducer(**sending) as producer, AsyncConsumer(**reading) as consumer:
        say("ready")
        async for batch in consumer.transactions(
            producer, max_messages=job.size, max_seconds=job.gather_s
        ):
            async with batch:
                for message in batch:
                    await producer.enqueue(job.target, message.value, message.key)
                say(f"open {len(batch)}")
                job.leave_if_told()
            say("aborted" if batch.aborted else f"committed {len(batch)}")
