"""Share sessions: a member names its partitions to a broker once, then only changes.

A session is known by group and member, and by an epoch that goes up with each request, so that a
request that was lost, or came twice, is noticed. It lives as long as its connection.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from penstock.errors import ErrorCode, Refused

FINAL, INITIAL = -1, 0
EPOCH_MAX = 0x7FFFFFFF
PARTITIONS_MAX = 100_000
"""Over all sessions."""

Who = tuple[str, str]
"""Group and member."""
Place = tuple[bytes, int]
"""Topic id, as clients are shown it, and partition."""


class ShareSession:
    __slots__ = ("connection", "epoch", "partitions", "who")

    def __init__(self, who: Who, connection: int) -> None:
        self.who = who
        self.connection = connection
        self.epoch = INITIAL + 1
        """That the next request has."""
        self.partitions: OrderedDict[Place, None] = OrderedDict()
        """In the order in which they are looked at."""

    def to_look_at(self) -> list[Place]:
        return list(self.partitions)

    def has_had(self, place: Place) -> None:
        """It was given records of this one: the others come first next time."""
        if place in self.partitions:
            self.partitions.move_to_end(place)


class Asked(NamedTuple):
    """What a request says of its session."""

    who: Who
    epoch: int
    named: Sequence[Place] = ()
    forgotten: Sequence[Place] = ()


class ShareSessions:
    def __init__(self, most: int) -> None:
        self._most = most
        self._sessions: dict[Who, ShareSession] = {}
        self._by_connection: dict[int, set[Who]] = {}
        self._of_group: Counter[str] = Counter()
        self._partitions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def fetch(self, asked: Asked, connection: int) -> ShareSession:
        """The session that a fetch belongs to, as it is from now on. Raises Refused.

        With the final epoch it is over: what it had is to be released, once what came with the
        request is acknowledged.
        """
        if asked.epoch == INITIAL:
            return self._begin(asked, connection)
        session = self._known(asked)
        if asked.epoch == FINAL:
            self._remove(session)
        else:
            self._update(session, asked)
        return session

    def acknowledge(self, asked: Asked) -> ShareSession:
        """The same for an acknowledgement by itself, which begins no session."""
        if asked.epoch == INITIAL:
            raise Refused(
                ErrorCode.INVALID_SHARE_SESSION_EPOCH,
                "a share session begins with a fetch, not with an acknowledgement",
            )
        session = self._known(asked)
        if asked.epoch == FINAL:
            self._remove(session)
        return session

    def connection_lost(self, connection: int) -> list[ShareSession]:
        """Those that are over for that."""
        lost = [self._sessions[who] for who in self._by_connection.get(connection, ())]
        for session in lost:
            self._remove(session)
        return lost

    def is_open(self, session: ShareSession) -> bool:
        """Whether it is not over, and no other has taken its place."""
        return self._sessions.get(session.who) is session

    def has(self, who: Who) -> bool:
        return who in self._sessions

    def has_group(self, group: str) -> bool:
        return group in self._of_group

    def _begin(self, asked: Asked, connection: int) -> ShareSession:
        """Anew, if there is one. What that one had stays locked: it is still the same member."""
        if (known := self._sessions.get(asked.who)) is not None:
            self._remove(known)
        if len(self._sessions) >= self._most:
            raise Refused(
                ErrorCode.SHARE_SESSION_LIMIT_REACHED,
                f"{self._most} share sessions are open; try again, or raise "
                "group.share.max.share.sessions",
            )
        session = ShareSession(asked.who, connection)
        self._name(session, asked)
        self._sessions[asked.who] = session
        self._of_group[asked.who[0]] += 1
        self._by_connection.setdefault(connection, set()).add(asked.who)
        return session

    def _known(self, asked: Asked) -> ShareSession:
        session = self._sessions.get(asked.who)
        if session is None:
            raise Refused(
                ErrorCode.SHARE_SESSION_NOT_FOUND,
                "this member has no share session here; begin one with epoch 0",
            )
        if asked.epoch == FINAL:
            return session
        if asked.epoch != session.epoch:
            raise Refused(
                ErrorCode.INVALID_SHARE_SESSION_EPOCH,
                f"the share session is at epoch {session.epoch}, not at {asked.epoch}",
            )
        session.epoch = 1 if session.epoch == EPOCH_MAX else session.epoch + 1
        return session

    def _update(self, session: ShareSession, asked: Asked) -> None:
        self._name(session, asked)
        for place in asked.forgotten:
            if place in session.partitions:
                del session.partitions[place]
                self._partitions -= 1

    def _name(self, session: ShareSession, asked: Asked) -> None:
        new = dict.fromkeys(asked.named).keys() - session.partitions.keys()
        if self._partitions + len(new) > PARTITIONS_MAX:
            raise Refused(
                ErrorCode.SHARE_SESSION_LIMIT_REACHED,
                f"share sessions may have {PARTITIONS_MAX} partitions altogether, and have "
                f"{self._partitions}",
            )
        self._partitions += len(new)
        session.partitions.update(dict.fromkeys(asked.named))

    def _remove(self, session: ShareSession) -> None:
        del self._sessions[session.who]
        self._of_group[session.who[0]] -= 1
        if not self._of_group[session.who[0]]:
            del self._of_group[session.who[0]]
        self._partitions -= len(session.partitions)
        whose = self._by_connection[session.connection]
        whose.discard(session.who)
        if not whose:
            del self._by_connection[session.connection]
