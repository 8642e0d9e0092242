"""How the store's tree begins: made by whoever comes first, and told from what is not it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import Unusable
from penstock.metadata.stores.zookeeper_nodes import FORMAT, Create, Operation, Paths

if TYPE_CHECKING:
    from penstock.metadata.stores.zookeeper_link import Link


async def prepare(link: Link, paths: Paths) -> None:
    """Makes the nodes where there are none; Unusable where they are not for this release."""
    (found,) = await link.nodes([paths.format])
    if found is None:
        await _make(link, paths)
        (found,) = await link.nodes([paths.format])
    if found is None or not found.data.isdigit():
        raise Unusable(f"{paths.root} in ZooKeeper is not a metadata store of Penstock")
    if int(found.data) > FORMAT:
        raise Unusable(
            f"{paths.root} in ZooKeeper has format version {int(found.data)}, this Penstock reads "
            f"up to {FORMAT}: it was written by a newer release; run that one"
        )


async def _make(link: Link, paths: Paths) -> None:
    """The nodes above are left open: they may be for others too. Ours need not be."""
    parts = paths.root.split("/")[1:]
    above = ["/" + "/".join(parts[:depth]) for depth in range(1, len(parts))]
    for path in above:
        await link.write([Create(path, open_to_all=True)])
    await link.write([Create(paths.root)])
    folders = (paths.log, paths.keys, paths.bound, paths.sessions, paths.head, paths.shape)
    inside: list[Operation] = [Create(path) for path in folders]
    await link.write([*inside, Create(paths.format, str(FORMAT).encode())])
