"""Who may commit and fetch offsets of a group."""

from __future__ import annotations

from penstock.coordination.group.consumer.member import ConsumerMember
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.members import check_instance, unknown_member
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused


def check_may_commit(
    turn: Turn, body: Consumer, member_id: str, instance_id: str | None, epoch: int
) -> None:
    """Refuse a commit of anyone but a member at its epoch; an empty group takes any."""
    if epoch < 0 and not body.members:
        return
    if epoch < 0 and not member_id and instance_id is None:
        raise Refused(
            ErrorCode.UNKNOWN_MEMBER_ID,
            "the group has members: only they may commit; stop them to set its offsets",
        )
    member = body.members.get(member_id)
    check_instance(body.static, member, instance_id)
    _check_epoch(member, member_id, epoch)


def check_may_fetch(body: Consumer, member_id: str | None, epoch: int) -> None:
    """Tools ask without being a member."""
    if epoch >= 0 or member_id:
        _check_epoch(body.members.get(member_id or ""), member_id or "", epoch)


def _check_epoch(member: ConsumerMember | None, member_id: str, epoch: int) -> None:
    if member is None:
        raise unknown_member(member_id)
    if epoch != member.epoch:
        is_classic = member.profile.classic is not None
        raise Refused(
            ErrorCode.ILLEGAL_GENERATION if is_classic else ErrorCode.STALE_MEMBER_EPOCH,
            f"the member is at epoch {member.epoch}, not {epoch}",
        )
