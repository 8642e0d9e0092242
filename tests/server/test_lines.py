"""Questions to other brokers, one line for each."""

from __future__ import annotations

import asyncio

import pytest

from penstock.server import lines as module
from penstock.server.lines import Lines


class Brokers:
    """Those that are asked; each answers when it is let."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, list[str]]] = []
        self.let = {1: asyncio.Event(), 2: asyncio.Event()}
        self.fails = False

    async def ask(self, node_id: int, items: list[str]) -> None:
        self.asked.append((node_id, items))
        await self.let[node_id].wait()
        if self.fails:
            self.fails = False
            raise KeyError("a bug")


@pytest.fixture
def brokers() -> Brokers:
    return Brokers()


@pytest.fixture
def lines(brokers: Brokers) -> Lines[str]:
    return Lines(brokers.ask)


async def asked(brokers: Brokers, count: int) -> list[tuple[int, list[str]]]:
    async with asyncio.timeout(30):
        while len(brokers.asked) < count:
            await asyncio.sleep(0)
    return brokers.asked


async def test_what_comes_meanwhile_goes_together_with_the_next_question(
    brokers: Brokers, lines: Lines[str]
) -> None:
    lines.add(1, "a")
    await asked(brokers, 1)
    lines.add(1, "b")
    lines.add(1, "c")
    brokers.let[1].set()
    assert await asked(brokers, 2) == [(1, ["a"]), (1, ["b", "c"])]


async def test_one_broker_that_is_slow_holds_up_no_other(
    brokers: Brokers, lines: Lines[str]
) -> None:
    lines.add(1, "a")
    lines.add(2, "b")
    assert sorted(await asked(brokers, 2)) == [(1, ["a"]), (2, ["b"])]
    await lines.stop()


async def test_a_question_has_no_more_items_than_may_be(
    brokers: Brokers, lines: Lines[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ITEMS_AT_ONCE", 2)
    brokers.let[1].set()
    for item in "abc":
        lines.add(1, item)
    assert await asked(brokers, 2) == [(1, ["a", "b"]), (1, ["c"])]


async def test_what_waits_behind_a_question_that_fails_is_not_lost(
    brokers: Brokers, lines: Lines[str], caplog: pytest.LogCaptureFixture
) -> None:
    brokers.fails = True
    lines.add(1, "a")
    await asked(brokers, 1)
    lines.add(1, "b")
    brokers.let[1].set()
    assert (await asked(brokers, 2))[1] == (1, ["b"])
    assert "could not be asked" in caplog.text
