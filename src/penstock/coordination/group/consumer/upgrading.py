"""A group of the classic protocol becomes one of KIP-848 when the first member of that joins.

Its classic members stay. What they are to have by their plan is their target too, until the next
one; what they may have beside that they are to give up before anyone else gets it.
"""

from __future__ import annotations

from functools import partial

from penstock.config import BrokerConfig
from penstock.coordination.group.assignors import at_once
from penstock.coordination.group.classic.state import Classic
from penstock.coordination.group.classic.stored import write_end
from penstock.coordination.group.classic.subscriptions import CONSUMER
from penstock.coordination.group.consumer.converting import Conversion, convert, refused
from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.state import Consumer
from penstock.coordination.group.groups import Group
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode
from penstock.log.steps import Steps
from penstock.metadata.image import Image
from penstock.wire.messages.k11_join_group import JoinGroupResponse
from penstock.wire.messages.k14_sync_group import SyncGroupResponse

POLICIES = ("bidirectional", "upgrade")


def make_ready(config: BrokerConfig, image: Image, name: str, body: Classic) -> Steps[Conversion]:
    """Ahead of the turn in which it happens. Raises Refused if it cannot."""
    _check_possible(config, body)
    return (yield from convert(image, name, body))


def upgraded(turn: Turn, group: Group, body: Classic, ready: Conversion | None) -> Draft:
    """The group as one of this protocol, at least as far on as it was. It may not be possible.

    It is handed on, so that what was made ready need not be applied.
    """
    if body.is_saved:
        write_end(turn, group.name)
    if body.members:
        draft = _converted(turn, group, body, ready)
        turn.hand_on(partial(group.become, draft.body))
    else:
        draft = Draft(turn, group.name, Consumer())
        draft.epoch = body.generation + 1
    turn.wake_at(turn.time_ms)  # for their sessions
    return draft


def _converted(turn: Turn, group: Group, body: Classic, ready: Conversion | None) -> Draft:
    _check_possible(turn.config, body)
    if ready is None or not ready.is_for(turn.image, body):
        ready = at_once(convert(turn.image, group.name, body))
    turn.write_ready(ready.events)
    return Draft(turn, group.name, ready.consumer)


def _check_possible(config: BrokerConfig, body: Classic) -> None:
    limit = config.group_consumer_max_size
    if config.group_consumer_migration_policy not in POLICIES:
        raise refused("group.consumer.migration.policy does not let it change protocol")
    if body.protocol_type != CONSUMER:
        raise refused(f"its protocol type is {body.protocol_type[:100]!r}")
    if len(body.members) > limit:
        raise refused(f"it has more than group.consumer.max.size={limit} members")


def end_round(turn: Turn, body: Classic) -> None:
    """Who waits for it learns that there is another one: it joins again, as it does then. The group
    itself is left as it is, or this turn could not be refused any more."""
    code = ErrorCode.REBALANCE_IN_PROGRESS
    for member in body.members.values():
        if member.join is not None:
            turn.answer(member.join, JoinGroupResponse(error_code=code, member_id=member.id))
        if member.sync is not None:
            turn.answer(member.sync, SyncGroupResponse(error_code=code))
