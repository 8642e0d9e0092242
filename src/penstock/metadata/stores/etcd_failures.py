"""How a request to etcd can fail, and what that means for what it was to write."""

from __future__ import annotations

from penstock.errors import ErrorCode, Refused, Unusable
from penstock.metadata.store import NoRoom, SessionLost

INVALID_ARGUMENT, PERMISSION_DENIED, OUT_OF_RANGE = 3, 7, 11
"""Of gRPC's codes."""

_TOKEN = ("invalid auth token", "user name is empty", "revision of auth store is old")
_NOT_DONE = (*_TOKEN, "no leader", "too many requests", "proposal dropped")
_LARGE = ("request is too large", "message larger than max")
_CREDENTIALS = ("authentication failed", "user name is empty", "authentication is not enabled")


class NotSent(Exception):
    """There was no connection that the request could have gone over."""


class NoAnswer(Exception):
    """The request may have arrived; nothing came back that says so."""


class Failed(Exception):
    """etcd has answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def _says(self, *phrases: str) -> bool:
        return any(phrase in self.message for phrase in phrases)

    @property
    def wants_login(self) -> bool:
        """What we showed no longer holds: tokens expire, and are lost when a server restarts."""
        return self._says(*_TOKEN)

    @property
    def denied(self) -> bool:
        """Watches are refused in these words to who may not, and to who shows an old token."""
        return self._says(*_TOKEN, "permission denied")

    @property
    def surely_not_done(self) -> bool:
        """Refused before anything was proposed. All else that fails late may yet be written."""
        return self._says(*_NOT_DONE)

    def lasting(self) -> Exception | None:
        """What is to be raised, if another server or a later try would say the same."""
        if self._says("database space exceeded"):
            return NoRoom(
                "etcd's database is as large as it may be; compact and defragment it, or raise "
                "--quota-backend-bytes, then disarm its alarm"
            )
        if self._says("requested lease not found"):
            return SessionLost("the session has ended: etcd knows its lease no more")
        if self._says(*_CREDENTIALS):
            return Unusable(f"{self.message}; set the user and password that etcd knows")
        if self.code == PERMISSION_DENIED:
            return Unusable(
                f"{self.message}; grant the user a role that may read and write all keys under "
                "the prefix of the store"
            )
        return self._ours()

    def _ours(self) -> Exception | None:
        """What is wrong with the request itself."""
        if self._says(*_LARGE):
            return Refused(
                ErrorCode.INVALID_REQUEST,
                "the change is larger than etcd takes at once; change less at a time, or raise "
                "etcd's --max-request-bytes",
            )
        if self.code == INVALID_ARGUMENT and not self.wants_login:
            return Refused(ErrorCode.INVALID_REQUEST, self.message)
        if self.code == OUT_OF_RANGE:
            return self
        return None
