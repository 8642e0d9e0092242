"""The transactions of tasks: their names, how they are opened, and how they end.

A name belongs to one process for ever. So a task that Spark has given up, and that goes on all the
same, never touches what another has written in its place.
"""

from __future__ import annotations

import os
from uuid import uuid4

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.open_transaction import OpenTransaction, begin, end
from penstock.client.transactions import OPEN, describe_transaction, list_transactions
from penstock.errors import ErrorCode
from penstock.spark.errors import SparkError

PREFIX = "penstock-spark/"
ONGOING = OPEN[0]
_GONE = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
    }
)
"""How a broker says that a transaction is not open any more."""


class Names:
    """Of one process. A name is used again once its last batch is over: for another one."""

    def __init__(self) -> None:
        self._process = 0
        self._own = ""
        self._used: dict[str, tuple[int, int]] = {}
        """The batch of each query, and how many names it has taken."""

    def take(self, query: str, batch: int) -> str:
        if self._process != os.getpid():  # a fork has names of its own
            self._process, self._own, self._used = os.getpid(), uuid4().hex[:16], {}
        last, count = self._used.pop(query, (batch, 0))
        count = count if last == batch else 0
        self._used[query] = (batch, count + 1)
        while len(self._used) > QUERIES_MAX:
            self._forget_oldest()
        return f"{PREFIX}{query}/{self._own}-{count}"

    def _forget_oldest(self) -> None:
        """Another name is begun for it, lest one be taken twice within a batch."""
        del self._used[next(iter(self._used))]
        self._own = uuid4().hex[:16]


QUERIES_MAX = 1000
NAMES = Names()


def query_of(name: str) -> str:
    return name.removeprefix(PREFIX).rpartition("/")[0]


def open_two_phase(client: WireClient, name: str) -> OpenTransaction:
    """Nobody ends it but a driver that has decided, however long that takes."""
    try:
        return begin(client, name, in_two_phases=True)
    except ClientError as error:
        if error.code is ErrorCode.UNSUPPORTED_VERSION:
            raise SparkError(
                f"exactly-once takes transactions in two phases (KIP-890, KIP-939), which these "
                f"brokers do not have: delivery=at-least-once works with them ({error.said})"
            ) from None
        if error.code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            raise SparkError(
                "the brokers do not allow transactions in two phases, which exactly-once takes: "
                "set transaction.two.phase.commit.enable=true on them, or delivery=at-least-once "
                "on the sink"
            ) from None
        raise


def open_ones(client: WireClient, query: str) -> list[str]:
    """Names of a query that have something open."""
    prefix = f"{PREFIX}{query}/"
    found = list_transactions(client, [ONGOING])
    return [each.name for each in found if each.name.startswith(prefix)]


def identified(client: WireClient, name: str) -> OpenTransaction | None:
    """As it is open now, if it is."""
    try:
        told = describe_transaction(client, name)
    except ClientError as error:
        if error.code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return None
        raise
    if told.state != ONGOING:
        return None
    return OpenTransaction(name, told.producer_id, told.epoch)


def is_over(client: WireClient, opened: OpenTransaction, *, is_commit: bool) -> bool:
    """Ends it so. False if it was not open any more, and had not ended so."""
    try:
        end(client, opened, is_commit=is_commit)
    except ClientError as error:
        if error.code not in _GONE:
            raise
        return False
    return True
