"""How far a follower has come, as its leader knows it from what it asks for."""

from __future__ import annotations


class Progress:
    __slots__ = (
        "_asked_ms",
        "_leaders_end",
        "caught_up_ms",
        "end",
        "knows_epoch",
        "registration",
        "start",
    )

    def __init__(self, now_ms: float) -> None:
        self.end = -1
        """What it answers for; -1 before it has asked for anything."""
        self.knows_epoch = False
        """Whether it has noted the last epoch that the leader's log has."""
        self.caught_up_ms = now_ms
        """When it last had all that there was."""
        self.registration = -1
        """The broker's, when it asked: one that has registered anew may have lost what it had."""
        self.start = -1
        """Where its log begins; -1 before it has said so."""
        self._asked_ms = now_ms
        self._leaders_end = 0
        """Where the leader's log ended when it asked before."""

    def note(self, offset: int, leaders_end: int, now_ms: float, registration: int = -1) -> None:
        """It asks for what comes after an offset.

        Under load there is always more by the time it asks again. So who has got what there was at
        its last request was caught up then.
        """
        if offset >= leaders_end:
            self.caught_up_ms = now_ms
        elif offset >= self._leaders_end:
            self.caught_up_ms = max(self.caught_up_ms, self._asked_ms)
        self.end = offset
        self.registration = registration
        self._asked_ms = now_ms
        self._leaders_end = leaders_end

    def is_behind(self, leaders_end: int, now_ms: float, lag_ms_max: int, lag_max: int) -> bool:
        if self.end >= leaders_end:
            return False
        if 0 <= lag_max < leaders_end - max(self.end, 0):
            return True
        return now_ms - self.caught_up_ms > lag_ms_max
