"""Consumers of the classic protocol that do what they are told, one thing at a time."""

from __future__ import annotations

from tests.coordination.group.classic.stage import Reply, Stage, leads

from penstock.errors import ErrorCode

PARTITIONS = range(7)
FORGOTTEN = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)


class Client:
    def __init__(self, stage: Stage, instance: str | None, session_ms: int) -> None:
        self.stage = stage
        self.instance = instance
        self.session_ms = session_ms
        self.id = ""
        self.generation = -1
        self.owned: frozenset[int] = frozenset()
        self.asked: Reply | None = None
        """A JoinGroup or SyncGroup whose answer has yet to be read."""
        self.joined: Reply | None = None
        self.is_fenced = False

    def step(self) -> None:
        """Read the answer that came, or go on with what comes next."""
        if self.asked is not None:
            if not self.asked.is_waiting:
                self._read(self.asked)
        elif self.joined is None:
            self._ask_to_join()
        else:
            self._read_code(self.stage.heartbeat(self.id, self.generation, instance=self.instance))

    def _ask_to_join(self) -> None:
        self.owned = frozenset()
        self.asked = self.stage.join(
            self.id,
            instance=self.instance,
            session_ms=self.session_ms,
            rebalance_ms=20_000,
            id_first=True,
        )

    def _read(self, asked: Reply) -> None:
        self.asked = None
        if asked.code == ErrorCode.MEMBER_ID_REQUIRED:
            self.id = asked.member_id
        elif asked.code:
            self._read_code(asked.code)
        elif self.joined is None:
            self._sync(asked)
        else:
            self.owned = frozenset(asked.answer.assignment)

    def _sync(self, joined: Reply) -> None:
        self.joined, self.id = joined, joined.member_id
        self.generation = joined.answer.generation_id
        members = [each.member_id for each in joined.answer.members]
        plan = {
            each: bytes(PARTITIONS[number :: len(members)]) for number, each in enumerate(members)
        }
        is_planning = leads(joined) and not joined.answer.skip_assignment
        self.asked = self.stage.sync(joined, plan if is_planning else None, instance=self.instance)

    def _read_code(self, code: ErrorCode) -> None:
        if code == ErrorCode.NONE:
            return
        self.joined, self.owned, self.generation = None, frozenset(), -1
        if code in FORGOTTEN:
            self.id = ""
            self.is_fenced = code == ErrorCode.FENCED_INSTANCE_ID

    def leave(self) -> None:
        self.owned = frozenset()
        if self.id:
            self.stage.leave(self.id, instance=self.instance)
