"""The target: what each member is to have, made by an assignor of the broker.

It is made when it is needed, but not more often than a large group can stand: the pause between two
is in proportion to what making one costs. So ten thousand members that join at once cost a few
targets and not ten thousand. A small group has it at once, in the turn that needs it; that of a
large one is made by and by, in turns of its own (`making.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil
from typing import Any

from penstock.config import BrokerConfig
from penstock.coordination.group.assignors import (
    ASSIGNORS,
    MEMBER_COST,
    Assignment,
    Subscriber,
    at_once,
)
from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.interests import Sized
from penstock.coordination.group.consumer.member import ConsumerMember, Profile
from penstock.coordination.group.consumer.subscriptions import (
    Subscribed,
    each_once,
    kind_of,
    name_count,
    subscribed_by,
    topics_of,
)
from penstock.coordination.pace import COST_A_SLICE, Pace
from penstock.log.steps import Steps

PAUSE_MS_EACH = 0.05
"""The pause after a target, for each member and each partition in it."""
NAMES_EACH = 10
"""Names of topics in subscriptions that cost as much as a member or a partition."""
AT_ONCE_MAX = 2_000
"""Members, partitions and names together, of a group that is small: some milliseconds."""
SIZE_COST = 3
"""Of each of these, in the unit of `Pace`."""


class Plan:
    """A target that is to be made, for the group as the draft has it."""

    def __init__(self, draft: Draft, there: Subscribed) -> None:
        self._draft = draft
        self._members = list(draft.members())
        self._topics = there.topics
        self._counts = {each.id: each.partitions for each in there.topics.values()}
        self.epoch = draft.epoch
        self.metadata_hash = there.hash
        self.size = len(self._members) + sum(self._counts.values())
        self.size += _names(draft, each_once(self._members)) // NAMES_EACH

    def carry_out(self) -> Steps[dict[str, Assignment]]:
        """The parts of those members whose part is another one than before."""
        draft, members = self._draft, self._members
        votes = Counter(each.profile.assignor for each in members if each.profile.assignor)
        assign = ASSIGNORS[choose_assignor(draft.turn.config, votes)]
        subscribers = yield from _subscribers(draft, members, self._topics)
        yield None
        target = yield from assign(subscribers, self._counts)
        yield None
        return {each: part for each, part in target.items() if part != draft.target(each)}

    def end(self, draft: Draft) -> None:
        """With all of its parts in the draft, or in the group."""
        draft.metadata_hash = self.metadata_hash
        draft.target_epoch = self.epoch
        draft.body.target_due_ms = draft.turn.time_ms + ceil(self.size * PAUSE_MS_EACH)


def settle(draft: Draft) -> None:
    """See to it that there will be a target for this epoch: now, if that is not too soon."""
    if not is_due(draft):
        return
    plan = _small_plan(draft)
    if plan is not None:
        draft.targets.update(at_once(plan.carry_out()))
        draft.turn.spend(SIZE_COST * plan.size)
        plan.end(draft)
    else:
        _begin_with_nothing(draft)
        draft.turn.wake_at(draft.turn.time_ms)


def _small_plan(draft: Draft) -> Plan | None:
    """It takes going through all names, so those are counted first. What else there was to do in
    this turn may be enough for it."""
    if draft.body.making is not None or draft.size > AT_ONCE_MAX:
        return None
    if draft.turn.cost > COST_A_SLICE:
        return None
    kinds = each_once(draft.members())
    if draft.size + _names(draft, kinds) // NAMES_EACH > AT_ONCE_MAX:
        return None
    plan = Plan(draft, subscribed_by(draft, kinds.values()))
    return plan if plan.size <= AT_ONCE_MAX else None


def _names(draft: Draft, kinds: Mapping[Any, Profile]) -> int:
    return sum(name_count(draft, each) for each in kinds.values())


def _begin_with_nothing(draft: Draft) -> None:
    """The first target of a group: who joins is told of an epoch, and 0 is none."""
    if not draft.target_epoch:
        draft.target_epoch = draft.epoch
        draft.bump()


def is_due(draft: Draft) -> bool:
    """Whether a target is needed, and may be made. If only the former, there is a turn for it."""
    if draft.epoch <= draft.target_epoch or not draft.size:
        return False
    due_ms = draft.body.target_due_ms
    if draft.turn.time_ms < due_ms:
        draft.turn.wake_at(due_ms)
        return False
    return True


def _subscribers(
    draft: Draft, members: list[ConsumerMember], topics: Mapping[str, Sized]
) -> Steps[list[Subscriber]]:
    """Members with the same topics share one set, so that comparing them costs little."""
    pace = Pace()
    sets: dict[tuple[int, str], frozenset[bytes]] = {}
    alike: dict[frozenset[bytes], frozenset[bytes]] = {}
    found: list[Subscriber] = []
    for member in members:
        kind, cost = kind_of(member.profile), MEMBER_COST
        if kind not in sets:
            cost += name_count(draft, member.profile)
            names = topics_of(draft, member.profile)
            ids = frozenset(topics[name].id for name in names if name in topics)
            sets[kind] = alike.setdefault(ids, ids)
        assigned = draft.target(member.id)
        found.append(Subscriber(member.id, member.instance_id, sets[kind], assigned))
        if pace.is_spent(cost):
            yield None
    return found


def choose_assignor(config: BrokerConfig, votes: Mapping[str, int]) -> str:
    """The one that most members ask for; where as many ask for each, the broker's first."""
    return max(config.group_consumer_assignors, key=lambda name: votes.get(name, 0))
