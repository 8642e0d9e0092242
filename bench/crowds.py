"""Thousands who want something in the same moment: for how long the loop is held at most.

Where they join groups, the broker is stopped while all of them send, so that it finds all
connections ready at once.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.group_members import NEW_VERSION
from bench.measurement import Result
from bench.raw_client import RawClient, batch_of, fetch_frame, join, produce_frame
from bench.watched_broker import Held, WatchedBroker, watched_broker
from penstock.wire.codec import Message, decode_response, encode_request
from penstock.wire.messages import message_types
from penstock.wire.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from penstock.wire.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from penstock.wire.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

MEMBERS, CONNECTIONS = 10_000, 5_000
"""Two on each connection: so many fit into the file handles of most machines, on both sides."""
PARTITIONS = 100
GOAL_MS = 10
TIMEOUT_MS = 60_000
SETTLE_S = 2
"""After which all requests wait."""
JOIN_VERSION, SYNC_VERSION = 3, 3

GroupOf = Callable[[int], str]


def one_classic_group(profile: Path | None = None) -> Result:
    return _measured("in one classic group", _classic, lambda _: "crowd", profile)


def one_new_group(profile: Path | None = None) -> Result:
    return _measured("in one KIP-848 group", _new, lambda _: "crowd", profile)


def own_groups(profile: Path | None = None) -> Result:
    return _measured("each a group of its own", _classic, lambda n: f"group-{n}", profile)


def readers(profile: Path | None = None) -> Result:
    """Consumers who wait at the same partition, and one record for all of them."""
    with watched_broker(profile) as (broker, client):
        client.create_topic("news")
        client.await_taken(record := produce_frame("news", 0, batch_of(1, 1000), 1))
        clients = [RawClient(broker.host, broker.port) for _ in range(CONNECTIONS)]
        for each in clients:
            each.socket.sendall(fetch_frame("news", 1, 1 << 20, TIMEOUT_MS))
        time.sleep(SETTLE_S)
        broker.look()
        client.ask(record)
        for each in clients:
            each.answer()
            each.close()
        held = broker.look()
    return _result(f"{CONNECTIONS} consumers wait for one record", [("fetch", held)])


class Crowd:
    """Many connections, and what they held up of the loop."""

    def __init__(self, broker: WatchedBroker, clients: list[RawClient]) -> None:
        self._broker = broker
        self._clients = clients
        self.holds: list[tuple[str, Held]] = []

    def ask(self, what: str, requests: Sequence[Message], version: int) -> list[Any]:
        """All in one moment; the answers in the order of the requests."""
        self._broker.look()
        process = self._broker.process
        process.send_signal(signal.SIGSTOP)
        for number, request in enumerate(requests):
            client = self._clients[number % CONNECTIONS]
            client.socket.sendall(join(encode_request(request, version, number, "bench")))
        process.send_signal(signal.SIGCONT)
        answers = dict(self._received(requests, version))
        self.holds.append((what, self._broker.look()))
        return [answers[number] for number in range(len(requests))]

    def _received(self, requests: Sequence[Message], version: int) -> Iterator[tuple[int, Any]]:
        kind = message_types(requests[0].KEY)[1]
        for number in range(len(requests)):
            yield decode_response(kind, self._clients[number % CONNECTIONS].answer(), version)


@contextmanager
def _crowd(profile: Path | None) -> Iterator[Crowd]:
    with watched_broker(profile) as (broker, client):
        client.create_topic("work", partitions=PARTITIONS)
        clients = [RawClient(broker.host, broker.port) for _ in range(CONNECTIONS)]
        yield Crowd(broker, clients)
        for each in clients:
            each.close()


def _measured(
    name: str, play: Callable[[Crowd, GroupOf], None], group: GroupOf, profile: Path | None
) -> Result:
    with _crowd(profile) as crowd:
        play(crowd, group)
    return _result(f"{MEMBERS} joins at once {name}", crowd.holds)


def _result(name: str, holds: Sequence[tuple[str, Held]]) -> Result:
    worst = max(held.longest for _, held in holds)
    return Result(
        f"loop held at most, {name}",
        worst,
        "ms",
        f"<= {GOAL_MS}",
        worst <= GOAL_MS,
        ", ".join(
            f"{what} {held.longest:.0f} (garbage {held.collecting:.0f})" for what, held in holds
        ),
    )


def _classic(crowd: Crowd, group: GroupOf) -> None:
    protocols = [JoinGroupRequestProtocol("range", b"\0\1")]
    joined = crowd.ask(
        "join",
        [
            JoinGroupRequest(
                group(n), TIMEOUT_MS, TIMEOUT_MS, protocol_type="consumer", protocols=protocols
            )
            for n in range(MEMBERS)
        ],
        JOIN_VERSION,
    )
    assert not any(answer.error_code for answer in joined)
    requests = [_sync_of(group(n), answer) for n, answer in enumerate(joined)]
    synced = crowd.ask("sync", requests, SYNC_VERSION)
    assert not any(answer.error_code for answer in synced)


def _sync_of(group: str, joined: Any) -> Message:
    plan = [SyncGroupRequestAssignment(each.member_id, bytes(20)) for each in joined.members]
    return SyncGroupRequest(group, joined.generation_id, joined.member_id, assignments=plan)


def _new(crowd: Crowd, group: GroupOf) -> None:
    ids = [os.urandom(16).hex() for _ in range(MEMBERS)]
    joining = [
        ConsumerGroupHeartbeatRequest(
            group(n),
            member_id,
            rebalance_timeout_ms=TIMEOUT_MS,
            subscribed_topic_names=["work"],
            topic_partitions=[],
        )
        for n, member_id in enumerate(ids)
    ]
    joined = crowd.ask("join", joining, NEW_VERSION)
    assert not any(answer.error_code for answer in joined)
    beats: list[Message] = [
        ConsumerGroupHeartbeatRequest(group(n), each.member_id, each.member_epoch)
        for n, each in enumerate(joined)
    ]
    assert crowd.ask("heartbeat", beats, NEW_VERSION)
