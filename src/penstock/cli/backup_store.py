"""Metadata stores as `penstock backup` uses them: opened by a broker's settings, read, written."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from penstock.config import BrokerConfig
from penstock.errors import Unusable
from penstock.metadata.backup import image_of, kept, restored
from penstock.metadata.image import Image
from penstock.metadata.restoring import Restoring
from penstock.metadata.store import Entry, Store, Unavailable, Unknown
from penstock.node import settings
from penstock.node.stores import opened_store
from penstock.world.real import RealChance, RealClock

T = TypeVar("T")


def store_url(config: BrokerConfig) -> str:
    return config.store or f"sqlite:{config.data_dir}/metadata.sqlite"


def broker_config(texts: dict[str, str]) -> BrokerConfig:
    return settings.read(texts).broker


def run(work: Coroutine[Any, Any, T]) -> T:
    """What a store that is away says is passed on as it is."""
    try:
        return asyncio.run(work)
    except (Unavailable, Unknown) as problem:
        raise Unusable(f"the metadata store: {problem}") from None


@asynccontextmanager
async def _opened(config: BrokerConfig) -> AsyncIterator[Store]:
    store = await opened_store(config, RealChance())
    try:
        yield store
    finally:
        await store.close()


async def read_store(config: BrokerConfig) -> tuple[list[Entry], int, Image]:
    """What a backup keeps, and the revision at which all of it was there."""
    _refuse_missing_file(config)
    async with _opened(config) as store:
        entries, revision = await store.list("/")
    records = kept(entries)
    image = image_of(records)
    if not image.cluster_id:
        raise _no_cluster(config)
    return records, revision, image


def _refuse_missing_file(config: BrokerConfig) -> None:
    """Opening it would make it."""
    kind, _, path = store_url(config).partition(":")
    if kind == "sqlite" and not os.path.exists(path):
        raise _no_cluster(config)


def _no_cluster(config: BrokerConfig) -> Unusable:
    return Unusable(
        f"there is no cluster in {store_url(config)}: name the store that the brokers use, with "
        "--store, --data-dir or --config"
    )


async def write_store(
    config: BrokerConfig,
    entries: Sequence[Entry],
    *,
    replace: bool,
    timeout_s: float,
    agree: Callable[[Image], None],
) -> None:
    """`agree` sees what is there before, and raises if it is to stay."""
    chance = RealChance()
    puts = restored(entries, RealClock().now_ms(), chance)
    kind, _, path = store_url(config).partition(":")
    if kind == "sqlite":
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    async with _opened(config) as store:
        restoring = Restoring(store, chance.uuid(), int(1000 * timeout_s), replace=replace)
        agree(await restoring.look())
        await restoring.run(puts)
