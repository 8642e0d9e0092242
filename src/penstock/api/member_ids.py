"""Ids that a request gives a member: none is longer than what can be stored of it."""

from __future__ import annotations

from penstock.coordination.group.members import check_length


def check_ids(member_id: str, instance_id: str | None) -> None:
    """Before a turn begins: one that could not be written would be undone with its whole shard."""
    check_length("member_id", member_id)
    check_length("group_instance_id", instance_id or "")
