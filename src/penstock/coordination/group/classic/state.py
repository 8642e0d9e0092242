"""A group of the classic protocol, as it is in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from penstock.coordination.group.classic.phases import MOVES, Phase
from penstock.coordination.group.members import metadata_bytes
from penstock.coordination.turn import Reply

K = TypeVar("K")

Protocols = Mapping[str, bytes]
"""What a member proposes, best first: names of assignors, and what each is to know of it."""


@dataclass(slots=True, eq=False)
class Member:
    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    before: bytes = b""
    """What it had in an earlier generation, if it has not joined again since: it may still have
    that."""
    is_new: bool = True
    """Has not been part of a generation: while it waits to be, it cannot send heartbeats."""
    join: Reply = None
    """Its JoinGroup, while that waits for the round to end."""
    sync: Reply = None
    """Its SyncGroup, while that waits for the leader's plan."""
    deadline_ms: float = 0.0
    """By when it must have shown that it is alive."""

    @property
    def is_waiting(self) -> bool:
        """For us: so it has no need to show that it is alive."""
        return self.join is not None or self.sync is not None


ENDING = -1
"""The generation of a group that is being deleted, which is written before its offsets go."""


class Classic:
    __slots__ = (
        "choices",
        "generation",
        "is_saved",
        "joined",
        "leader",
        "members",
        "metadata_bytes",
        "pending",
        "phase",
        "planned_ms",
        "protocol",
        "protocol_type",
        "round_ends_ms",
        "round_extends_to_ms",
        "static",
        "sync_ends_ms",
        "unsynced",
        "votes",
    )

    def __init__(self) -> None:
        self.phase = Phase.EMPTY
        self.protocol_type = ""
        self.protocol: str | None = None
        self.generation = 0
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.static: dict[str, str] = {}
        """Ids of static members by their instance ids."""
        self.pending: dict[str, float] = {}
        """Ids that were handed out, and by when whoever got them must join."""
        self.votes: Counter[str] = Counter()
        """How many members propose each protocol."""
        self.choices: Counter[tuple[str, ...]] = Counter()
        """And how many propose the same ones in the same order."""
        self.metadata_bytes = 0
        """That all members say of themselves, in all protocols."""
        self.joined = 0
        """How many members have joined the round, and wait for its end."""
        self.round_ends_ms = 0.0
        """While joining: when those who have not come are left behind."""
        self.round_extends_to_ms = 0.0
        """While the first round of an empty group waits for company: its latest end."""
        self.sync_ends_ms = 0.0
        self.unsynced: set[str] = set()
        """Members of this generation who have not asked for their part of the plan."""
        self.planned_ms = 0
        """When what is in the log was decided, since 1970."""
        self.is_saved = False
        """Whether anything of it is in the log."""

    @property
    def is_blank(self) -> bool:
        return not self.members and not self.pending and not self.is_saved

    @property
    def is_ending(self) -> bool:
        return self.generation == ENDING and not self.members

    def move(self, phase: Phase) -> None:
        if phase not in MOVES[self.phase]:
            raise AssertionError(f"a group cannot go from {self.phase.name} to {phase.name}")
        self.phase = phase

    # -- members

    def add(self, member: Member) -> None:
        self.members[member.id] = member
        if member.instance_id is not None:
            self.static[member.instance_id] = member.id
        self._count(member.protocols)
        self.joined += member.join is not None
        if len(self.members) == 1:
            self.leader = member.id

    def remove(self, member: Member) -> None:
        del self.members[member.id]
        if member.instance_id is not None and self.static.get(member.instance_id) == member.id:
            del self.static[member.instance_id]
        self._take_back(member)
        self.unsynced.discard(member.id)
        self.joined -= member.join is not None
        if self.leader == member.id:
            self.leader = None  # the next generation has another one

    def propose(self, member: Member, protocols: Protocols) -> None:
        self._take_back(member)
        self._count(protocols)
        member.protocols = protocols

    def _count(self, protocols: Protocols) -> None:
        self.votes.update(protocols.keys())
        self.choices[tuple(protocols)] += 1
        self.metadata_bytes += metadata_bytes(protocols)

    def _take_back(self, member: Member) -> None:
        """What it proposed, at a cost that does not grow with those of the others."""
        self.metadata_bytes -= metadata_bytes(member.protocols)
        _drop(self.choices, tuple(member.protocols))
        for name in member.protocols:
            _drop(self.votes, name)

    def rename(self, member: Member, new_id: str) -> None:
        """A static member has come back under another id, and takes its own place."""
        was_leader = self.leader == member.id
        was_unsynced = member.id in self.unsynced
        self.remove(member)
        member.id = new_id
        self.add(member)
        if was_leader:
            self.leader = new_id
        if was_unsynced:
            self.unsynced.add(new_id)

    def park_join(self, member: Member, reply: Reply) -> Reply:
        """Let a request wait for the end of the round; the one that it takes the place of."""
        before, member.join = member.join, reply
        self.joined += (reply is not None) - (before is not None)
        return before

    def take_join(self, member: Member) -> Reply:
        return self.park_join(member, None)

    @property
    def has_everyone(self) -> bool:
        return self.joined == len(self.members) and not self.pending

    # -- protocols

    def accepts(self, protocol_type: str, protocols: Protocols, but_for: str = "") -> bool:
        """Whether a member that proposes these can be in the group; it may be in it already."""
        if not self.members:
            return bool(protocol_type and protocols)
        if protocol_type != self.protocol_type:
            return False
        others = len(self.members) - (but_for in self.members)
        own = self.members[but_for].protocols if but_for in self.members else {}
        return any(self.votes[name] - (name in own) == others for name in protocols)

    def common_protocols(self) -> frozenset[str]:
        """What all propose; any one of them knows the candidates."""
        someone = next(iter(self.members.values()), None)
        proposed = someone.protocols if someone is not None else {}
        return frozenset(name for name in proposed if self.votes[name] == len(self.members))

    def choose_protocol(self) -> str:
        """Each member votes for the first of its protocols that all of them know. Where there is
        no such protocol, for its first: who cannot follow is refused when it joins again."""
        candidates = self.common_protocols() or self.votes.keys()
        votes: Counter[str] = Counter()
        for names, members in self.choices.items():
            for name in [each for each in names if each in candidates][:1]:
                votes[name] += members
        return max(sorted(votes), key=lambda name: votes[name], default="")

    def metadata(self, member: Member) -> bytes:
        """What the leader is to know of a member."""
        return member.protocols.get(self.protocol or "", b"")

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)


def _drop(counts: Counter[K], key: K) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
