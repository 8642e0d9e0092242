"""What becomes of a group's shares, as those who ask their coordinators tell it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.groups import Group
from penstock.coordination.group.share import begun
from penstock.coordination.group.share.draft import Draft
from penstock.coordination.group.share.state import ShareGroup
from penstock.coordination.group.share.stored import write_begun, write_end
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused


def initialized(
    turn: Turn, group: Group, done: Assignment, names: Mapping[bytes, str] | None = None
) -> None:
    """These shares are there: members may have the partitions. `names`: of topics that the group
    may not know yet, because somebody has set it to offsets in them."""
    body = group.body
    if not isinstance(body, ShareGroup) or body.is_ending:
        return
    draft = Draft(turn, group.name, body)
    draft.begun = begun.note_initialized(draft.begun, done, names or {}, turn.now_ms)
    draft.settle(is_changed=False)
    draft.write()


def has_shares_of(group: Group, topic_id: bytes) -> bool:
    """Whether it has begun with a topic, or is about to."""
    body = group.body
    return isinstance(body, ShareGroup) and (
        topic_id in body.begun.initialized or topic_id in body.begun.initializing
    )


def delete_topics(turn: Turn, group: Group, topic_ids: Collection[bytes]) -> None:
    """A group without members is to forget where it is in these topics."""
    body = _empty_body(group)
    draft = Draft(turn, group.name, body)
    draft.begun = begun.delete_topics(draft.begun, topic_ids)
    draft.settle(is_changed=False)
    draft.write()


def deleted(turn: Turn, group: Group, topic_ids: Collection[bytes]) -> None:
    """The shares of these topics are gone."""
    body = group.body
    if isinstance(body, ShareGroup):
        left = begun.note_deleted(body.begun, topic_ids)
        if body.is_ending:
            write_begun(turn, group.name, left)
            return
        draft = Draft(turn, group.name, body)
        draft.begun = left
        draft.settle(is_changed=False)
        draft.write()


def delete(turn: Turn, group: Group) -> None:
    """The group goes, and its shares with it: nobody can join it until these are gone."""
    body = _empty_body(group)
    everything = (*body.begun.initializing, *body.begun.initialized)
    write_end(turn, group, begun.delete_topics(body.begun, everything))


def _empty_body(group: Group) -> ShareGroup:
    body = group.body
    assert isinstance(body, ShareGroup)
    if body.members:
        raise Refused(
            ErrorCode.NON_EMPTY_GROUP,
            f"group {group.name} has {len(body.members)} members: stop them first",
        )
    return body
