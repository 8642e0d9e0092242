"""Topics that come, go and grow while a group is subscribed to them."""

from __future__ import annotations

from collections.abc import Collection

from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.searches import heed_topics, look_up_all
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.consumer.targets import settle
from penstock.coordination.group.groups import Group
from penstock.coordination.turn import Turn


def topics_changed(turn: Turn, group: Group, topics: Collection[str]) -> None:
    """Their partitions are others now, or they are new, or gone."""
    body = group.body
    if not isinstance(body, Consumer) or not body.members:
        return
    if body.regex_users or any(name in body.interests.users for name in topics):
        draft = Draft(turn, group.name, body)
        body.interests.doubt(topics)
        heed_topics(draft, topics)
        renew(draft)


def look_again(turn: Turn, group: Group, body: Consumer) -> None:
    """In case that nobody told us: there was no coordinator then, say."""
    draft = Draft(turn, group.name, body)
    body.interests.doubt_all(turn.image.readable.topics)
    look_up_all(draft)
    renew(draft)


def renew(draft: Draft) -> None:
    """Make a new target if the topics are not those that the last one was made for, or is."""
    body = draft.body
    draft.turn.spend(2 * body.interests.look(draft.turn.image.readable.topics))
    if draft.resolved or body.interests.hash != body.planned_hash:
        draft.bump()
    settle(draft)
    draft.write()
