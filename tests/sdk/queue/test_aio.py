"""Queues from asyncio."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from penstock import AsyncQueue
from penstock.sdk import AsyncJob, Empty, LockLost, Misconfigured, PenstockError, Reject
from penstock.testing import Broker

WAIT_S = 30.0

Make = Callable[..., AsyncQueue[Any]]


@pytest_asyncio.fixture
async def aio(penstock_broker: Broker, name: str) -> AsyncIterator[Make]:
    made: list[AsyncQueue[Any]] = []

    def queue(**options: Any) -> AsyncQueue[Any]:
        made.append(AsyncQueue(penstock_broker.bootstrap, name, **options))
        return made[-1]

    yield queue
    for each in made:
        await each.close()


async def test_a_job_is_put_given_and_done(aio: Make) -> None:
    queue = aio()
    place = await queue.put("a book", key="anna", tags={"region": "eu"})
    job = await queue.get(WAIT_S)
    assert (job.value, job.key, job.tags) == ("a book", "anna", {"region": "eu"})
    assert job.offset == place.offset
    await job.renew()
    await job.ack()
    with pytest.raises(Empty):
        await queue.get(0.6)


async def test_what_is_given_back_comes_again_and_what_is_rejected_does_not(aio: Make) -> None:
    queue = aio()
    await queue.put("x")
    await (await queue.get(WAIT_S)).nack(delay=0.01)
    again = await queue.get(WAIT_S)
    assert again.delivery_count == 2
    await again.reject()
    with pytest.raises(Empty):
        await queue.get(0.6)


async def test_what_is_put_with_a_delay_waits(
    penstock_broker: Broker, aio: Make, name: str
) -> None:
    queue = aio()
    with pytest.raises(Misconfigured, match="delays=True"):
        await queue.put("x", delay=1)
    penstock_broker.admin.topics.set_configs(name, {"delayed.delivery": True})
    place = await queue.put("much later", delay=3600)
    await queue.put("soon", delay=0.01)
    assert (await queue.get(WAIT_S)).value == "soon"
    (left,) = penstock_broker.admin.schedules.list(name)
    assert (left.partition, left.offset) == (place.partition, place.offset)
    await queue.put("monthly", repeat="0 0 1 * *")
    assert penstock_broker.admin.schedules.list(name)[1].repeat == "0 0 1 * *"


async def test_iteration_goes_on_until_stop(aio: Make) -> None:
    queue, found = aio(), []
    await queue.put_many(["a", "b", "c"])
    async for job in queue:
        found.append(job.value)
        await job.ack(wait=False)
        if len(found) == 3:
            queue.stop()
    assert sorted(found) == ["a", "b", "c"]
    await queue.flush()


async def test_handlers_are_tasks_that_run_together(aio: Make) -> None:
    queue, seen = aio(), Counter[str]()
    await queue.put_many([str(number) for number in range(50)])
    is_together, running = asyncio.Event(), 0

    async def handle(job: AsyncJob[str]) -> None:
        nonlocal running
        running += 1
        if running == 4:
            is_together.set()
        await asyncio.wait_for(is_together.wait(), WAIT_S)
        seen[job.value] += 1
        if job.value == "7" and job.delivery_count == 1:
            seen["7"] -= 1
            raise RuntimeError("no luck")
        if sum(seen.values()) == 50:
            queue.stop()
        if job.value == "8":
            raise Reject("never")

    assert await queue.work(handle, concurrency=4, backoff=0.01) == 51
    assert set(seen.values()) == {1}
    with pytest.raises(Empty):
        await aio().get(0.6)


async def test_who_is_cancelled_while_waiting_takes_nothing(aio: Make) -> None:
    queue = aio()
    waiting = asyncio.create_task(queue.get())
    with pytest.raises(Empty):
        await queue.get(0.5)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await queue.put("x")
    assert (await queue.get(WAIT_S)).value == "x"


async def test_work_that_is_cancelled_gives_back_what_it_was_doing(aio: Make) -> None:
    queue, is_begun = aio(), asyncio.Event()
    await queue.put("x")

    async def handle(job: AsyncJob[str]) -> None:
        is_begun.set()
        await asyncio.Event().wait()

    working = asyncio.create_task(queue.work(handle))
    await asyncio.wait_for(is_begun.wait(), WAIT_S)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert (await aio().get(WAIT_S)).delivery_count == 2


async def test_a_handler_that_is_no_coroutine_is_said(aio: Make) -> None:
    queue = aio()
    await queue.put("x")
    with pytest.raises(Misconfigured, match="async def"):
        await queue.work(lambda job: None)  # type: ignore[arg-type, return-value]


async def test_a_broker_that_is_killed_takes_its_locks_with_it(
    penstock_fresh_broker: Broker,
) -> None:
    AsyncQueue.ensure(penstock_fresh_broker.bootstrap, "q", partitions=1)
    async with AsyncQueue(penstock_fresh_broker.bootstrap, "q") as queue:
        await queue.put("x")
        job = await queue.get(WAIT_S)
        penstock_fresh_broker.pause()
        acknowledging = asyncio.create_task(job.ack())
        await asyncio.sleep(0)
        penstock_fresh_broker.kill()
        with pytest.raises(LockLost):
            await acknowledging
        penstock_fresh_broker.restart()
        again = await queue.get(WAIT_S)
        await again.ack()


async def test_a_closed_queue_says_so(aio: Make) -> None:
    queue = aio()
    await queue.put("x")
    job = await queue.get(WAIT_S)
    await queue.close()
    for call in (queue.get, job.ack):
        with pytest.raises(PenstockError, match="closed"):
            await call()
