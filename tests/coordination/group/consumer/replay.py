"""Whether a group is in memory what another coordinator would find in the log."""

from __future__ import annotations

from typing import Any

from penstock.coordination.group.classic.phases import Phase
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.groups import Group, Groups


def check_replay(group: Group, replayed: Groups) -> None:
    again = replayed.get_or_add(group.name)
    assert type(again.body) is type(group.body)
    if isinstance(group.body, Consumer) and isinstance(again.body, Consumer):
        assert _facts(group.body) == _facts(again.body)
    elif isinstance(group.body, Classic) and isinstance(again.body, Classic):
        _check_classic(group.body, again.body)


def _facts(body: Consumer) -> dict[str, Any]:
    """All that is stored. Of two who may have the same partition either may be its first owner."""
    return {
        "members": body.members,
        "target": {each: body.target.get(each) for each in body.members},
        "epochs": (body.epoch, body.target_epoch, body.metadata_hash),
        "static": body.static,
        "holders": {place: body.holders(place) for place in body.owners},
        "natives": body.natives,
        "settled": body.settled,
        "assignor votes": body.assignor_votes,
        "classic votes": (body.classic_votes, body.classic_bytes),
        "regexes": (body.regexes, body.regex_users),
        "names": body.interests.names,
    }


def _check_classic(body: Classic, again: Classic) -> None:
    """What goes on in a round is not stored, and what is stored of one without members is enough
    that its generation does not come again."""
    if body.is_saved:
        assert again.is_saved
    if body.phase is Phase.STABLE:
        assert again.generation == body.generation
        assert _parts(again) == _parts(body)


def _parts(body: Classic) -> dict[str, tuple[str | None, bytes]]:
    return {each.id: (each.instance_id, each.assignment) for each in body.members.values()}
