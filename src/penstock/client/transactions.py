"""Transactions of a cluster: what is open, who has it open, and how it is ended from outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError, check, refused
from penstock.errors import ErrorCode
from penstock.wire.messages.k10_find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from penstock.wire.messages.k22_init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from penstock.wire.messages.k65_describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from penstock.wire.messages.k66_list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)

TRANSACTION = 1
"""The type of a coordinator."""
TIMEOUT_MS = 60_000
"""Of the producer that we pretend to be, to shut out another."""
OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort")


class Listed(NamedTuple):
    name: str
    state: str
    producer_id: int
    coordinator: int


@dataclass(frozen=True, slots=True)
class Described:
    name: str
    state: str
    coordinator: int
    producer_id: int
    epoch: int
    timeout_ms: int
    started_ms: int | None
    """None if nothing is open."""
    partitions: dict[str, list[int]]


def list_transactions(
    client: WireClient,
    states: Sequence[str] = (),
    open_for_ms: int = -1,
    producer_ids: Iterable[int] = (),
) -> list[Listed]:
    """By name; only those in one of the states, of one of the producers, or open for so long."""
    request = ListTransactionsRequest(list(states), list(producer_ids), open_for_ms)

    def attempt(deadline: float) -> list[Listed]:
        found: list[Listed] = []
        requests = dict.fromkeys(client.brokers(deadline), request)
        for node, answer in client.ask_nodes(requests, ListTransactionsResponse, deadline).items():
            if isinstance(answer, ClientError):
                raise answer
            check(f"broker {node}", answer.error_code)
            found += [
                Listed(each.transactional_id, each.transaction_state, each.producer_id, node)
                for each in answer.transaction_states
            ]
        return sorted(found)

    return client.retry(attempt)


def describe_transaction(client: WireClient, name: str) -> Described:
    def attempt(deadline: float) -> Described:
        node = coordinator_of(client, name, deadline)
        request = DescribeTransactionsRequest([name])
        answer = client.ask_node(node, request, DescribeTransactionsResponse, deadline)
        (told,) = answer.transaction_states
        if told.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise refused(about(name), told.error_code, "no producer has used it")
        check(about(name), told.error_code)
        return Described(
            name,
            told.transaction_state,
            node,
            told.producer_id,
            told.producer_epoch,
            told.transaction_timeout_ms,
            told.transaction_start_time_ms if told.transaction_state in OPEN else None,
            {topic.topic: topic.partitions for topic in told.topics},
        )

    return client.retry(attempt)


def coordinator_of(client: WireClient, name: str, deadline: float) -> int:
    request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=[name])
    answer = client.ask_any(request, FindCoordinatorResponse, deadline)
    (found,) = answer.coordinators
    check(about(name), found.error_code, found.error_message)
    return found.node_id


def abort_transaction(client: WireClient, name: str) -> None:
    """Its producer is shut out, as by another one with its id. Waits until the transaction is over.

    Raises ClientError with TRANSACTIONAL_ID_NOT_FOUND if there is none.
    """
    describe_transaction(client, name)

    def attempt(deadline: float) -> None:
        node = coordinator_of(client, name, deadline)
        request = InitProducerIdRequest(name, TIMEOUT_MS)
        answer = client.ask_node(node, request, InitProducerIdResponse, deadline)
        check(about(name), answer.error_code)

    client.retry(attempt)


def about(name: str) -> str:
    return f"transactional id {name}"
