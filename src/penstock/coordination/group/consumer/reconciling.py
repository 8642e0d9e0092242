"""How a member comes from what it has to what it is to have, so that no two have a partition.

    stable --target takes something away--> revoking --it has given that up--> stable
       |                                        |                                ^
       +--------target gives something that another still has--> waiting --------+

It keeps what is in the target. While it has yet to give anything up it stays in its epoch. Then it
is at the target's epoch, and gets the new partitions as far as nobody else has them; for the rest
it is asked again at each heartbeat.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.consumer.member import Holding, Place
from penstock.coordination.group.consumer.phases import MemberState

IsFree = Callable[[Place], bool]


def reconcile(
    holding: Holding,
    target: Assignment,
    target_epoch: int,
    owned: Assignment | None,
    is_free: IsFree,
    *,
    is_renewed: bool = False,
) -> Holding:
    """`owned`: what the member says that it has, if so; `is_renewed`: it wants other topics."""
    match holding.state:
        case MemberState.STABLE:
            if holding.epoch == target_epoch and not is_renewed:
                return holding
            return _next(holding, target, target_epoch, owned, is_free)
        case MemberState.REVOKING:
            if still_has(owned, holding.revoking):
                return holding
            return _next(holding, target, target_epoch, owned, is_free, has_revoked=True)
        case MemberState.WAITING:
            return _next(holding, target, target_epoch, owned, is_free)


def _next(
    holding: Holding,
    target: Assignment,
    target_epoch: int,
    owned: Assignment | None,
    is_free: IsFree,
    *,
    has_revoked: bool = False,
) -> Holding:
    """After a revocation it is an epoch further, even if there is more to give up."""
    kept = common(holding.assigned, target)
    given_up = without(holding.assigned, kept)
    if given_up and still_has(owned, given_up):
        epoch = min(holding.epoch + 1, target_epoch) if has_revoked else holding.epoch
        return holding.at(epoch).move(MemberState.REVOKING, kept, given_up)
    wanted = without(target, kept)
    free = {
        topic: found
        for topic, partitions in wanted.items()
        if (found := frozenset(each for each in partitions if is_free((topic, each))))
    }
    state = MemberState.STABLE if free == wanted else MemberState.WAITING
    return holding.at(target_epoch).move(state, together(kept, free), {})


def still_has(owned: Assignment | None, some: Assignment) -> bool:
    """Whether a member has any of these. One that does not say what it has may have all."""
    return owned is None or bool(common(owned, some))


def common(one: Assignment, other: Assignment) -> Assignment:
    return {topic: both for topic in one if (both := one[topic] & other.get(topic, frozenset()))}


def without(one: Assignment, other: Assignment) -> Assignment:
    return {topic: left for topic in one if (left := one[topic] - other.get(topic, frozenset()))}


def together(one: Assignment, other: Assignment) -> Assignment:
    return {
        topic: one.get(topic, frozenset()) | other.get(topic, frozenset())
        for topic in one.keys() | other.keys()
    }
