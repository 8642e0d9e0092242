"""A member of the classic protocol: generations, and a leader that shares out the partitions."""

from __future__ import annotations

from penstock.errors import ErrorCode
from penstock.sim.groups.asking import Out
from penstock.sim.groups.member import NOT_IN, SESSION_MS, Member
from penstock.wire.messages.k11_join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from penstock.wire.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from penstock.wire.messages.k13_leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from penstock.wire.messages.k14_sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from penstock.wire.stored.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from penstock.wire.stored.consumer_protocol_subscription import ConsumerProtocolSubscription
from penstock.wire.stored_codec import decode_embedded, encode_value

JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, LEAVE_VERSION = 6, 4, 3, 4
FORMAT_VERSION = 1


class ClassicMember(Member):
    async def beat(self) -> None:
        if self.epoch == NOT_IN:
            await self._join()
            return
        request = HeartbeatRequest(self.group, self.epoch, self.id)
        self.judge((await self.ask(request, HEARTBEAT_VERSION, HeartbeatResponse)).error_code)

    def fall_behind(self) -> None:
        """Everyone gives up what it has before the work is shared anew."""
        self.forget()

    async def _join(self) -> None:
        joined = await self._asked_to_join()
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.id = joined.member_id
            joined = await self._asked_to_join()
        if joined.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self.id = ""
        self.judge(joined.error_code)
        self.id = joined.member_id
        plan = self._plan(joined) if joined.leader == self.id else []
        request = SyncGroupRequest(self.group, joined.generation_id, self.id, assignments=plan)
        synced = await self.ask(request, SYNC_VERSION, SyncGroupResponse)
        self.judge(synced.error_code)
        self.epoch = joined.generation_id
        share = decode_embedded(ConsumerProtocolAssignment, synced.assignment)
        self.own([index for each in share.assigned_partitions for index in each.partitions])

    async def _asked_to_join(self) -> JoinGroupResponse:
        wishes = encode_value(ConsumerProtocolSubscription([self.topic]), FORMAT_VERSION)
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=SESSION_MS,
            member_id=self.id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol("range", wishes)],
        )
        return await self.ask(request, JOIN_VERSION, JoinGroupResponse)

    def _plan(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        """Each gets every so many-th partition."""
        members = sorted(each.member_id for each in joined.members)
        plan = []
        for number, member in enumerate(members):
            share = list(range(number, self.partitions, len(members)))
            content = ConsumerProtocolAssignment([TopicPartition(self.topic, share)])
            encoded = encode_value(content, FORMAT_VERSION)
            plan.append(SyncGroupRequestAssignment(member, encoded))
        return plan

    async def leave(self) -> None:
        request = LeaveGroupRequest(group_id=self.group, members=[MemberIdentity(self.id)])
        await self.ask(request, LEAVE_VERSION, LeaveGroupResponse)
        self.id = ""
        raise Out
