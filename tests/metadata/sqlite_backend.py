"""The embedded store, in a folder of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from penstock.metadata.store import Store
from penstock.metadata.stores.sqlite import SqliteStore


def opener(folder: Path) -> Callable[[], Awaitable[Store]]:
    return lambda: SqliteStore.open(str(folder / "metadata.db"))
