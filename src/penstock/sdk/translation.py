"""What librdkafka reports as error codes, in words and exceptions of ours."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from penstock.client.errors import ADVICE
from penstock.errors import ErrorCode
from penstock.sdk.errors import (
    Fenced,
    Misconfigured,
    PenstockError,
    TimedOut,
    TopicNotFound,
    Unreachable,
)

_UNREACHABLE = frozenset({KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE})
_MISSING = frozenset(
    {
        KafkaError._UNKNOWN_TOPIC,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.UNKNOWN_TOPIC_ID,
    }
)
_FENCED = frozenset(
    {
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.FENCED_INSTANCE_ID,
        KafkaError.UNRELEASED_INSTANCE_ID,
    }
)
_LATE = frozenset({KafkaError._TIMED_OUT, KafkaError._MSG_TIMED_OUT, KafkaError.REQUEST_TIMED_OUT})
_WRONG = frozenset({KafkaError._INVALID_ARG, KafkaError._CONFLICT, KafkaError.INVALID_CONFIG})

KINDS: tuple[tuple[frozenset[int], type[PenstockError], str], ...] = (
    (_UNREACHABLE, Unreachable, "is a broker running there? `penstock serve` starts one"),
    (_MISSING, TopicNotFound, "create it with `penstock topic create`, or look at its name"),
    (
        _FENCED,
        Fenced,
        "a newer client has its id, and goes on with its work: end this one. Two that are to work "
        "side by side need ids of their own. Or its transaction was open for longer than "
        "transaction.timeout.ms: make another producer with the id, and shorter transactions",
    ),
    (_LATE, TimedOut, "look whether the brokers are up, or allow more time"),
    (_WRONG, Misconfigured, "correct the settings"),
)
"""Which of librdkafka's errors are which of ours, and what to do about it."""

_LOCAL_ADVICE = {
    KafkaError._UNKNOWN_PARTITION: (
        "the topic has no such partition, or no more: give another, or none, and send it again"
    ),
    KafkaError._DESTROY: "the topic has fewer partitions now: send it again",
    KafkaError._PURGE_QUEUE: "it was given up before it was sent, with its transaction or at close",
    KafkaError._PURGE_INFLIGHT: "it was given up with its transaction or at close",
    KafkaError.MSG_SIZE_TOO_LARGE: (
        "make it smaller, or raise the topic's max.message.bytes and the setting message.max.bytes"
    ),
    KafkaError.INVALID_TRANSACTION_TIMEOUT: (
        "lower the setting transaction.timeout.ms, or raise transaction.max.timeout.ms of the "
        "brokers"
    ),
    KafkaError.TOPIC_EXCEPTION: (
        "a name has up to 249 letters of ASCII, digits, dots, hyphens and underscores"
    ),
    KafkaError._BAD_MSG: "it was damaged on its way, or on a disk: look at the brokers' logs",
}


def kind_of(error: KafkaError) -> type[PenstockError]:
    """The exception that stands for it."""
    return next((kind for codes, kind, _ in KINDS if error.code() in codes), PenstockError)


def advice_on(error: KafkaError) -> str:
    code = error.code()
    if code in _LOCAL_ADVICE:
        return _LOCAL_ADVICE[code]
    for codes, _, words in KINDS:
        if code in codes:
            return words
    known = code in ErrorCode._value2member_map_
    return ADVICE.get(ErrorCode(code), "") if known else ""


def told(about: str, error: KafkaError) -> str:
    """One line: what it is about, the cause, and what to do."""
    words = error.str().replace("Local: ", "").replace("Broker: ", "").rstrip(".")
    advice = advice_on(error)
    return f"{about}: {words} ({error.name()})" + (f"; {advice}" if advice else "")


def error_of(failure: KafkaException | SystemError) -> KafkaError | None:
    """A fatal error comes out of whichever call hears of it. If another callback had its turn after
    that, it is the cause of a SystemError, or is lost."""
    found = failure.__cause__ if isinstance(failure, SystemError) else failure
    error = found.args[0] if isinstance(found, KafkaException) else None
    return error if isinstance(error, KafkaError) else None


def translated(about: str, failure: KafkaException | KafkaError) -> PenstockError:
    """An error of librdkafka as one of ours."""
    error = failure if isinstance(failure, KafkaError) else failure.args[0]
    if not isinstance(error, KafkaError):
        return PenstockError(f"{about}: {error}")
    return kind_of(error)(told(about, error), error.name())
