"""How much each broker holds, and of what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from penstock.client.cluster import WireClient
from penstock.client.metadata import Partition
from penstock.client.replicas import Disk, Named


class Holding(NamedTuple):
    """Sizes are None of a broker that does not answer."""

    replicas: int
    leads: int
    behind: int
    """Replicas that are not in sync."""
    data_bytes: int | None
    free_bytes: int | None


def all_partitions(client: WireClient) -> dict[Named, Partition]:
    told = client.retry(lambda deadline: client.metadata(deadline=deadline))
    return {
        (name, index): each
        for name, topic in sorted(told.stored.items())
        for index, each in topic.partitions.items()
    }


def holding_of(node: int, partitions: Iterable[Partition], disk: Disk | None) -> Holding:
    held = [each for each in partitions if node in each.replicas]
    return Holding(
        replicas=len(held),
        leads=sum(each.leader == node for each in held),
        behind=sum(node not in each.in_sync for each in held),
        data_bytes=sum(disk.sizes.values()) if disk else None,
        free_bytes=disk.free_bytes if disk else None,
    )
