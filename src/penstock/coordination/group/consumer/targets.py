"""The target: what each member is to have, made by an assignor of the broker.

It is made when it is needed, but not more often than a large group can stand: the pause between two
is in proportion to what making one costs. So ten thousand members that join at once cost a few
targets and not ten thousand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil

from penstock.config import BrokerConfig
from penstock.coordination.group.assignors import ASSIGNORS, Subscriber
from penstock.coordination.group.consumer.draft import Draft
from penstock.coordination.group.consumer.member import ConsumerMember
from penstock.coordination.group.consumer.subscriptions import hash_of, subscribed, topics_of
from penstock.metadata.cluster import Topic

PAUSE_MS_EACH = 0.02
"""The pause after a target, for each member and each partition in it."""


def settle(draft: Draft) -> None:
    """See to it that there will be a target for this epoch: now, if that is not too soon."""
    if draft.epoch <= draft.target_epoch or not draft.size:
        return
    due_ms = draft.body.target_due_ms
    if draft.turn.time_ms < due_ms:
        draft.turn.wake_at(due_ms)
    else:
        make_target(draft)


def make_target(draft: Draft) -> None:
    """Only members whose part has changed get a new one."""
    members = list(draft.members())
    topics = subscribed(draft)
    counts = {topic.id: topic.record.partitions for topic in topics.values()}
    votes = Counter(each.profile.assignor for each in members if each.profile.assignor)
    assign = ASSIGNORS[choose_assignor(draft.turn.config, votes)]
    for member_id, target in assign(_subscribers(draft, members, topics), counts).items():
        if target != draft.target(member_id):
            draft.targets[member_id] = target
    draft.metadata_hash = hash_of(topics.values())
    draft.target_epoch = draft.epoch
    pause_ms = ceil((len(members) + sum(counts.values())) * PAUSE_MS_EACH)
    draft.body.target_due_ms = draft.turn.time_ms + pause_ms


def _subscribers(
    draft: Draft, members: list[ConsumerMember], topics: Mapping[str, Topic]
) -> list[Subscriber]:
    """Members with the same subscription share one set, so that comparing them costs little."""
    sets: dict[tuple[tuple[str, ...], str], frozenset[bytes]] = {}
    found = []
    for member in members:
        wish = member.profile.topics, member.profile.regex
        if wish not in sets:
            names = topics_of(draft, member.profile)
            sets[wish] = frozenset(topics[name].id for name in names if name in topics)
        assigned = draft.target(member.id)
        found.append(Subscriber(member.id, member.instance_id, sets[wish], assigned))
    return found


def choose_assignor(config: BrokerConfig, votes: Mapping[str, int]) -> str:
    """The one that most members ask for; where as many ask for each, the broker's first."""
    return max(config.group_consumer_assignors, key=lambda name: votes.get(name, 0))
