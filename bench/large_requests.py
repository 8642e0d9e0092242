"""Requests of ten thousand topics or partitions: for how long one holds the loop at most."""

from __future__ import annotations

import os
from pathlib import Path

from bench.measurement import Result
from bench.raw_client import batch_of, join
from bench.watched_broker import watched_broker
from penstock.wire.codec import Message, encode_request
from penstock.wire.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from penstock.wire.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from penstock.wire.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from penstock.wire.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.wire.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from penstock.wire.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity

TOPICS = 10_000
NAMES = [f"topic-{number:06d}" for number in range(2 * TOPICS)]
TIMES = 8
GOAL_MS = 10


def large_requests(profile: Path | None = None) -> Result:
    held: dict[str, float] = {}
    with watched_broker(profile) as (broker, client):
        client.create_topic("written", TOPICS)
        client.ask(join(encode_request(_produce(), 9, 1, "bench")))  # makes their files
        for what, (request, version) in _requests().items():
            frame = join(encode_request(request, version, 1, "bench"))
            broker.look()
            for _ in range(TIMES):
                client.ask(frame)
            held[what] = broker.look().longest
    worst = max(held.values())
    return Result(
        f"loop held at most, requests of {TOPICS} topics",
        worst,
        "ms",
        f"<= {GOAL_MS}",
        worst <= GOAL_MS,
        ", ".join(f"{what} {ms:.1f}" for what, ms in held.items()),
    )


def _requests() -> dict[str, tuple[Message, int]]:
    return {
        "Produce": (_produce(), 9),
        "Metadata": (_metadata(), 9),
        "Fetch": (_fetch(), 11),
        "Fetch, in a session": (_fetch(session_epoch=0), 11),
        "OffsetFetch": (_offset_fetch(), 9),
        "OffsetCommit": (_offset_commit(), 8),
        "LeaveGroup": (_leave_group(), 5),
    }


def _produce() -> Message:
    batch = batch_of(1, 20)
    parts = [PartitionProduceData(index, batch) for index in range(TOPICS)]
    return ProduceRequest(
        acks=1, timeout_ms=30_000, topic_data=[TopicProduceData("written", partition_data=parts)]
    )


def _metadata() -> Message:
    topics = [MetadataRequestTopic(name=name) for name in NAMES]
    return MetadataRequest(topics, allow_auto_topic_creation=False)


def _fetch(session_epoch: int = -1) -> Message:
    topics = [FetchTopic(name, partitions=[FetchPartition(0)]) for name in NAMES[:TOPICS]]
    return FetchRequest(max_wait_ms=0, min_bytes=0, session_epoch=session_epoch, topics=topics)


def _offset_fetch() -> Message:
    topics = [OffsetFetchRequestTopics(name, partition_indexes=[0]) for name in NAMES[:TOPICS]]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup("group", topics=topics)])


def _offset_commit() -> Message:
    topics = [
        OffsetCommitRequestTopic(
            name, partitions=[OffsetCommitRequestPartition(0, 5, committed_metadata="")]
        )
        for name in NAMES[:TOPICS]
    ]
    return OffsetCommitRequest("group", topics=topics)


def _leave_group() -> Message:
    members = [MemberIdentity("consumer-" + os.urandom(7).hex()) for _ in NAMES]
    return LeaveGroupRequest("group", members=members)
