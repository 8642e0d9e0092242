"""A broker that asks itself is answered as others are: once it is safe, or not at all."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable

import pytest
from tests.server.house import House

from penstock.errors import ErrorCode
from penstock.server.asking_itself import AskingItself
from penstock.server.telling import errors_in
from penstock.wire.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

VERSION = 2
FIRST = ("orders", 0)


def markers(*partitions: int, topic: str = "orders") -> WriteTxnMarkersRequest:
    named = [WritableTxnMarkerTopic(topic, list(partitions))]
    return WriteTxnMarkersRequest([WritableTxnMarker(7, 0, True, named, 0)])


async def asked(
    itself: AskingItself, request: WriteTxnMarkersRequest
) -> dict[tuple[str, int], int]:
    async with asyncio.timeout(30):
        (told,) = await itself.ask(request, VERSION, errors_in)
    return told


@pytest.fixture
def itself(house: House) -> AskingItself:
    house.desk.create("orders", partitions=2)
    return AskingItself(house.door)


async def test_the_answer_waits_until_what_was_written_is_safe(
    house: House, itself: AskingItself
) -> None:
    house.disk.syncs.clear()
    task = asyncio.create_task(asked(itself, markers(0)))
    leader = house.broker.leader(*FIRST)
    await house.settle(lambda: leader.log.written_end == 1)
    for _ in range(20):
        await asyncio.sleep(0)
    assert not task.done()
    house.disk.syncs.set()
    assert await task == {FIRST: ErrorCode.NONE}
    assert leader.high_watermark == 1


async def test_where_nothing_is_synced_it_is_answered_as_soon_as_it_is_written(
    make_house: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = make_house(log_flush_on_acks_all="false")
    house.desk.create("orders")
    monkeypatch.setattr(house.door.deadlines, "begin", lambda wait, wait_ms: None)
    assert await asked(AskingItself(house.door), markers(0)) == {FIRST: ErrorCode.NONE}


async def test_what_is_refused_is_an_answer(itself: AskingItself) -> None:
    told = await asked(itself, markers(0, topic="none"))
    assert told == {("none", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


async def test_what_could_not_be_written_is_not_waited_for(
    house: House, itself: AskingItself
) -> None:
    assert await asked(itself, markers(0)) == {FIRST: ErrorCode.NONE}
    house.disk.full_folder = "orders-0"
    with pytest.raises(OSError, match="no space left") as problem:
        await asked(itself, markers(0))
    assert problem.value.errno == errno.ENOSPC
    assert house.broker.disk_is_full
    assert house.broker.leader(*FIRST).log.end_offset == 1
    house.disk.full_folder = ""
    assert await asked(itself, markers(0)) == {FIRST: ErrorCode.NONE}


async def test_what_is_left_of_a_question_that_was_given_up_is_shut_out(
    house: House, itself: AskingItself
) -> None:
    house.disk.syncs.clear()
    task = asyncio.create_task(asked(itself, markers(0)))
    await house.settle(lambda: bool(house.broker.markers_from))
    first = house.broker.markers_from[house.broker.node_id]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    house.disk.syncs.set()
    await asked(itself, markers(1))
    assert house.broker.markers_from[house.broker.node_id] > first


async def test_a_question_that_another_has_overtaken_fails(
    house: House, itself: AskingItself
) -> None:
    await asked(itself, markers(0))
    await asked(AskingItself(house.door), markers(0))
    with pytest.raises(ConnectionError, match="newer connection"):
        await asked(itself, markers(1))
    assert await asked(itself, markers(1)) == {("orders", 1): ErrorCode.NONE}
