"""Leaders ask a transaction's coordinator for partitions, and get an answer whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.api.transacting import NAME
from tests.server.house import House

from penstock.coordination.transaction.state import Identity
from penstock.errors import ErrorCode, Refused
from penstock.metadata.internal_topics import TRANSACTIONS
from penstock.server import lines
from penstock.server.verifying import Verifying
from penstock.wire.messages.k10_find_coordinator import FindCoordinatorRequest
from penstock.wire.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from penstock.world.real import RealNetwork

WRITER = Identity(7, 3)
PLACES = [("orders", 0), ("orders", 1)]
AWAY = dict.fromkeys(PLACES, ErrorCode.COORDINATOR_NOT_AVAILABLE)


class Coordinator:
    """In place of the network: says the same of every partition."""

    def __init__(self) -> None:
        self.asked: list[AddPartitionsToTxnRequest] = []
        self.problem: Exception | None = None
        self.refuses = 0
        self.left_out = 0

    async def ask(self, node_id: int, request: Any, version: int, kind: Any, take: Any) -> Any:
        self.asked.append(request)
        if self.problem is not None:
            raise self.problem
        results = [
            AddPartitionsToTxnResult(
                each.transactional_id,
                [
                    AddPartitionsToTxnTopicResult(
                        topic.name,
                        [AddPartitionsToTxnPartitionResult(at) for at in topic.partitions],
                    )
                    for topic in each.topics
                ],
            )
            for each in request.transactions
        ]
        kept = results[self.left_out :]
        return take(AddPartitionsToTxnResponse(0, self.refuses, kept))

    def close(self) -> None:
        pass


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator()


@pytest.fixture
async def verifying(house: House, coordinator: Coordinator) -> AsyncIterator[Verifying]:
    verifying = Verifying(RealNetwork(), house.door)
    verifying._asking = coordinator  # type: ignore[assignment]
    yield verifying
    await verifying.stop()


async def find(house: House) -> None:
    await house.ask(house.connect(), FindCoordinatorRequest(key=NAME, key_type=1), 1)
    assert house.desk.image.topic(TRANSACTIONS) is not None


async def test_while_there_is_no_coordinator_it_is_away(
    verifying: Verifying, coordinator: Coordinator
) -> None:
    assert await verifying.verify(NAME, WRITER, PLACES, add=True) == AWAY
    assert not coordinator.asked


@pytest.mark.parametrize("add", [True, False])
async def test_the_coordinator_is_asked_to_add_or_to_look(
    house: House, verifying: Verifying, coordinator: Coordinator, add: bool
) -> None:
    await find(house)
    found = await verifying.verify(NAME, WRITER, PLACES, add=add)
    assert found == dict.fromkeys(PLACES, ErrorCode.NONE)
    ((asked,),) = [request.transactions for request in coordinator.asked]
    assert (asked.producer_id, asked.producer_epoch) == WRITER
    assert asked.verify_only is not add
    assert [(topic.name, topic.partitions) for topic in asked.topics] == [("orders", [0, 1])]


@pytest.mark.parametrize(
    "problem",
    [
        ConnectionError("away"),
        TimeoutError(),
        Refused(ErrorCode.SASL_AUTHENTICATION_FAILED, "it does not know us"),
        KeyError("a bug"),
    ],
    ids=repr,
)
async def test_whatever_goes_wrong_the_coordinator_is_said_to_be_away(
    house: House, verifying: Verifying, coordinator: Coordinator, problem: Exception
) -> None:
    await find(house)
    coordinator.problem = problem
    async with asyncio.timeout(30):
        assert await verifying.verify(NAME, WRITER, PLACES, add=True) == AWAY
        coordinator.problem = None
        assert await verifying.verify(NAME, WRITER, PLACES, add=True) != AWAY


async def test_a_coordinator_that_refuses_or_leaves_something_out_is_said_to_be_away(
    house: House, verifying: Verifying, coordinator: Coordinator
) -> None:
    await find(house)
    coordinator.refuses = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert await verifying.verify(NAME, WRITER, PLACES, add=True) == AWAY
    coordinator.refuses, coordinator.left_out = 0, 1
    assert await verifying.verify(NAME, WRITER, PLACES, add=True) == AWAY


async def test_who_has_gone_meanwhile_keeps_no_other_from_an_answer(
    house: House, verifying: Verifying, coordinator: Coordinator
) -> None:
    await find(house)
    task = asyncio.create_task(verifying.verify(NAME, WRITER, PLACES, add=True))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await verifying.verify(NAME, WRITER, PLACES, add=True) != AWAY


async def test_many_partitions_are_asked_for_in_several_questions(
    house: House,
    verifying: Verifying,
    coordinator: Coordinator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lines, "WEIGHT_AT_ONCE", 2000)
    await find(house)
    places = [("orders", index) for index in range(100)]
    found = await verifying.verify(NAME, WRITER, places, add=True)
    assert found == dict.fromkeys(places, ErrorCode.NONE)
    asked = [each.topics[0].partitions for one in coordinator.asked for each in one.transactions]
    assert len(coordinator.asked) >= 5
    assert max(map(len, asked)) <= 20
