"""Stores to test with: each test of the conformance suite runs on every backend."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from penstock.metadata.store import Store
from penstock.metadata.stores.sqlite import SqliteStore

OpenStore = Callable[[], Awaitable[Store]]
"""Opens the same store once more, as another broker would."""


def sqlite_opener(folder: Path) -> OpenStore:
    return lambda: SqliteStore.open(str(folder / "metadata.db"))


BACKENDS: dict[str, Callable[[Path], OpenStore]] = {"sqlite": sqlite_opener}


@pytest.fixture(params=sorted(BACKENDS))
async def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OpenStore]:
    opener = BACKENDS[request.param](tmp_path)
    opened: list[Store] = []

    async def open_another() -> Store:
        opened.append(await opener())
        return opened[-1]

    yield open_another
    for store in opened:
        await store.close()


@pytest.fixture
async def store(open_store: OpenStore) -> Store:
    return await open_store()
