"""What readers see of transactions, if they want only what is committed, or everything."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.transacting import Office, add, end, produce
from tests.raw_client import fetch_of

from penstock.coordination.transaction.state import Identity
from penstock.errors import ErrorCode
from penstock.wire.messages.k01_fetch import FetchRequest, PartitionData
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

READ_COMMITTED = 1
LATEST = -1


def reading(offset: int = 0, *, committed: bool = True, wait_ms: int = 0) -> FetchRequest:
    request = fetch_of("orders", offset, max_wait_ms=wait_ms)
    request.isolation_level = READ_COMMITTED if committed else 0
    return request


def part_of(answer: Any) -> PartitionData:
    part: PartitionData = answer.responses[0].partitions[0]
    assert part.error_code == ErrorCode.NONE
    return part


def fetched(office: Office, offset: int = 0, *, committed: bool = True) -> PartitionData:
    return part_of(office.tell(reading(offset, committed=committed), 12))


def latest(office: Office, *, committed: bool) -> int:
    wanted = ListOffsetsPartition(0, -1, LATEST)
    level = READ_COMMITTED if committed else 0
    request = ListOffsetsRequest(-1, level, [ListOffsetsTopic("orders", [wanted])])
    offset: int = office.tell(request, 7).topics[0].partitions[0].offset
    return offset


@pytest.fixture
def writer(office: Office) -> Identity:
    """With a transaction open that has written the record at 0."""
    writer = office.opened()
    office.wrote(writer)
    return writer


def test_what_is_not_decided_is_seen_by_who_wants_everything_only(
    office: Office, writer: Identity
) -> None:
    part = fetched(office)
    assert not part.records
    assert (part.last_stable_offset, part.high_watermark) == (0, 1)
    assert fetched(office, committed=False).records
    assert latest(office, committed=True) == 0
    assert latest(office, committed=False) == 1


def test_what_is_decided_and_not_yet_told_is_not_seen(office: Office, writer: Identity) -> None:
    office.tell(end(writer), 3)
    assert not fetched(office).records


def test_what_is_committed_is_seen(office: Office, writer: Identity) -> None:
    office.tell(end(writer), 3)
    office.finish()
    part = fetched(office)
    assert part.records
    assert part.last_stable_offset == latest(office, committed=True) == 2
    assert not part.aborted_transactions


def test_what_is_aborted_is_named(office: Office, writer: Identity) -> None:
    office.tell(end(writer, commit=False), 3)
    office.finish()
    (aborted,) = fetched(office).aborted_transactions or []
    assert (aborted.producer_id, aborted.first_offset) == (writer.producer_id, 0)
    assert not fetched(office, committed=False).aborted_transactions


def test_what_is_open_hides_what_others_have_committed_behind_it(
    office: Office, writer: Identity
) -> None:
    office.desk.append("orders", count=3)
    assert not fetched(office).records
    office.tell(end(writer), 3)
    office.finish()
    assert fetched(office).last_stable_offset == 5


def test_who_waits_for_more_is_woken_by_the_marker(office: Office, writer: Identity) -> None:
    asked = office.ask(reading(wait_ms=30_000), 12)
    office.tell(end(writer), 3)
    assert asked.is_waiting
    office.finish()
    assert part_of(asked.answer).records


def test_of_transactions_that_follow_each_other_only_the_aborted_ones_are_named(
    office: Office, writer: Identity
) -> None:
    for number, commit in enumerate((True, False, True), 1):
        office.tell(end(writer, commit=commit), 3)
        office.finish()
        office.tell(add(writer, 0), 3)
        office.tell(produce(writer, 0, sequence=number), 11)
    assert not fetched(office).aborted_transactions, "the next segment has it"
    part = fetched(office, 1)
    assert [each.first_offset for each in part.aborted_transactions or ()] == [2]
    assert part.last_stable_offset == 6


def test_who_reads_a_little_is_told_of_what_is_aborted_there_only(
    office: Office, writer: Identity
) -> None:
    for sequence in range(1, 4):
        office.tell(end(writer, commit=False), 3)
        office.finish()
        office.tell(add(writer, 0), 3)
        office.tell(produce(writer, 0, sequence=sequence), 11)
    request = reading(2)
    request.topics[0].partitions[0].partition_max_bytes = 1
    part = part_of(office.tell(request, 12))
    assert part.last_stable_offset == 6
    assert [each.first_offset for each in part.aborted_transactions or ()] == [2]


def test_readers_from_the_end_begin_at_what_was_not_deleted(
    office: Office, writer: Identity
) -> None:
    for sequence in range(1, 5):
        office.wrote(writer, sequence=sequence)
    part = DeleteRecordsPartition(0, 3)
    office.tell(DeleteRecordsRequest([DeleteRecordsTopic("orders", [part])], 1000))
    assert latest(office, committed=True) == 3
    assert not fetched(office, 3).records


def test_who_reads_past_an_aborted_one_is_not_told_of_it(office: Office, writer: Identity) -> None:
    office.tell(end(writer, commit=False), 3)
    office.finish()
    office.desk.append("orders")
    assert not fetched(office, 2).aborted_transactions
    assert fetched(office, 1).aborted_transactions, "its marker is still to come"
