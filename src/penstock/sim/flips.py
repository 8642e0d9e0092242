"""Bits that turn over on one machine's disk, in what was synced long ago.

Nobody may take what they make of it for good: neither readers nor the other replicas. In the end
the disk is replaced, as the docs say it can be, and nothing is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random

from penstock.sim.cluster import Cluster
from penstock.sim.machine import DATA_FOLDER, Machine
from penstock.sim.storage import Content, Folder
from penstock.sim.workload import TOPIC
from penstock.wire.batch import HEADER_SIZE, LENGTH_OVERHEAD, crc_of, read_header, size_at

LOG = ".log"
LAST_ONES = 0.4
"""How often it is a file's last batch, which a start may take for torn."""
UNPROTECTED = frozenset([*range(8), *range(12, 16)])
"""Bytes of a batch, its offset and its epoch, that Kafka's checksum leaves out."""
ROUNDS = (2, 4)


async def bit_flips(cluster: Cluster, random: Random) -> None:
    """The machine is ended in between, so that its logs are looked through."""
    machine = random.choice(cluster.machines)
    for _ in range(random.randint(*ROUNDS)):
        await asyncio.sleep(random.uniform(1, 3))
        flip_one(machine, random)
        if random.random() < 0.5:
            machine.end(power=random.random() < 0.5)
    await asyncio.sleep(random.uniform(0, 4))
    for other in cluster.machines:
        if other is not machine:
            _check_logs(other)
    machine.replace_disk()
    machine.start()
    view = cluster.view
    await view.until(lambda: view.is_in_sync(machine, TOPIC), "the replaced disk to be in sync")


def _check_logs(machine: Machine) -> None:
    """Where no bit has turned over, none may have come from where one has."""
    for path, content in _files(machine.storage.folder(DATA_FOLDER), DATA_FOLDER):
        if path.endswith(LOG):
            for start, size in _batches(content):
                batch = bytes(content.data[start : start + size])
                if crc_of(batch) != read_header(batch).crc:
                    machine.cluster.scheduler.fail(f"{machine.host} has copied damage to {path}")


def flip_one(machine: Machine, random: Random) -> None:
    chosen = _choose(machine, random)
    position = _position_in(*chosen, random) if chosen else None
    if chosen and position is not None:
        path, content = chosen
        content.data[position] ^= 1 << random.randrange(8)
        machine.cluster.scheduler.note(f"a bit of {path} at {position} turns over")


def _choose(machine: Machine, random: Random) -> tuple[str, Content] | None:
    """Mostly a log, and of those mostly one that is being written to."""
    files = dict(_files(machine.storage.folder(DATA_FOLDER), DATA_FOLDER))
    logs = [path for path in files if path.endswith(LOG)]
    newest = list({path.rpartition("/")[0]: path for path in logs}.values())
    weighed = [(newest, 0.5), (logs, 0.3), (list(files), 0.2)]
    among, _ = random.choices(weighed, [weight for _, weight in weighed])[0]
    path = random.choice(among or list(files) or [""])
    return (path, files[path]) if path else None


def _files(folder: Folder, path: str) -> Iterator[tuple[str, Content]]:
    """Of which something is synced."""
    for name, entry in sorted(folder.names.items()):
        if isinstance(entry, Folder):
            yield from _files(entry, f"{path}/{name}")
        elif entry.synced:
            yield f"{path}/{name}", entry


def _position_in(path: str, content: Content, random: Random) -> int | None:
    if not path.endswith(LOG):
        return random.randrange(content.synced)
    batches = [*_batches(content)]
    if not batches:
        return None
    start, size = batches[-1] if random.random() < LAST_ONES else random.choice(batches)
    return start + random.choice([at for at in range(size) if at not in UNPROTECTED])


def _batches(content: Content) -> Iterator[tuple[int, int]]:
    """Where each begins, and its size; up to what has been flipped before."""
    position = 0
    while position + LENGTH_OVERHEAD <= content.synced:
        size = size_at(bytes(content.data[position : position + LENGTH_OVERHEAD]), 0)
        if size < HEADER_SIZE or position + size > content.synced:
            return
        yield position, size
        position += size
