"""The wire client's errors as the SDK's own, with a way out that a program can take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.client import errors as client_errors
from penstock.client.errors import ClientError
from penstock.errors import ErrorCode
from penstock.sdk import errors
from penstock.sdk.errors import BrokerRefused, PenstockError

_TOPICS = "admin.topics.list() shows what there is"
_MEMBERS = "stop its members first: admin.groups.describe(...).members shows them"
_TIME = "try again, or allow more with Admin(..., timeout_s=...)"
_START = "is the broker running? Start one with `penstock serve`, or give the address of another"

KINDS: dict[ErrorCode, tuple[type[PenstockError], str]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: (errors.TopicNotFound, _TOPICS),
    ErrorCode.UNKNOWN_TOPIC_ID: (errors.TopicNotFound, _TOPICS),
    ErrorCode.TOPIC_ALREADY_EXISTS: (
        errors.TopicExists,
        "choose another name, or change it with admin.topics.set_configs()",
    ),
    ErrorCode.GROUP_ID_NOT_FOUND: (
        errors.GroupNotFound,
        "admin.groups.list() shows what there is",
    ),
    ErrorCode.NON_EMPTY_GROUP: (errors.GroupRunning, _MEMBERS),
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: (errors.GroupRunning, _MEMBERS),
    ErrorCode.BROKER_ID_NOT_REGISTERED: (
        errors.BrokerNotFound,
        "admin.brokers.list() shows what there is",
    ),
    ErrorCode.BROKER_NOT_AVAILABLE: (
        errors.BrokerNotFound,
        "admin.brokers.list() shows what there is",
    ),
    ErrorCode.REQUEST_TIMED_OUT: (errors.TimedOut, _TIME),
    ErrorCode.INVALID_REPLICATION_FACTOR: (
        errors.Misconfigured,
        "ask for no more replicas than there are brokers",
    ),
    ErrorCode.INVALID_CONFIG: (errors.Misconfigured, ""),
    ErrorCode.INVALID_PARTITIONS: (errors.Misconfigured, ""),
    ErrorCode.INVALID_TOPIC: (errors.Misconfigured, ""),
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: (errors.Misconfigured, ""),
    ErrorCode.INVALID_GROUP_ID: (errors.Misconfigured, ""),
    ErrorCode.INVALID_REQUEST: (errors.Misconfigured, ""),
}
"""By what a broker, or the client itself, has said: the class, and what to do next."""


@contextmanager
def as_our_own() -> Iterator[None]:
    """Errors of the client inside are raised as those of the SDK."""
    try:
        yield
    except ClientError as error:
        raise translated(error) from error


def translated(error: ClientError) -> PenstockError:
    if isinstance(error, client_errors.Unreachable):
        return errors.Unreachable(f"{error.said}: {_START}")
    if isinstance(error, client_errors.Lost) and error.code is ErrorCode.NETWORK_EXCEPTION:
        return errors.Unreachable(error.said)
    if error.code not in KINDS:
        return BrokerRefused(str(error), error.code.name)
    kind, way_out = KINDS[error.code]
    return kind(f"{error.said}; {way_out}" if way_out else error.said)
