"""DescribeLogDirs: how much of the disk each partition takes.

Null asks for all partitions that are on this broker. Version 4 brought the size of the disk and the
room left. There is one data folder. Logs that have not been used since the start are not opened for
this: their files are looked at, off the loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome, Resume
from penstock.log import layout
from penstock.metadata.cluster import Topic
from penstock.wire.messages.k35_describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from penstock.world.ports import Disk

Partition = tuple[str, int]


def describe_log_dirs(
    broker: Broker, request: DescribeLogDirsRequest, call: Call
) -> Outcome[DescribeLogDirsResponse]:
    sizes: dict[Partition, int] = {}
    folders: dict[Partition, str] = {}
    for partition in _wanted(broker, request):
        log = broker.log_dir.logs.get(partition)
        sizes[partition] = log.size_bytes if log is not None and log.is_open else 0
        if log is not None and not log.is_open:
            folders[partition] = log.folder
    if not folders:
        return _respond(broker, sizes)

    def look() -> dict[Partition, int]:
        return {key: _size_bytes(broker.disk, folder) for key, folder in folders.items()}

    return Resume(
        lambda: broker.disk.offload(look), lambda found: _respond(broker, {**sizes, **found})
    )


def _wanted(broker: Broker, request: DescribeLogDirsRequest) -> Iterator[Partition]:
    if request.topics is None:
        for topic in broker.image.topics.values():
            yield from _held(broker, topic, range(topic.record.partitions))
        return
    for wanted in request.topics:
        asked = broker.image.topic(wanted.topic)
        if asked is not None:
            yield from _held(broker, asked, wanted.partitions)


def _held(broker: Broker, topic: Topic, indexes: range | list[int]) -> Iterator[Partition]:
    for index in indexes:
        record = topic.partition(index)
        if record is not None and broker.node_id in record.replicas:
            yield topic.name, index


def _size_bytes(disk: Disk, folder: str) -> int:
    names = (name for name in disk.list(folder) if name.endswith(layout.LOG))
    return sum(disk.open(f"{folder}/{name}").size for name in names)


def _respond(broker: Broker, sizes: dict[Partition, int]) -> DescribeLogDirsResponse:
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for (topic, index), size in sizes.items():
        topics.setdefault(topic, []).append(DescribeLogDirsPartition(index, size))
    path = broker.log_dir.path
    return DescribeLogDirsResponse(
        results=[
            DescribeLogDirsResult(
                log_dir=path,
                topics=[DescribeLogDirsTopic(name, parts) for name, parts in topics.items()],
                total_bytes=broker.disk.total_bytes(path),
                usable_bytes=broker.disk.free_bytes(path),
            )
        ]
    )
