"""Thousands of connections that have something at once: the loop is theirs a share at a time."""

from __future__ import annotations

import asyncio

import pytest
from tests.raw_client import frame_of
from tests.server.house import House, MemoryConnection

from penstock.server.rota import SHARE_MS
from penstock.wire.messages.k18_api_versions import ApiVersionsRequest

PING = frame_of(ApiVersionsRequest("raw", "1"), 3)
CROWD = 500


class TickingClock:
    """Each look at it takes a tenth of a millisecond."""

    def __init__(self) -> None:
        self.time_ms = 1_750_000_000_000.0

    def now_ms(self) -> int:
        return int(self.time_ms)

    def monotonic_ms(self) -> float:
        self.time_ms += 0.1
        return self.time_ms


@pytest.fixture
def slow_house(house: House) -> House:
    clock = TickingClock()
    house.door.clock = clock
    house.door.round._clock = house.door.requests._clock = house.door.answers._clock = clock
    return house


def all_ready(house: House) -> list[MemoryConnection]:
    """What a loop does that finds them ready in one look."""
    crowd = [house.connect() for _ in range(CROWD)]
    for connection in crowd:
        connection.inbound += PING
    for connection in crowd:
        connection.step()
    return crowd


def answered(crowd: list[MemoryConnection]) -> int:
    return sum(bool(connection.taken) for connection in crowd)


async def test_only_some_are_served_before_the_loop_gets_round(slow_house: House) -> None:
    crowd = all_ready(slow_house)
    assert 0 < answered(crowd) <= 10 * SHARE_MS
    assert len(slow_house.door.requests) == CROWD - answered(crowd)


async def test_nobody_who_stands_in_line_is_called_for_again(slow_house: House) -> None:
    crowd = all_ready(slow_house)
    assert not any(connection.step() for connection in crowd if not connection.taken)


async def test_all_are_served_in_the_end_a_share_at_a_time(slow_house: House) -> None:
    crowd = all_ready(slow_house)
    counts = [answered(crowd)]
    while counts[-1] < CROWD:
        await asyncio.sleep(0)
        counts.append(answered(crowd))
        assert counts[-1] - counts[-2] <= 10 * SHARE_MS
    assert all(connection.readable is not None for connection in crowd), "and read from again"
    assert all(len(connection.answers()) == 1 for connection in crowd)


async def test_who_comes_later_is_served_at_once(slow_house: House) -> None:
    crowd = all_ready(slow_house)
    await asyncio.sleep(0)
    late = slow_house.connect()
    late.give(PING)
    assert late.taken
    assert answered(crowd) < CROWD / 2


async def test_one_that_leaves_while_it_stands_in_line_is_forgotten(slow_house: House) -> None:
    crowd = all_ready(slow_house)
    slow_house.session_of(crowd[-1]).close()
    await slow_house.settle(lambda: answered(crowd) == CROWD - 1)
    assert not len(slow_house.door.requests)
    assert slow_house.door.connections == CROWD - 1


async def test_one_that_was_reset_while_it_stands_in_line_is_still_heard(
    slow_house: House,
) -> None:
    crowd = all_ready(slow_house)
    crowd[-1].is_reset = True
    await slow_house.settle(lambda: answered(crowd) == CROWD)
