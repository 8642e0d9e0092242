"""How a member comes from what it has to what it is to have, so that no two have a partition.

    stable --target takes something away--> revoking --it has given that up--> stable
       |                                        |                                ^
       +--------target gives something that another still has--> waiting --------+

It keeps what is in the target. While it has yet to give anything up it stays in its epoch. Then it
is at the target's epoch, and gets the new partitions as far as nobody else has them; for the rest
it is asked again at each heartbeat. What it was told it takes up before it is taken away again.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.consumer.member import Holding, Place, places
from penstock.coordination.group.consumer.phases import MemberState

IsFree = Callable[[Place], bool]
IsThere = Callable[[Place], bool]
NOTHING: Assignment = {}


class Trust(Enum):
    """What it is worth that a member does not name a partition among those that it has.

    It may have been told of it and be about to take it up, which clients finish once they have
    begun, whatever they are told meanwhile.
    """

    SURE = "it has just begun, or has stopped to join: nothing is being taken up"
    ANSWER = "it tells what has become of what it was told"
    REPEAT = "it tells everything, as an answer may be lost, whatever it is about to take up"


class Word(NamedTuple):
    """What a member says that it has; None if it does not say."""

    owned: Assignment | None
    trust: Trust = Trust.ANSWER
    named: Assignment = NOTHING
    """What it said last, of what it had been told by then: it has taken that up."""


NOTHING_SAID = Word(None)


def reconcile(
    holding: Holding,
    target: Assignment,
    target_epoch: int,
    word: Word,
    is_free: IsFree,
    is_there: IsThere = lambda _: True,
    *,
    is_renewed: bool = False,
) -> Holding:
    """`is_renewed`: it wants other topics. `is_there`: the partition has not been deleted."""
    match holding.state:
        case MemberState.STABLE:
            if holding.epoch == target_epoch and not is_renewed:
                return holding
            return _next(holding, target, target_epoch, word, is_free, is_there)
        case MemberState.REVOKING:
            if still_has(word.owned, holding.revoking):
                return holding
            if _may_take_up(holding, word, is_there):
                return holding.move(MemberState.STABLE, held(holding), {})
            return _next(holding, target, target_epoch, word, is_free, is_there, has_revoked=True)
        case MemberState.WAITING:
            return _next(holding, target, target_epoch, word, is_free, is_there)


def _may_take_up(holding: Holding, word: Word, is_there: IsThere) -> bool:
    """One that repeats everything has given up what it had. What it has never named it may be about
    to take up: it is told of that again, so that it does, and then of giving it up."""
    unseen = without(holding.revoking, word.named)
    return word.trust is Trust.REPEAT and any(map(is_there, places(unseen)))


def _next(
    holding: Holding,
    target: Assignment,
    target_epoch: int,
    word: Word,
    is_free: IsFree,
    is_there: IsThere,
    *,
    has_revoked: bool = False,
) -> Holding:
    """After a revocation it is an epoch further, even if there is more to give up."""
    kept = common(holding.assigned, target)
    given_up = without(holding.assigned, kept)
    if given_up and still_has(word.owned, given_up):
        epoch = min(holding.epoch + 1, target_epoch) if has_revoked else holding.epoch
        return holding.at(epoch).move(MemberState.REVOKING, kept, given_up)
    if word.trust is not Trust.SURE and any(map(is_there, places(given_up))):
        return _not_taken_up(holding)
    wanted = without(target, kept)
    free = {
        topic: found
        for topic, partitions in wanted.items()
        if (found := frozenset(each for each in partitions if is_free((topic, each))))
    }
    state = MemberState.STABLE if free == wanted else MemberState.WAITING
    return holding.at(target_epoch).move(state, together(kept, free), {})


def _not_taken_up(holding: Holding) -> Holding:
    """It was told of what is to be taken away again, and does not have it yet. It stays where it is
    until it has, for one that is about to take it up looks the same as one that never will."""
    if holding.state is MemberState.REVOKING:
        return holding.move(MemberState.STABLE, holding.assigned, {})
    return holding


def held(holding: Holding) -> Assignment:
    """All that it may have."""
    return together(holding.assigned, holding.revoking)


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
