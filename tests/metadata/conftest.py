"""Stores to test with: each test of the conformance suite runs on every backend."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import import_module
from pathlib import Path

import pytest

from penstock.metadata.store import Store

OpenStore = Callable[[], Awaitable[Store]]
"""Opens the same store once more, as another broker would."""


@pytest.fixture(params=["etcd", "sim", "sqlite", "zookeeper"])
async def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OpenStore]:
    opener: OpenStore = import_module(f"tests.metadata.{request.param}_backend").opener(tmp_path)
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
