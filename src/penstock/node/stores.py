"""Which metadata store a broker uses, by its URL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from penstock.config import BrokerConfig
from penstock.errors import Unusable
from penstock.metadata.store import Store
from penstock.world.ports import Chance

OpenStore = Callable[[BrokerConfig, Chance], Awaitable[Store]]


async def opened_store(config: BrokerConfig, chance: Chance) -> Store:
    """Its module is imported here: who uses one store needs not have what another one takes."""
    url = config.store or f"sqlite:{config.data_dir}/metadata.sqlite"
    kind, _, rest = url.partition(":")
    if kind == "sqlite" and rest:
        from penstock.metadata.stores.sqlite import SqliteStore  # noqa: PLC0415

        return await SqliteStore.open(rest)
    if kind == "etcd":
        from penstock.metadata.stores.etcd import EtcdStore  # noqa: PLC0415

        return await EtcdStore.open(url, chance=chance, **_access(config))
    if kind == "zookeeper":
        from penstock.metadata.stores.zookeeper import ZookeeperStore  # noqa: PLC0415

        return await ZookeeperStore.open(url, chance=chance, **_access(config))
    raise Unusable(f"metadata.store: {url!r} is not known")


def _access(config: BrokerConfig) -> dict[str, Any]:
    return {
        "user": config.store_user,
        "password": config.store_password,
        "ca_file": config.store_ca_file,
        "certificate_file": config.store_certificate_file,
        "key_file": config.store_key_file,
    }
