"""JoinGroup: who may join, under which id, and whether that begins a round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from penstock.coordination.group.classic.phases import Phase
from penstock.coordination.group.classic.rounds import (
    begin_round,
    end_round_if_complete,
    extend_round,
    joined,
    refuse_join,
    refuse_sync,
    touch,
)
from penstock.coordination.group.classic.state import Classic, Member, Protocols
from penstock.coordination.group.classic.stored import write_plan
from penstock.coordination.group.classic.subscriptions import what_it_wants
from penstock.coordination.group.groups import Group
from penstock.coordination.group.members import (
    check_instance,
    check_metadata,
    metadata_bytes,
    new_member_id,
    unknown_member,
)
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused
from penstock.wire.messages.k11_join_group import JoinGroupRequest, JoinGroupResponse


class Joiner(NamedTuple):
    """Who asks to join, beside what the request says."""

    client_id: str
    client_host: str
    can_be_told_its_id: bool
    """Before it joins with that (KIP-394)."""
    can_skip_assignment: bool
    """So that a leader may come back without making a new plan (KIP-814)."""


def join(
    turn: Turn, group: Group, body: Classic, request: JoinGroupRequest, joiner: Joiner
) -> JoinGroupResponse | None:
    """The answer, or None: it comes at the end of the round."""
    protocols = {each.name: bytes(each.metadata) for each in request.protocols}
    return Join(turn, group, body, request, joiner, protocols).run()


def planned(body: Classic) -> dict[str, bytes]:
    return {each.id: each.assignment for each in body.members.values()}


@dataclass(slots=True)
class Join:
    turn: Turn
    group: Group
    body: Classic
    request: JoinGroupRequest
    joiner: Joiner
    protocols: Protocols

    def run(self) -> JoinGroupResponse | None:
        body, member_id = self.body, self.request.member_id
        if self.request.group_instance_id is not None:
            return self.join_static(self.request.group_instance_id)
        if member_id in body.members:
            return self.join_again(body.members[member_id])
        if member_id and member_id not in body.pending:
            raise unknown_member(member_id)
        self.check_accepted()
        self.check_size()
        if not member_id and self.joiner.can_be_told_its_id:
            return self.hand_out_id()
        body.pending.pop(member_id, None)
        return self.add(member_id or new_member_id(self.turn, self.joiner.client_id))

    def hand_out_id(self) -> JoinGroupResponse:
        """So that a client whose answer is lost does not leave a member behind at every try."""
        member_id = new_member_id(self.turn, self.joiner.client_id)
        deadline_ms = self.turn.time_ms + self.request.session_timeout_ms
        self.body.pending[member_id] = deadline_ms
        self.turn.wake_at(deadline_ms)
        return JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id)

    # -- static members

    def join_static(self, instance_id: str) -> JoinGroupResponse | None:
        body, member_id = self.body, self.request.member_id
        known = body.members.get(body.static.get(instance_id, ""))
        if member_id:
            if known is None:
                raise unknown_member(member_id)
            check_instance(body.static, body.members.get(member_id), instance_id)
            return self.join_again(known)
        if known is not None:
            self.check_accepted(but_for=known.id)
            self.check_metadata(known)
            self.check_room()
            return self.replace(known)
        self.check_accepted()
        self.check_size()
        return self.add(new_member_id(self.turn, instance_id))

    def replace(self, member: Member) -> JoinGroupResponse | None:
        """It was started again: its former self is fenced, and its place is its own.

        If it brings nothing new, the generation goes on: that is what static members are for.
        """
        turn, body = self.turn, self.body
        refuse_join(turn, body, member, ErrorCode.FENCED_INSTANCE_ID)
        refuse_sync(turn, member, ErrorCode.FENCED_INSTANCE_ID)
        known_by, wanted = member.id, what_it_wants(body, member)
        body.rename(member, new_member_id(turn, member.instance_id or ""))
        member.before = b""
        self.update(member)
        member.client_id, member.client_host = self.joiner.client_id, self.joiner.client_host
        touch(turn, member)
        is_stable = body.phase is Phase.STABLE and body.choose_protocol() == body.protocol
        if not is_stable or what_it_wants(body, member) != wanted:
            return self.wait_in_round(member)
        write_plan(turn, self.group.name, body, planned(body))
        return self.returned(member, known_by)

    def returned(self, member: Member, known_by: str) -> JoinGroupResponse:
        """A leader that does not know how to skip the planning is told that another one leads."""
        is_leader = member.id == self.body.leader
        if is_leader and not self.joiner.can_skip_assignment:
            answer = joined(self.body, member)
            answer.leader, answer.members = known_by, []
            return answer
        return joined(self.body, member, skip_assignment=is_leader)

    # -- members that are known

    def join_again(self, member: Member) -> JoinGroupResponse | None:
        body = self.body
        self.check_accepted(but_for=member.id)
        self.check_metadata(member)
        touch(self.turn, member)
        member.before = b""
        if list(member.protocols.items()) == list(self.protocols.items()):
            if body.phase is Phase.SYNCING:
                return joined(body, member)  # the answer was lost on its way
            if body.phase is Phase.STABLE and member.id != body.leader:
                return joined(body, member)
        self.update(member)
        return self.wait_in_round(member)

    def update(self, member: Member) -> None:
        self.body.propose(member, self.protocols)
        member.session_timeout_ms = self.request.session_timeout_ms
        member.rebalance_timeout_ms = self.rebalance_timeout_ms

    @property
    def rebalance_timeout_ms(self) -> int:
        """Clients that know of no such thing mean their session's."""
        given = self.request.rebalance_timeout_ms
        return given if given >= 0 else self.request.session_timeout_ms

    # -- new members

    def add(self, member_id: str) -> JoinGroupResponse | None:
        body, request = self.body, self.request
        if not body.members:
            body.protocol_type = request.protocol_type
        member = Member(
            id=member_id,
            instance_id=request.group_instance_id,
            client_id=self.joiner.client_id,
            client_host=self.joiner.client_host,
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            protocols=self.protocols,
        )
        body.add(member)
        extend_round(self.turn, body)
        return self.wait_in_round(member)

    def wait_in_round(self, member: Member) -> JoinGroupResponse | None:
        turn, body = self.turn, self.body
        before = body.park_join(member, turn.reply)
        if before is not None:  # an earlier try of the same member: nobody reads that answer
            turn.answer(
                before,
                JoinGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS, member_id=member.id),
            )
        touch(turn, member)
        if body.phase is Phase.JOINING:
            end_round_if_complete(turn, self.group, body)
        else:
            begin_round(turn, self.group, body)
        return None

    # -- what is refused

    def check_accepted(self, but_for: str = "") -> None:
        if not self.body.accepts(self.request.protocol_type, self.protocols, but_for):
            raise Refused(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                f"the group's members speak {self.body.protocol_type or 'nothing yet'}, with "
                f"{', '.join(sorted(self.body.common_protocols())) or 'no assignor'} in common",
            )

    def check_metadata(self, known: Member | None = None) -> None:
        """One that is in the group already may always say as much as it did."""
        before = metadata_bytes(known.protocols) if known else 0
        own = metadata_bytes(self.protocols)
        if own > before:
            check_metadata(self.body.metadata_bytes - before, own)

    def check_room(self) -> None:
        """For the plan, which is written with the new id in it."""
        plan = sum(map(len, planned(self.body).values()))
        self.turn.check_room(plan + self.body.metadata_bytes + metadata_bytes(self.protocols))

    def check_size(self) -> None:
        self.check_metadata()
        body, limit = self.body, self.turn.config.group_max_size
        if self.request.member_id not in body.pending and (
            len(body.members) + len(body.pending) >= limit
        ):
            raise Refused(
                ErrorCode.GROUP_MAX_SIZE_REACHED, f"the group has group.max.size={limit} members"
            )
