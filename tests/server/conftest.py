"""A door with everything behind it, for each test its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.server.house import House
from tests.server.share_house import ShareHouse


@pytest.fixture
async def make_house(tmp_path: Path) -> AsyncIterator[Callable[..., House]]:
    """Settings are given with underscores in place of dots."""
    made: list[House] = []

    def make(**texts: str) -> House:
        made.append(House(tmp_path / f"data-{len(made)}", **texts))
        return made[-1]

    yield make
    for house in made:
        await house.close()


@pytest.fixture
async def house(make_house: Callable[..., House]) -> House:
    return make_house()


@pytest.fixture
async def shares(tmp_path: Path) -> AsyncIterator[ShareHouse]:
    """With share groups, whose locks may be short."""
    made = ShareHouse(tmp_path / "data", group_share_min_record_lock_duration_ms="1000")
    yield made
    await made.close()
