"""A member of a group of KIP-848: what it says of itself, and what it has.

Members are values: a decision makes new ones, and only what it writes takes the place of the old.
Nothing in them leads back to them, so the garbage collector need not look at tens of thousands.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from penstock.coordination.group.assignors import Assignment
from penstock.coordination.group.consumer.phases import MEMBER_MOVES, MemberState

LEFT_FOR_NOW = -2
"""The epoch of a static member that has gone and is expected back."""
Place = tuple[bytes, int]
"""A topic by its id, and a partition of it."""


def places(assignment: Assignment) -> Iterator[Place]:
    for topic, partitions in assignment.items():
        for partition in partitions:
            yield topic, partition


class ClassicPart(Struct, frozen=True, gc=False):
    """What is known beyond the rest of a member that speaks the classic protocol."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    """Best first; each name once, whatever the member has sent."""


class Profile(Struct, frozen=True, gc=False):
    """What a member says of itself."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    """Sorted, each once."""
    regex: str = ""
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicPart | None = None

    @property
    def wishes(self) -> tuple[tuple[str, ...], str, str | None]:
        """What the target depends on."""
        return self.topics, self.regex, self.assignor


class Holding(Struct, frozen=True, gc=False):
    """Where a member is, and which partitions are its own."""

    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Assignment = {}
    revoking: Assignment = {}
    """It may still have these, so nobody else can."""

    def at(self, epoch: int) -> Holding:
        if epoch == self.epoch:
            return self
        return replace(self, epoch=epoch, previous_epoch=self.epoch)

    def move(self, state: MemberState, assigned: Assignment, revoking: Assignment) -> Holding:
        if state is not self.state and state not in MEMBER_MOVES[self.state]:
            raise AssertionError(f"a member cannot go from {self.state.name} to {state.name}")
        return replace(self, state=state, assigned=assigned, revoking=revoking)

    def has(self, place: Place) -> bool:
        topic, partition = place
        return partition in self.assigned.get(topic, ()) or partition in self.revoking.get(
            topic, ()
        )

    def places(self) -> Iterator[Place]:
        yield from places(self.assigned)
        yield from places(self.revoking)


class ConsumerMember(Struct, frozen=True, gc=False):
    id: str
    profile: Profile = Profile()
    holding: Holding = Holding()

    @property
    def instance_id(self) -> str | None:
        return self.profile.instance_id

    @property
    def epoch(self) -> int:
        return self.holding.epoch
