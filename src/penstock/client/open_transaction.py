"""A transaction that is opened here and may be ended elsewhere, by whoever knows its three numbers.

A task writes its share and hands the transaction on; who has heard from all tasks commits them, or
aborts them. That takes KIP-890: the partitions that a `Producer` writes to are added by their
leaders, and an end that is asked for twice is answered the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.client.cluster import WireClient
from penstock.client.connection import Connection
from penstock.client.errors import check, refused
from penstock.client.groups import ask_coordinator
from penstock.client.transactions import about, coordinator_of
from penstock.errors import ErrorCode
from penstock.wire.codec import Message
from penstock.wire.messages.k00_produce import ProduceRequest
from penstock.wire.messages.k22_init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from penstock.wire.messages.k26_end_txn import EndTxnRequest, EndTxnResponse
from penstock.wire.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

TIMEOUT_MS = 60_000
_TWO_PHASES: dict[type[Message], int] = {
    ProduceRequest: 12,
    InitProducerIdRequest: 6,
    EndTxnRequest: 5,
}
"""Since which versions they know of KIP-890 and KIP-939."""

Place = tuple[str, int]
"""A topic's name and the number of a partition."""


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """Plain values, to be sent to where it ends. Nothing is open before something is written."""

    name: str
    producer_id: int
    epoch: int


def begin(
    client: WireClient, name: str, timeout_ms: int = TIMEOUT_MS, *, in_two_phases: bool = False
) -> OpenTransaction:
    """Whoever had the transactional id is shut out, and what it has open is aborted first.

    In two phases there is no timeout: nobody but who has the transaction ends it.
    """

    def attempt(deadline: float) -> OpenTransaction:
        node = coordinator_of(client, name, deadline)
        if in_two_phases:
            _check_versions(client.node(node, deadline))
        request = InitProducerIdRequest(name, timeout_ms, enable2_pc=in_two_phases)
        answer = client.ask_node(node, request, InitProducerIdResponse, deadline)
        check(about(name), answer.error_code)
        return OpenTransaction(name, answer.producer_id, answer.producer_epoch)

    return client.retry(attempt)


def _check_versions(connection: Connection) -> None:
    """An older broker would take the request, and pass over what it does not know."""
    for kind, version in _TWO_PHASES.items():
        if connection.version_of(kind) < version:
            about = f"{connection.address} has no transactions in two phases"
            raise refused(about, ErrorCode.UNSUPPORTED_VERSION)


def end(client: WireClient, opened: OpenTransaction, *, is_commit: bool) -> OpenTransaction:
    """All of it counts from now on, or nothing does. What is returned is for the next one."""

    def attempt(deadline: float) -> OpenTransaction:
        node = coordinator_of(client, opened.name, deadline)
        request = EndTxnRequest(opened.name, opened.producer_id, opened.epoch, is_commit)
        answer = client.ask_node(node, request, EndTxnResponse, deadline)
        check(about(opened.name), answer.error_code)
        return OpenTransaction(opened.name, answer.producer_id, answer.producer_epoch)

    return client.retry(attempt)


def commit_offsets(
    client: WireClient,
    opened: OpenTransaction,
    group: str,
    offsets: Mapping[Place, int],
    note: str = "",
) -> None:
    """A group is there, once the transaction is committed: the first offsets that it has not
    done. The note is kept with each."""
    topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
    for (topic, index), offset in offsets.items():
        part = TxnOffsetCommitRequestPartition(index, offset, committed_metadata=note)
        topics.setdefault(topic, []).append(part)
    request = TxnOffsetCommitRequest(
        opened.name,
        group,
        opened.producer_id,
        opened.epoch,
        topics=[TxnOffsetCommitRequestTopic(name, parts) for name, parts in topics.items()],
    )

    def read(answer: TxnOffsetCommitResponse, _: int) -> None:
        for topic in answer.topics:
            for part in topic.partitions:
                check(f"group {group} at {topic.name}-{part.partition_index}", part.error_code)

    ask_coordinator(client, group, request, TxnOffsetCommitResponse, read)
