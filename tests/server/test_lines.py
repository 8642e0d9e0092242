"""Questions to other brokers, one line for each."""

from __future__ import annotations

import asyncio

import pytest

from penstock.api.dispatch import ELEMENTS_AT_ONCE_MAX, LISTS_BYTES_MAX
from penstock.server import lines as module
from penstock.server.lines import Lines, portions


class Item(str):
    """Weighs as much as it has letters."""

    @property
    def weight(self) -> int:
        return len(self)


class Brokers:
    """Those that are asked; each answers when it is let."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, list[Item]]] = []
        self.let = {1: asyncio.Event(), 2: asyncio.Event()}
        self.fails = False

    async def ask(self, node_id: int, items: list[Item]) -> None:
        self.asked.append((node_id, items))
        await self.let[node_id].wait()
        if self.fails:
            self.fails = False
            raise KeyError("a bug")


@pytest.fixture
def brokers() -> Brokers:
    return Brokers()


@pytest.fixture
def lines(brokers: Brokers) -> Lines[Item]:
    return Lines(brokers.ask)


async def asked(brokers: Brokers, count: int) -> list[tuple[int, list[Item]]]:
    async with asyncio.timeout(30):
        while len(brokers.asked) < count:
            await asyncio.sleep(0)
    return brokers.asked


async def test_what_comes_meanwhile_goes_together_with_the_next_question(
    brokers: Brokers, lines: Lines[Item]
) -> None:
    lines.add(1, Item("a"))
    await asked(brokers, 1)
    lines.add(1, Item("b"))
    lines.add(1, Item("c"))
    brokers.let[1].set()
    assert await asked(brokers, 2) == [(1, ["a"]), (1, ["b", "c"])]


async def test_one_broker_that_is_slow_holds_up_no_other(
    brokers: Brokers, lines: Lines[Item]
) -> None:
    lines.add(1, Item("a"))
    lines.add(2, Item("b"))
    assert sorted(await asked(brokers, 2)) == [(1, ["a"]), (2, ["b"])]
    await lines.stop()


async def test_a_question_has_no_more_items_than_may_be(
    brokers: Brokers, lines: Lines[Item], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WEIGHT_AT_ONCE", 2)
    brokers.let[1].set()
    for item in "abc":
        lines.add(1, Item(item))
    assert await asked(brokers, 2) == [(1, ["a", "b"]), (1, ["c"])]


async def test_one_that_is_too_heavy_goes_alone(
    brokers: Brokers, lines: Lines[Item], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WEIGHT_AT_ONCE", 2)
    brokers.let[1].set()
    for item in ("a", "bcd", "e"):
        lines.add(1, Item(item))
    assert await asked(brokers, 3) == [(1, ["a"]), (1, ["bcd"]), (1, ["e"])]


@pytest.mark.parametrize("partitions", [1, 100, 10_000])
def test_partitions_go_in_portions_that_a_broker_takes_at_once(partitions: int) -> None:
    names = [f"{number:0>249}" for number in range(10_000 // partitions)]
    places = [(name, index) for name in names for index in range(partitions)]
    found = list(portions(places))
    assert [place for portion in found for place in portion] == places
    for portion in found:
        topics = {topic for topic, _ in portion}
        assert 1 + len(portion) + len(topics) <= ELEMENTS_AT_ONCE_MAX
        assert sum(len(topic) + 20 for topic in topics) + 4 * len(portion) <= LISTS_BYTES_MAX // 2
    assert len(found) < 50


async def test_what_waits_behind_a_question_that_fails_is_not_lost(
    brokers: Brokers, lines: Lines[Item], caplog: pytest.LogCaptureFixture
) -> None:
    brokers.fails = True
    lines.add(1, Item("a"))
    await asked(brokers, 1)
    lines.add(1, Item("b"))
    brokers.let[1].set()
    assert (await asked(brokers, 2))[1] == (1, ["b"])
    assert "could not be asked" in caplog.text
