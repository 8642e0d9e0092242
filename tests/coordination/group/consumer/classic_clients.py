"""Consumers of the classic protocol, for tests. They leave the planning to the test."""

from __future__ import annotations

from typing import Any

from tests.coordination.group.consumer.stage import HOST, NAME, Stage

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.classic import joining, syncing
from penstock.coordination.group.classic.joining import Joiner
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.consumer import classic_members
from penstock.coordination.group.consumer.embedded import by_id, plan_of
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.groups import Group
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k11_join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from penstock.wire.messages.k14_sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from penstock.wire.stored.consumer_protocol_assignment import ConsumerProtocolAssignment
from penstock.wire.stored.consumer_protocol_assignment import TopicPartition as Planned
from penstock.wire.stored.consumer_protocol_subscription import (
    ConsumerProtocolSubscription,
    TopicPartition,
)
from penstock.wire.stored_codec import encode_value


def plan(**parts: list[int]) -> bytes:
    listed = [Planned(topic, partitions) for topic, partitions in parts.items()]
    return encode_value(ConsumerProtocolAssignment(listed), 1)


class ClassicClient:
    """An eager one has nothing when it joins; a cooperative one says what it has."""

    def __init__(
        self,
        stage: Stage,
        *topics: str,
        is_eager: bool = True,
        instance_id: str | None = None,
        protocol: str = "range",
        protocol_type: str = "consumer",
    ) -> None:
        self.stage = stage
        self.topics = topics
        self.is_eager = is_eager
        self.instance_id = instance_id
        self.protocol = protocol
        self.protocol_type = protocol_type
        self.protocols: list[str] = []
        """If it proposes several."""
        self.id = ""
        self.generation = -1
        self.owned: Assignment = {}
        self.metadata: bytes | None = None

    def subscription(self) -> bytes:
        if self.metadata is not None:
            return self.metadata
        owned = [
            TopicPartition(self.stage.image.topic_by_id(topic).name, sorted(partitions))  # type: ignore[union-attr]
            for topic, partitions in self.owned.items()
            if self.stage.image.topic_by_id(topic)
        ]
        value = ConsumerProtocolSubscription(list(self.topics), owned_partitions=owned)
        return encode_value(value, 0 if self.is_eager else 1)

    def ask_to_join(self) -> JoinGroupResponse | None:
        if self.is_eager:
            self.owned = {}
        answer = self._ask_to_join()
        if answer is not None and answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.id = answer.member_id
            return self._ask_to_join()
        return answer

    def ask_for_id(self) -> JoinGroupResponse:
        answer = self._ask_to_join()
        assert answer is not None
        return answer

    def _ask_to_join(self) -> JoinGroupResponse | None:
        names = self.protocols or [self.protocol]
        request = JoinGroupRequest(
            NAME,
            10_000,
            20_000,
            self.id,
            self.instance_id,
            self.protocol_type,
            [JoinGroupRequestProtocol(name, self.subscription()) for name in names],
        )
        joiner = Joiner("classic", HOST, can_be_told_its_id=True, can_skip_assignment=True)

        def decide(turn: Turn, group: Group) -> JoinGroupResponse | None:
            if isinstance(group.body, Classic):
                return joining.join(turn, group, group.body, request, joiner)
            assert isinstance(group.body, Consumer)
            return classic_members.join(turn, group, group.body, request, joiner)

        return self.stage.run(decide, reply=("join", self))

    def join(self) -> JoinGroupResponse:
        """Into a group where nobody has to wait for others."""
        answer = self.ask_to_join()
        assert answer is not None
        self.joined(answer)
        return answer

    def joined(self, answer: JoinGroupResponse) -> None:
        assert answer.error_code == ErrorCode.NONE
        self.id, self.generation = answer.member_id, answer.generation_id

    def ask_to_sync(self, plans: dict[str, bytes] | None = None) -> SyncGroupResponse | None:
        request = SyncGroupRequest(
            NAME,
            self.generation,
            self.id,
            self.instance_id,
            self.protocol_type,
            self.protocol,
            [SyncGroupRequestAssignment(*each) for each in (plans or {}).items()],
        )

        def decide(turn: Turn, group: Group) -> SyncGroupResponse | None:
            if isinstance(group.body, Classic):
                return syncing.sync(turn, group, group.body, request)
            assert isinstance(group.body, Consumer)
            return classic_members.sync(turn, group, group.body, request)

        return self.stage.run(decide, reply=("sync", self))

    def sync(self, plans: dict[str, bytes] | None = None) -> Assignment:
        answer = self.ask_to_sync(plans)
        assert answer is not None
        self.owned = by_id(self.stage.image, plan_of(answer.assignment).assigned_partitions)
        return self.owned

    def beat(self) -> ErrorCode:
        def decide(turn: Turn, group: Group) -> None:
            who = self.id, self.instance_id, self.generation
            if isinstance(group.body, Classic):
                syncing.heartbeat(turn, group.body, *who)
            else:
                assert isinstance(group.body, Consumer)
                classic_members.heartbeat(turn, group, group.body, *who)

        try:
            self.stage.run(decide)
        except Refused as refused:
            return refused.code
        return ErrorCode.NONE

    def go_on(self) -> bool:
        """A heartbeat, and what follows from it; True if it brought anything new."""
        code = self.beat()
        if code == ErrorCode.NONE:
            return False
        if code != ErrorCode.REBALANCE_IN_PROGRESS:
            raise AssertionError(code)
        self.join()
        self.sync()
        return True

    def leave(self) -> None:
        def decide(turn: Turn, group: Group) -> Any:
            assert isinstance(group.body, Consumer)
            return classic_members.leave(turn, group, group.body, self.id, self.instance_id)

        self.stage.run(decide)


def running(stage: Stage, clients: list[ClassicClient], plans: list[bytes]) -> None:
    """A classic group of these, with the plan that the first has made."""
    answers = {}
    for client in clients:
        client.ask_to_join()
    stage.pass_ms(1_000)
    for _ in range(3):
        answers = {reply[1]: answer for reply, answer in stage.answers}  # type: ignore[index]
        if len(answers) == len(clients):
            break
    for client in clients:
        client.joined(answers[client])
    by_member = {client.id: each for client, each in zip(clients, plans, strict=True)}
    leader = next(client for client in clients if answers[client].leader == client.id)
    leader.sync(by_member)
    for client in clients:
        client.sync()
