"""ListTransactions: the transactional ids that this broker looks after.

Version 1 brought a filter by how long a transaction has been open, 2 one by a pattern (RE2) that
the id matches. Nothing is told while some of them are not known: who misses one here may take its
transaction for one that nobody ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.outcome import Outcome
from penstock.api.replies import Rest, once_committed
from penstock.api.slices import in_slices, written
from penstock.coordination.regexes import compiled
from penstock.coordination.transaction.phases import Phase
from penstock.coordination.transaction.state import State, Transaction
from penstock.wire.messages.k66_list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)

Matches = Callable[[str, State], bool]


def list_transactions(
    broker: Broker, request: ListTransactionsRequest, call: Call
) -> Outcome[ListTransactionsResponse]:
    shards = broker.transactions.loaded(needs_all=True)
    known = {phase.value for phase in Phase}
    unknown = [state for state in request.state_filters if state not in known]
    matches = _filter(request, call.now_ms)

    def respond(listed: Any) -> Outcome[ListTransactionsResponse]:
        response = ListTransactionsResponse(
            unknown_state_filters=unknown, transaction_states=listed
        )
        return once_committed([Rest(shard, shard.end) for shard in shards], response)

    everyone = [transaction for shard in shards for transaction in shard.kept]
    return in_slices(broker, written(call.version, _chosen(everyone, matches)), respond)


def _filter(request: ListTransactionsRequest, now_ms: int) -> Matches:
    states, ids = set(request.state_filters), set(request.producer_id_filters)
    pattern = None
    if request.transactional_id_pattern:
        pattern = compiled(request.transactional_id_pattern)

    def matches(name: str, state: State) -> bool:
        if states and state.phase.value not in states:
            return False
        if ids and state.owner.producer_id not in ids:
            return False
        if request.duration_filter >= 0 and not _is_open_for(
            state, now_ms - request.duration_filter
        ):
            return False
        return pattern is None or pattern.fullmatch(name) is not None

    return matches


def _is_open_for(state: State, since_ms: int) -> bool:
    return not state.phase.is_over and 0 <= state.started_ms < since_ms


def _chosen(everyone: list[Transaction], matches: Matches) -> Iterator[TransactionState]:
    for transaction in everyone:
        state = transaction.state
        if state is not None and matches(transaction.name, state):
            owner = state.owner.producer_id
            yield TransactionState(transaction.name, owner, state.phase.value)
