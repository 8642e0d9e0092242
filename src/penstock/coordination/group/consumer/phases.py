"""The states of members and groups of KIP-848, and how one leads to another."""

from __future__ import annotations

from enum import Enum, IntEnum


class MemberState(IntEnum):
    """How far a member is on its way to its target, with the numbers that are stored."""

    STABLE = 0
    """Has all of the target that it was last told of, and nothing else."""
    REVOKING = 1
    """Is to give partitions up, and stays in its epoch until it says that it has."""
    WAITING = 2
    """Is at the target, but for partitions that others have yet to give up."""


class GroupState(Enum):
    """With the names that Kafka's tools show."""

    EMPTY = "Empty"
    """No members; committed offsets may be left."""
    ASSIGNING = "Assigning"
    """Something has changed that the target does not take into account yet."""
    RECONCILING = "Reconciling"
    """There is a target, and some members are on their way to it."""
    STABLE = "Stable"
    """Everyone has what it is to have."""


MEMBER_MOVES = {
    MemberState.STABLE: frozenset({MemberState.REVOKING, MemberState.WAITING}),
    MemberState.REVOKING: frozenset({MemberState.WAITING, MemberState.STABLE}),
    MemberState.WAITING: frozenset({MemberState.REVOKING, MemberState.STABLE}),
}
"""The diagram in docs/states is drawn from this. Members may come and go in any state."""

GROUP_MOVES = {
    GroupState.EMPTY: frozenset({GroupState.ASSIGNING, GroupState.RECONCILING, GroupState.STABLE}),
    GroupState.ASSIGNING: frozenset({GroupState.RECONCILING, GroupState.STABLE, GroupState.EMPTY}),
    GroupState.RECONCILING: frozenset({GroupState.ASSIGNING, GroupState.STABLE, GroupState.EMPTY}),
    GroupState.STABLE: frozenset({GroupState.ASSIGNING, GroupState.RECONCILING, GroupState.EMPTY}),
}
"""A group's state is not kept but seen from its members: this says what can follow what."""
