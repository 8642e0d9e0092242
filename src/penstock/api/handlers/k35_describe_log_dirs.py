"""DescribeLogDirs: how much of the disk each partition takes.

Null asks for all partitions that are on this broker. Version 4 brought the size of the disk and the
room left. There is one data folder. Logs that have not been used since the start are not opened for
this: their files are looked at, off the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.slices import SLICE_ELEMENTS, Writing, in_slices, written
from penstock.log import layout
from penstock.log.steps import Steps
from penstock.wire.messages.k35_describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from penstock.world.ports import Disk


def describe_log_dirs(
    broker: Broker, request: DescribeLogDirsRequest, call: Call
) -> Outcome[DescribeLogDirsResponse]:
    return in_slices(
        broker,
        _topics(broker, request, call.version),
        lambda topics: _respond(broker, topics),
    )


def _topics(broker: Broker, request: DescribeLogDirsRequest, version: int) -> Steps[Any]:
    topics = Writing(version)
    for name, indexes in _wanted(broker, request).items():
        sizes = yield from _sizes(broker, name, indexes)
        parts = (DescribeLogDirsPartition(index, size) for index, size in sizes.items())
        partitions = yield from written(version, parts)
        if sizes and topics.add(DescribeLogDirsTopic(name, partitions)):
            yield None
    return topics


def _wanted(broker: Broker, request: DescribeLogDirsRequest) -> dict[str, Iterable[int]]:
    if request.topics is None:
        topics = broker.image.topics
        return {name: range(topic.record.partitions) for name, topic in topics.items()}
    wanted: dict[str, dict[int, None]] = {}
    for topic in request.topics:
        wanted.setdefault(topic.topic, {}).update(dict.fromkeys(topic.partitions))
    return dict(wanted)


def _sizes(broker: Broker, name: str, indexes: Iterable[int]) -> Steps[dict[int, int]]:
    """Of those partitions of a topic that are here."""
    sizes: dict[int, int] = {}
    folders: dict[int, str] = {}
    topic = broker.image.topic(name)
    for count, index in enumerate(indexes if topic else (), 1):
        record = topic.partition(index) if topic else None
        if record is not None and broker.node_id in record.replicas:
            log = broker.log_dir.logs.get((name, index))
            sizes[index] = log.size_bytes if log is not None and log.is_open else 0
            if log is not None and not log.is_open:
                folders[index] = log.folder
        if count % SLICE_ELEMENTS == 0:
            yield None
    if folders:
        yield lambda: sizes.update(_looked_up(broker.disk, folders))
    return sizes


def _looked_up(disk: Disk, folders: Mapping[int, str]) -> dict[int, int]:
    return {index: _size_bytes(disk, folder) for index, folder in folders.items()}


def _size_bytes(disk: Disk, folder: str) -> int:
    names = (name for name in disk.list(folder) if name.endswith(layout.LOG))
    return sum(disk.open(f"{folder}/{name}").size for name in names)


def _respond(broker: Broker, topics: Any) -> DescribeLogDirsResponse:
    path = broker.log_dir.path
    return DescribeLogDirsResponse(
        results=[
            DescribeLogDirsResult(
                log_dir=path,
                topics=topics,
                total_bytes=broker.disk.total_bytes(path),
                usable_bytes=broker.disk.free_bytes(path),
            )
        ]
    )
