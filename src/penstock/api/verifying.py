"""Before the first record of a transaction in a partition: does the partition belong to it?

Clients that speak KIP-890 leave it to the leader to add the partition; others have added it, and it
is only looked for. The transaction's coordinator is asked, over the network; unless that is this
broker itself, and all is well.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from penstock.coordination.transaction.adding import missing
from penstock.coordination.transaction.state import Identity, Place
from penstock.errors import ErrorCode, Refused

if TYPE_CHECKING:
    from penstock.api.broker import Broker

Codes = Mapping[Place, int]

ABORTABLE_SINCE = 11
ADDING_SINCE = 12
"""Versions of Produce."""
OFFSETS_ABORTABLE_SINCE = 4
OFFSETS_ADDING_SINCE = 5
"""Versions of TxnOffsetCommit."""

_NOT_FOUND_NOW = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class Verify(Protocol):
    def __call__(
        self, name: str, writer: Identity, places: Sequence[Place], *, add: bool
    ) -> Awaitable[Codes]:
        """What is to be said of each partition. It raises nothing."""
        ...


async def nobody_to_ask(
    name: str, writer: Identity, places: Sequence[Place], *, add: bool
) -> Codes:
    return dict.fromkeys(places, ErrorCode.COORDINATOR_NOT_AVAILABLE)


def are_added(broker: Broker, name: str, writer: Identity, places: Sequence[Place]) -> bool:
    """Whether this broker is the coordinator, and has added them for good. Where it is not, or
    something has to be waited for, or refused, that is up to `Verify`."""
    try:
        shard = broker.transactions.shard(name)
        transaction = shard.kept.get(name)
        if transaction is None or missing(transaction, writer, places):
            return False
    except Refused:
        return False
    return shard.rest(transaction).is_committed


def produce_code(code: int, version: int) -> ErrorCode:
    """As a producer understands it: what passes is to be tried again, and only some versions know
    that a transaction has to be aborted."""
    if code in _NOT_FOUND_NOW:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if code == ErrorCode.CONCURRENT_TRANSACTIONS and version < ADDING_SINCE:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if code in (ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE):
        return not_in_transaction(version)
    if code == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return ErrorCode(code)


def offsets_code(code: int, version: int) -> ErrorCode:
    """The same for TxnOffsetCommit. Its clients ask again when a coordinator is away."""
    if code == ErrorCode.CONCURRENT_TRANSACTIONS and version < OFFSETS_ADDING_SINCE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code in _NOT_FOUND_NOW:  # of the transaction, not of the group, which is here
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code in (ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE):
        return not_in_transaction(version, OFFSETS_ABORTABLE_SINCE)
    if code == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return ErrorCode(code)


def not_in_transaction(version: int, abortable_since: int = ABORTABLE_SINCE) -> ErrorCode:
    if version >= abortable_since:
        return ErrorCode.TRANSACTION_ABORTABLE
    return ErrorCode.INVALID_TXN_STATE
