"""What can go wrong for an application: few kinds, each with its cause and the way out."""

from __future__ import annotations

import queue
from typing import Any


class PenstockError(Exception):
    """Anything that the SDK raises. `code` is Kafka's name of the cause, where there is one."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class Misconfigured(PenstockError, ValueError):
    """Settings or arguments that cannot be, or contradict each other. Nothing was done."""


class Unreachable(PenstockError):
    """No broker answers at the given addresses, or the connection was lost."""


class TopicNotFound(PenstockError):
    """There is no such topic, or no such partition of it."""


class TimedOut(PenstockError):
    """It was not done in the time that it was given. It may still be done."""


class NotSerializable(PenstockError, ValueError):
    """A key or value that cannot be made into bytes. Nothing was sent."""


class NotDeserializable(PenstockError, ValueError):
    """Bytes that are no key or value of the kind asked for. The next message can be read."""

    def __init__(
        self, message: str, *, topic: str, partition: int, offset: int, data: bytes, raw: Any
    ) -> None:
        super().__init__(message)
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.data = data
        """What could not be read."""
        self.raw = raw
        """The whole message, as librdkafka has it."""


class DeliveryFailed(PenstockError):
    """A message was not delivered, or it is not known whether it was."""

    def __init__(
        self, message: str, code: str = "", *, topic: str, key: bytes | None, count: int = 1
    ) -> None:
        super().__init__(message, code)
        self.topic = topic
        self.key = key
        self.count = count
        """How many failed; the others did after this one."""


class Fenced(PenstockError):
    """Another client has taken over, by the same transactional id or group instance id."""


class TransactionAborted(PenstockError):
    """Nothing of the transaction is to be seen by readers of committed messages. It may be tried
    again."""


class LockLost(PenstockError):
    """A job was not ours any more when it was acknowledged: its lock had ended, or the broker that
    gave it was lost. Another worker gets it, or has got it."""

    def __init__(self, message: str, *, may_be_stored: bool = False) -> None:
        super().__init__(message, "INVALID_RECORD_STATE")
        self.may_be_stored = may_be_stored
        """The connection, or the leader, was lost before it could be told: it may have been stored,
        or not. If it was, the job does not come again, which is well, as it was done."""


class Empty(PenstockError, queue.Empty):
    """No job has come in the time that was given, or `stop` was called."""


class TopicExists(PenstockError):
    """There is a topic of that name already."""


class GroupNotFound(PenstockError):
    """There is no such group."""


class GroupRunning(PenstockError):
    """The group has members, and this can only be done when it has none."""


class NotScheduled(PenstockError):
    """The message does not wait for its time any more: it was delivered, or cancelled."""


class BrokerNotFound(PenstockError):
    """There is no broker of that number in the cluster."""


class BrokerRefused(PenstockError):
    """The broker said no, for a reason that has no class of its own."""
