"""What can go wrong for a program that uses Penstock. Each says the cause and the way out."""

from __future__ import annotations


class PenstockError(Exception):
    """Any of them."""


class Unreachable(PenstockError):
    """No broker answers at the given addresses, or the connection was lost."""


class TimedOut(PenstockError):
    """A broker was reached, and it took longer than was allowed."""


class TopicNotFound(PenstockError):
    """There is no such topic, or no such partition of it."""


class TopicExists(PenstockError):
    """There is a topic of that name already."""


class GroupNotFound(PenstockError):
    """There is no such group."""


class GroupRunning(PenstockError):
    """The group has members, and this can only be done when it has none."""


class BrokerNotFound(PenstockError):
    """There is no broker of that number in the cluster."""


class Misconfigured(PenstockError):
    """What was asked for cannot be: a setting, a number, a name that is wrong."""


class BrokerRefused(PenstockError):
    """The broker said no, for a reason that has no class of its own."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code
        """Kafka's name of the error."""
