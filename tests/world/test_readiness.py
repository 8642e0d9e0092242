"""Readiness of many sockets, told a share at a time."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable

import pytest

from penstock.world import readiness
from penstock.world.readiness import AT_ONCE, Readiness, Watched

CROWD = 5 * AT_ONCE


class Pairs:
    def __init__(self) -> None:
        self.readiness = Readiness(asyncio.get_running_loop())
        self.sockets: list[socket.socket] = []
        self.called: list[int] = []

    def make(self) -> tuple[Watched, socket.socket]:
        """One that is watched, and the other end."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self.sockets += (ours, theirs)
        return self.readiness.watch(ours.fileno()), theirs

    def made_ready(self, callback: Callable[[], None]) -> Watched:
        watched, theirs = self.make()
        theirs.send(b"x")
        watched.on_readable(callback)
        return watched


@pytest.fixture
async def pairs() -> AsyncIterator[Pairs]:
    pairs = Pairs()
    yield pairs
    for each in pairs.sockets:
        each.close()


async def rounds(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def told(called: list[int], count: int) -> None:
    async with asyncio.timeout(10):
        while len(called) < count:
            await asyncio.sleep(0)


async def test_who_waits_to_receive_is_called_for_as_long_as_there_is_something(
    pairs: Pairs,
) -> None:
    watched, theirs = pairs.make()
    watched.on_readable(lambda: pairs.called.append(1))
    await rounds()
    assert pairs.called == []
    theirs.send(b"x")
    await told(pairs.called, 2)


async def test_who_waits_no_longer_is_not_called(pairs: Pairs) -> None:
    watched, theirs = pairs.make()
    watched.on_readable(lambda: pairs.called.append(1))
    theirs.send(b"x")
    await told(pairs.called, 1)
    watched.on_readable(None)
    seen = len(pairs.called)
    theirs.close()
    await rounds()
    assert len(pairs.called) == seen


async def test_receiving_and_sending_are_told_apart(pairs: Pairs) -> None:
    watched, theirs = pairs.make()
    watched.on_readable(lambda: pairs.called.append(1))
    watched.on_writable(lambda: pairs.called.append(2))
    await told(pairs.called, 3)
    assert set(pairs.called) == {2}
    watched.on_writable(None)
    pairs.called.clear()
    theirs.send(b"x")
    await told(pairs.called, 3)
    assert set(pairs.called) == {1}


async def test_the_end_of_a_connection_is_told_to_whoever_waits(pairs: Pairs) -> None:
    for wait_for in (Watched.on_readable, Watched.on_writable):
        watched, theirs = pairs.make()
        theirs.close()
        wait_for(watched, lambda: pairs.called.append(1))
        await told(pairs.called, 1)
        wait_for(watched, None)
        pairs.called.clear()


async def test_one_that_is_forgotten_by_another_of_the_same_moment_is_not_called(
    pairs: Pairs,
) -> None:
    def call(number: int) -> None:
        pairs.called.append(number)
        for each in watched:
            each.on_readable(None)

    watched = [pairs.made_ready(lambda n=n: call(n)) for n in range(3)]  # type: ignore[misc]
    await told(pairs.called, 1)
    await rounds()
    assert len(pairs.called) == 1


async def test_of_a_crowd_some_are_called_before_others_get_their_turn(
    pairs: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "SHARE_S", 0)
    for number in range(CROWD):
        pairs.made_ready(lambda n=number: pairs.called.append(n))  # type: ignore[misc]
    await told(pairs.called, 1)
    assert len(pairs.called) == AT_ONCE
    await told(pairs.called, CROWD)
    assert sorted(pairs.called[:CROWD]) == list(range(CROWD))


async def test_those_who_need_no_time_are_all_called_at_once(
    pairs: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "SHARE_S", 3600)
    watched: list[Watched] = []

    def call(number: int) -> None:
        pairs.called.append(number)
        watched[number].on_readable(None)

    watched += (pairs.made_ready(lambda n=n: call(n)) for n in range(CROWD))  # type: ignore[misc]
    await told(pairs.called, 1)
    assert len(pairs.called) == CROWD
