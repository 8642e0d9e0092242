"""After a restart: who asks for a partition whose log takes long to open."""

from __future__ import annotations

import gc
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from tests.api.desk import Desk
from tests.api.slow_logs import PRODUCERS, make_slow_to_open, never_open, reopened

from penstock.api.opening import WAIT_MS_MAX
from penstock.api.outcome import Resume
from penstock.api.trust import Client
from penstock.errors import ErrorCode
from penstock.wire.codec import Message
from penstock.wire.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from penstock.wire.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from penstock.wire.messages.k23_offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from penstock.wire.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from penstock.wire.messages.k61_describe_producers import (
    DescribeProducersRequest,
    TopicRequest,
)

MAX_WAIT_MS = 300
FETCH = FetchRequest(
    max_wait_ms=MAX_WAIT_MS,
    min_bytes=1,
    max_bytes=1 << 20,
    topics=[
        FetchTopic(
            "orders",
            partitions=[
                FetchPartition(index, fetch_offset=PRODUCERS - 1, partition_max_bytes=1 << 20)
                for index in (0, 1)
            ],
        )
    ],
)


def list_offsets(timestamp: int) -> ListOffsetsRequest:
    wanted = [ListOffsetsPartition(index, -1, timestamp) for index in (0, 1)]
    return ListOffsetsRequest(-1, 0, [ListOffsetsTopic("orders", wanted)])


REQUESTS: dict[str, tuple[Message, int | None]] = {
    "fetch, which may ask a follower": (FETCH, 12),
    "fetch": (FETCH, 10),
    "the end": (list_offsets(-1), None),
    "by time": (list_offsets(1), None),
    "the newest": (list_offsets(-3), None),
    "delete records": (
        DeleteRecordsRequest(
            [DeleteRecordsTopic("orders", [DeleteRecordsPartition(index, 1) for index in (0, 1)])]
        ),
        None,
    ),
    "epochs": (
        OffsetForLeaderEpochRequest(
            -1,
            [
                OffsetForLeaderTopic(
                    "orders", [OffsetForLeaderPartition(index, -1, 0) for index in (0, 1)]
                )
            ],
        ),
        None,
    ),
    "producers": (DescribeProducersRequest([TopicRequest("orders", [0, 1])]), None),
}


@pytest.fixture
def orders(desk: Desk) -> Desk:
    desk.create("orders", partitions=2)
    for index in (0, 1):
        make_slow_to_open(desk, "orders", index)
    return desk


def parts_of(answer: Any) -> list[Any]:
    (topic,) = getattr(answer, "topics", None) or answer.responses
    return list(topic.partitions)


@pytest.mark.parametrize("name", REQUESTS)
async def test_who_asks_first_waits_until_the_logs_are_open(orders: Desk, name: str) -> None:
    request, version = REQUESTS[name]
    again = reopened(orders)
    first = parts_of(await again.ask_and_wait(request, version))
    assert [part.error_code for part in first] == [0, 0]
    assert first == parts_of(await again.ask_and_wait(request, version))


@pytest.mark.parametrize("name", REQUESTS)
async def test_who_has_waited_long_enough_is_to_ask_again(orders: Desk, name: str) -> None:
    request, version = REQUESTS[name]
    again = orders.restart()
    waits = never_open(again)
    parts = parts_of(await again.ask_and_wait(request, version))
    assert {part.error_code for part in parts} == {ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert waits == [MAX_WAIT_MS if request is FETCH else WAIT_MS_MAX]


@pytest.mark.parametrize("broker_id", [2, -1])
def test_a_coordinator_is_told_at_once_that_a_log_is_not_open(orders: Desk, broker_id: int) -> None:
    """It has other markers to send, and asks again by itself. A tool waits."""
    again = orders.restart()
    never_open(again)
    topics = [WritableTxnMarkerTopic("orders", [0, 1])]
    call = again.call(WriteTxnMarkersRequest([WritableTxnMarker(7, 0, True, topics)]))
    call.client = Client("peer", broker_id=broker_id)
    outcome = call.run(again.broker)
    if broker_id < 0:
        assert isinstance(outcome, Resume)
        return
    told = outcome.markers[0].topics[0].partitions
    assert [part.error_code for part in told] == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2


async def test_a_log_that_cannot_be_opened_keeps_nothing_of_those_who_asked_for_it(
    desk: Desk,
) -> None:
    """Why it cannot is told to each of them; an exception would keep what all of them held."""
    desk.create("orders")
    make_slow_to_open(desk, "orders")
    again = reopened(desk)
    folder = Path(again.broker.config.data_dir) / "orders-0"
    (folder / "leader-epoch-checkpoint").write_text("99\n0\n")
    codes = []
    for _ in range(20):
        answer: Any = await again.ask_and_wait(FETCH, 11)
        codes.append(answer.responses[0].partitions[0].error_code)
    assert codes == [ErrorCode.KAFKA_STORAGE_ERROR] * 20
    kept = [each for each in gc.get_objects() if isinstance(each, Exception)]
    assert all(_depth(each.__traceback__) < 20 for each in kept)


def _depth(trace: TracebackType | None) -> int:
    depth = 0
    while trace is not None:
        depth, trace = depth + 1, trace.tb_next
    return depth
