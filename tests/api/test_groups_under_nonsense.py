"""Clients that ask anything at any time: each gets an answer, and no group is stuck."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.api.desk import Desk
from tests.api.grouping import SETTINGS, Asked, Room, commit, join, sync

from penstock.api.table import APIS
from penstock.errors import ErrorCode, Refused
from penstock.wire.codec import Message
from penstock.wire.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from penstock.wire.messages.k11_join_group import JoinGroupRequestProtocol
from penstock.wire.messages.k12_heartbeat import HeartbeatRequest
from penstock.wire.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from penstock.wire.messages.k15_describe_groups import DescribeGroupsRequest
from penstock.wire.messages.k16_list_groups import ListGroupsRequest
from penstock.wire.messages.k42_delete_groups import DeleteGroupsRequest
from penstock.wire.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from penstock.world.real_disk import RealDisk

GROUPS = ["one", "two"]
LONG_MS = 4_000_000


class Crowd:
    def __init__(self, room: Room, seed: int) -> None:
        self.room = room
        self.random = random.Random(seed)
        self.asked: list[Asked] = []

    def act(self) -> None:
        kind = self.random.randrange(100)
        if kind < 5:
            self.room.wait(self.random.choice([1, 1, 3_000, 3_000, 3_000, 11_000, 61_000]))
        elif kind < 15:
            self.room.load()
            self.room.sync()
        elif kind == 15:
            for shard in list(self.room.groups.shards.values()):
                self.room.groups.load_again(shard)
        else:
            self.ask()

    def ask(self) -> None:
        request = self.request()
        self.asked.append(self.room.ask(request, self.random.choice(_versions(request))))

    def request(self) -> Message:
        group, member = self.random.choice(GROUPS), self.member()
        generation, instance = self.random.randint(-1, 6), self.random.choice([None] * 4 + ["i"])
        choices: list[Any] = [
            lambda: self.join(group, member, None),
            lambda: self.join(group, member, None),
            lambda: self.join(group, member, instance),
            lambda: self.join(group, "", instance),
            lambda: self.sync(group, member),
            lambda: self.sync(group, member),
            lambda: sync(member, self.members(group), group, generation),
            lambda: HeartbeatRequest(group, generation, member, instance),
            lambda: LeaveGroupRequest(group, member),
            lambda: LeaveGroupRequest(group, "", [MemberIdentity(member, instance)] * 2),
            lambda: commit(group=group, member_id=member, generation=self.generation(group)),
            lambda: commit(group=group, partitions=(0, 1, 9)),
            lambda: OffsetFetchRequest(group, None),
            lambda: OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=None)]),
            lambda: DescribeGroupsRequest([*GROUPS, ""]),
            ListGroupsRequest,
            lambda: DeleteGroupsRequest([group]),
            lambda: OffsetDeleteRequest(
                group, [OffsetDeleteRequestTopic("orders", [OffsetDeleteRequestPartition(0)])]
            ),
        ]
        made: Message = self.random.choice(choices)()
        return made

    def join(self, group: str, member: str, instance: str | None) -> Message:
        names = self.random.sample(["range", "sticky", "other"], self.random.randint(2, 3))
        return join(
            group,
            member,
            group_instance_id=instance,
            protocol_type=self.random.choice(["consumer"] * 5 + ["connect"]),
            protocols=[JoinGroupRequestProtocol(name, name.encode()) for name in names],
            rebalance_timeout_ms=self.random.choice([-1, 0, 5_000, 60_000]),
        )

    def sync(self, group: str, member: str) -> Message:
        request = sync(member, self.members(group), group, self.generation(group))
        request.protocol_type = request.protocol_name = None
        return request

    def members(self, group: str) -> list[str]:
        """Those who are there, and those who have been told their id."""
        body = self._body(group)
        return [*body.members, *body.pending] if body else []

    def generation(self, group: str) -> int:
        body = self._body(group)
        return body.generation if body else 0

    def _body(self, group: str) -> Any:
        shard = self.room.groups.shards.get(self.room.groups.place(group)[0])
        found = shard.kept.get(group) if shard else None
        return found.body if found else None

    def member(self) -> str:
        known = [each for group in GROUPS for each in self.members(group)]
        return self.random.choice([*known, *known, *known, "nobody"])


def _versions(request: Message) -> list[int]:
    """That can say all of it."""
    found = []
    versions = APIS[request.KEY].versions
    for version in range(versions.min, versions.max + 1):
        with suppress(ValueError):
            request.encode(version)
            found.append(version)
    return found


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_everyone_is_answered_and_every_group_comes_to_rest(seed: int) -> None:
    disk = RealDisk()
    with TemporaryDirectory() as folder:
        desk = Desk(disk, Path(folder), SETTINGS)
        desk.create("orders", partitions=2)
        room = Room(desk)
        crowd = Crowd(room, seed)
        for _ in range(300):
            crowd.act()
        room.load()
        room.wait(LONG_MS)
        room.sync()
        assert not any(each.is_waiting for each in crowd.asked)
        for each in crowd.asked:
            assert getattr(each.answer, "error_code", 0) != ErrorCode.UNKNOWN_SERVER_ERROR
        for name in GROUPS:
            assert not crowd.members(name)
        desk.log_dir.abandon()
    disk.close()


@pytest.mark.parametrize("name", ["\0", " ", "..", "a/b", "\N{GRINNING FACE}", "x" * 1000])
def test_whatever_a_group_is_called_it_works(room: Room, name: str) -> None:
    (member,) = room.settle(1, name)
    answer = room.tell(commit(group=name, member_id=member, generation=1))
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
    with pytest.raises(Refused):
        room.shard("x" + "x" * 1000)
