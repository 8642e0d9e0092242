"""What can go wrong for a client, in words that say what to do next."""

from __future__ import annotations

from penstock.errors import ErrorCode

RETRIABLE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
    }
)
"""What may pass by itself once the cluster has settled, or our picture of it is up to date."""

START_ONE = (
    "is the broker running? Start one with `penstock serve`, or name another with --bootstrap"
)

ADVICE = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "`penstock topic list` shows what there is",
    ErrorCode.UNKNOWN_TOPIC_ID: "`penstock topic list` shows what there is",
    ErrorCode.TOPIC_ALREADY_EXISTS: "choose another name, or change it with `penstock topic alter`",
    ErrorCode.MESSAGE_TOO_LARGE: "raise the topic's max.message.bytes with `penstock topic alter`",
    ErrorCode.RECORD_LIST_TOO_LARGE: "raise the topic's segment.bytes with `penstock topic alter`",
    ErrorCode.INVALID_REPLICATION_FACTOR: "ask for no more replicas than there are brokers",
    ErrorCode.NOT_ENOUGH_REPLICAS: "start the missing brokers, or lower min.insync.replicas",
    ErrorCode.OFFSET_OUT_OF_RANGE: "`penstock topic describe` shows the offsets there are",
    ErrorCode.INVALID_RECORD: (
        "a compacted topic needs a key on every record, one with delays numbers in their headers"
    ),
    ErrorCode.TOPIC_DELETION_DISABLED: "set delete.topic.enable=true on the brokers",
    ErrorCode.LEADER_NOT_AVAILABLE: "`penstock topic describe` shows which broker is missing",
    ErrorCode.OFFSET_NOT_AVAILABLE: (
        "its leader is new, and waits for replicas in sync; `penstock topic describe` shows them"
    ),
    ErrorCode.REQUEST_TIMED_OUT: "try again, or allow more time with --timeout",
    ErrorCode.KAFKA_STORAGE_ERROR: (
        "look at the broker's log: its disk is full or broken, or files are damaged"
    ),
    ErrorCode.UNKNOWN_SERVER_ERROR: "look at the broker's log",
    ErrorCode.GROUP_ID_NOT_FOUND: "`penstock group list` shows what there is",
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: "`penstock txn list` shows what there is",
    ErrorCode.NON_EMPTY_GROUP: "stop its members first: `penstock group members` shows them",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: (
        "stop its members first: `penstock group members` shows them"
    ),
    ErrorCode.UNSUPPORTED_VERSION: "this broker does not offer it; upgrade the broker",
}


class ClientError(Exception):
    """A request failed: refused by a broker, or never answered."""

    def __init__(self, code: ErrorCode, message: str, said: str = "") -> None:
        """`said` is the message without what to do on the command line, which it may end with."""
        super().__init__(message)
        self.code = code
        self.said = said or message

    @property
    def is_retriable(self) -> bool:
        return self.code in RETRIABLE

    @property
    def is_missing(self) -> bool:
        """The broker knows no such topic or partition."""
        return self.code in {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID}


class Unreachable(ClientError):
    """No connection came about: nothing was sent, so nothing can have happened."""

    def __init__(self, addresses: str, reason: str) -> None:
        said = f"cannot connect to {addresses} ({reason})"
        super().__init__(ErrorCode.BROKER_NOT_AVAILABLE, f"{said}: {START_ONE}", said)


class Lost(ClientError):
    """The connection failed with a request under way: it may have been carried out, or not."""


def may_pass(error: ClientError) -> bool:
    """Whether a partition that could not be read is worth another try.

    A disk does not mend itself, and the other partitions need not wait for it.
    """
    return error.is_retriable and error.code is not ErrorCode.KAFKA_STORAGE_ERROR


def code_of(number: int) -> ErrorCode:
    """A broker newer than us may answer with a code that has no name here."""
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def refused(about: str, number: int, message: str | None = None) -> ClientError:
    """What a broker's error code means for whoever asked."""
    code = code_of(number)
    words = (message or code.name.lower().replace("_", " ")).rstrip(".")
    said = words if words.startswith(about) else f"{about}: {words}"
    advice = ADVICE.get(code)
    return ClientError(code, f"{said}; {advice}" if advice else said, said)


def check(about: str, number: int, message: str | None = None) -> None:
    if number:
        raise refused(about, number, message)
