"""What groups cost: how fast they settle and commit, what they take at rest and to be loaded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from bench.group_members import SESSION_MS, ClassicMember, Link, NewMember, find_coordinator
from bench.measurement import Result
from bench.pinned_broker import PinnedBroker
from bench.raw_client import join
from penstock.wire.codec import encode_request
from penstock.wire.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

MEMBERS, PARTITIONS = 100, 1000
INTERVAL_MS = 1000
"""Of heartbeats; what the broker sets for a hundred members of KIP-848."""
GOAL_MS = INTERVAL_MS + 1000
NEW_SESSION_MS = 45_000
"""group.consumer.session.timeout.ms, as it is by default."""
COMMIT_VERSION = 8
OFFSETS_A_GROUP = 10


def settle_classic(profile: Path | None = None) -> Result:
    return _settling("classic", _classic, profile)


def settle_new(profile: Path | None = None) -> Result:
    return _settling("KIP-848", _new, profile)


def _settling(
    name: str, play: Callable[[PinnedBroker], Awaitable[tuple[float, float]]], profile: Path | None
) -> Result:
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        client.create_topic("work", partitions=PARTITIONS)
        after_join, after_death = asyncio.run(_play(play, broker))
    worst = 1000 * max(after_join, after_death)
    return Result(
        f"{MEMBERS} consumers on {PARTITIONS} partitions settle, {name}",
        worst,
        "ms",
        f"<= {GOAL_MS}",
        worst <= GOAL_MS,
        f"{1000 * after_join:.0f} ms after a join, {1000 * after_death:.0f} ms after a death",
    )


async def _play(
    play: Callable[[PinnedBroker], Awaitable[tuple[float, float]]], broker: PinnedBroker
) -> tuple[float, float]:
    await find_coordinator(broker.host, broker.port, "g")
    return await play(broker)


async def _classic(broker: PinnedBroker) -> tuple[float, float]:
    members: dict[ClassicMember, asyncio.Task[None]] = {}
    settled = asyncio.Event()

    def look(_: object) -> None:
        generations = {member.generation for member in members}
        if len(generations) == 1 and wanted == len(members) and -1 not in generations:
            settled.set()

    async def add() -> ClassicMember:
        link = await Link.open(broker.host, broker.port)
        member = ClassicMember(link, "g", INTERVAL_MS, look)
        members[member] = asyncio.create_task(member.run())
        return member

    wanted = MEMBERS
    for _ in range(MEMBERS):
        await add()
    await asyncio.wait_for(settled.wait(), 60)
    await asyncio.sleep(2)
    settled.clear()
    wanted += 1
    began = time.perf_counter()
    newest = await add()
    await asyncio.wait_for(settled.wait(), 60)
    after_join = time.perf_counter() - began
    await asyncio.sleep(2)
    settled.clear()
    members.pop(newest).cancel()
    newest.close()
    wanted -= 1
    found_dead = newest.last_heartbeat + SESSION_MS / 1000
    generation = newest.generation
    while any(member.generation == generation for member in members):
        await asyncio.sleep(0.01)
    await asyncio.wait_for(settled.wait(), 60)
    after_death = asyncio.get_running_loop().time() - found_dead
    _end(members)
    return after_join, after_death


async def _new(broker: PinnedBroker) -> tuple[float, float]:
    members: dict[NewMember, asyncio.Task[None]] = {}
    settled = asyncio.Event()

    def look(_: object) -> None:
        sizes = [member.size for member in members]
        epochs = {member.epoch for member in members}
        if sum(sizes) == PARTITIONS and max(sizes) - min(sizes) <= 1 and len(epochs) == 1:
            settled.set()

    async def add() -> NewMember:
        link = await Link.open(broker.host, broker.port)
        member = NewMember(link, "g", f"member-{len(members)}", ["work"], look)
        members[member] = asyncio.create_task(member.run())
        return member

    for _ in range(MEMBERS):
        await add()
    await asyncio.wait_for(settled.wait(), 60)
    await asyncio.sleep(2)
    settled.clear()
    before = {member: member.changes for member in members}
    began = time.perf_counter()
    newest = await add()
    await asyncio.wait_for(settled.wait(), 60)
    after_join = time.perf_counter() - began
    disturbed = sum(member.changes > count for member, count in before.items())
    assert disturbed <= newest.size, f"{disturbed} members were told of something"
    await asyncio.sleep(2)
    settled.clear()
    members.pop(newest).cancel()
    newest.close()
    found_dead = newest.last_heartbeat + NEW_SESSION_MS / 1000
    await asyncio.wait_for(settled.wait(), 60)
    after_death = asyncio.get_running_loop().time() - found_dead
    _end(members)
    return after_join, after_death


def _end(members: Mapping[Any, asyncio.Task[None]]) -> None:
    for member, task in members.items():
        task.cancel()
        member.close()


def commit_frame(group: str, partitions: int) -> bytes:
    request = OffsetCommitRequest(
        group,
        topics=[
            OffsetCommitRequestTopic(
                "work",
                partitions=[OffsetCommitRequestPartition(n, 1000 + n) for n in range(partitions)],
            )
        ],
    )
    return join(encode_request(request, COMMIT_VERSION, 1, "bench"))


def commits(profile: Path | None = None) -> Result:
    """One partition each, pipelined; acknowledged once synced to disk, as is the default."""
    total = 60_000
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        client.create_topic("work", partitions=10)
        asyncio.run(find_coordinator(broker.host, broker.port, "g"))
        frame = commit_frame("g", 1)
        client.pipeline(frame, 5_000, window=1000, at_once=50)
        spent = broker.spent()
        client.pipeline(frame, total, window=1000, at_once=50)
        elapsed, cpu = spent()
    rate = total / elapsed
    return Result(
        "commits, each synced (acks=all)",
        rate,
        "/s",
        ">= 10,000",
        rate >= 10_000,
        f"{1e6 * cpu / total:.0f} us of CPU each",
    )


def groups_at_rest(profile: Path | None = None) -> Result:
    """What 10,000 groups with ten offsets each add to a broker's memory."""
    with PinnedBroker(profile=profile) as broker, broker.client() as client:
        client.create_topic("work", partitions=OFFSETS_A_GROUP)
        asyncio.run(find_coordinator(broker.host, broker.port, "g"))
        empty = broker.resident_mb()
        for number in range(10_000):
            client.ask(commit_frame(f"group-{number}", OFFSETS_A_GROUP))
        grown = broker.resident_mb() - empty
    return Result("10,000 groups at rest", grown, "MB", "< 100", grown < 100)


def loading(profile: Path | None = None) -> Result:
    """A million commits to 10,000 keys, read again after a restart."""
    total, each = 1_000_000, 100
    with PinnedBroker(profile=profile) as broker:
        with broker.client() as client:
            client.create_topic("work", partitions=each)
            asyncio.run(find_coordinator(broker.host, broker.port, "g"))
            for number in range(100):
                frame = commit_frame(f"g-{number}", each)
                client.pipeline(frame, total // each // 100, window=50, at_once=5)
        broker.restart()
        began = time.perf_counter()
        with broker.client() as client:
            for number in range(100):
                while b"\0\x0e" in client.ask(commit_frame(f"g-{number}", 1))[-16:]:
                    time.sleep(0.01)
        took = time.perf_counter() - began
    return Result("a million commits loaded", took, "s", "< 5", took < 5)
