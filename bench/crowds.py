"""Ten thousand members that join in the same moment: for how long the loop is held at most.

The broker is stopped while all of them send, so that it finds all connections ready at once.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.group_members import FIND_VERSION, NEW_VERSION
from bench.measurement import Result
from bench.pinned_broker import PinnedBroker
from bench.raw_client import RawClient, join
from penstock.wire.codec import Message, decode_response, encode_request
from penstock.wire.messages import message_types
from penstock.wire.messages.k10_find_coordinator import FindCoordinatorRequest
from penstock.wire.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from penstock.wire.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from penstock.wire.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

MEMBERS, CONNECTIONS = 10_000, 5_000
"""Two on each connection: so many fit into the file handles of most machines, on both sides."""
PARTITIONS = 100
GOAL_MS = 10
TIMEOUT_MS = 60_000
JOIN_VERSION, SYNC_VERSION = 3, 3

GroupOf = Callable[[int], str]


def one_classic_group(profile: Path | None = None) -> Result:
    return _measured("in one classic group", _classic, lambda _: "crowd", profile)


def one_new_group(profile: Path | None = None) -> Result:
    return _measured("in one KIP-848 group", _new, lambda _: "crowd", profile)


def own_groups(profile: Path | None = None) -> Result:
    return _measured("each a group of its own", _classic, lambda n: f"group-{n}", profile)


class Crowd:
    """Many connections, and what they held up of the loop."""

    def __init__(self, broker: PinnedBroker, out: Path, clients: list[RawClient]) -> None:
        self._broker = broker
        self._out = out
        self._clients = clients
        self.holds: list[tuple[str, float, float]] = []

    def ask(self, what: str, requests: Sequence[Message], version: int) -> list[Any]:
        """All in one moment; the answers in the order of the requests."""
        self._look()
        process = self._broker.process
        process.send_signal(signal.SIGSTOP)
        for number, request in enumerate(requests):
            client = self._clients[number % CONNECTIONS]
            client.socket.sendall(join(encode_request(request, version, number, "bench")))
        process.send_signal(signal.SIGCONT)
        answers = dict(self._received(requests, version))
        self.holds.append((what, *self._look()))
        return [answers[number] for number in range(len(requests))]

    def _received(self, requests: Sequence[Message], version: int) -> Iterator[tuple[int, Any]]:
        kind = message_types(requests[0].KEY)[1]
        for number in range(len(requests)):
            yield decode_response(kind, self._clients[number % CONNECTIONS].answer(), version)

    def _look(self) -> tuple[float, float]:
        """The longest hold since the last time, and the longest collection of garbage, in ms."""
        self._out.unlink(missing_ok=True)
        self._broker.process.send_signal(signal.SIGUSR1)
        while not self._out.exists():
            time.sleep(0.01)
        held, collecting = json.loads(self._out.read_text())
        return held, collecting


@contextmanager
def _crowd(profile: Path | None) -> Iterator[Crowd]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "holds.json"
        under = ("-m", "bench.holds", str(out))
        with PinnedBroker(profile=profile, under=under) as broker, broker.client() as client:
            client.create_topic("work", partitions=PARTITIONS)
            _await_coordinator(client)
            clients = [RawClient(broker.host, broker.port) for _ in range(CONNECTIONS)]
            yield Crowd(broker, out, clients)
            for each in clients:
                each.close()


def _await_coordinator(client: RawClient) -> None:
    request = FindCoordinatorRequest(coordinator_keys=["crowd"])
    while client.request(request, FIND_VERSION).coordinators[0].error_code:
        time.sleep(0.05)


def _measured(
    name: str, play: Callable[[Crowd, GroupOf], None], group: GroupOf, profile: Path | None
) -> Result:
    with _crowd(profile) as crowd:
        play(crowd, group)
    worst = max(held for _, held, _ in crowd.holds)
    return Result(
        f"loop held at most, {MEMBERS} joins at once {name}",
        worst,
        "ms",
        f"<= {GOAL_MS}",
        worst <= GOAL_MS,
        ", ".join(f"{what} {held:.0f} (garbage {spent:.0f})" for what, held, spent in crowd.holds),
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
