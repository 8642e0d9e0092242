"""What is listed of a message that waits: when it is due, and what names it."""

from __future__ import annotations

import pytest

from penstock.client.reader import Arrived
from penstock.client.scheduling import Scheduled, held_as
from penstock.wire.batch import BY_LEADER, HOLDS, read_header, seal
from penstock.wire.batch_builder import build_batch
from penstock.wire.holding import DELAY, DELIVER_AT, SCHEDULED_ID
from penstock.wire.records import Headers, Record

SENT_MS = 1_800_000_000_000
DUE_MS = SENT_MS + 60_000
TAG = (b"tier", b"gold")


def listed(
    *headers: tuple[bytes, bytes], marks: int = HOLDS, append_ms: int | None = None
) -> Scheduled:
    """One record, at offset 7 of partition 2."""
    given: Headers = tuple(headers)
    batch = build_batch([Record(7, SENT_MS, b"k", b"value", given)], append_time_ms=append_ms)
    header = read_header(batch)
    batch = seal(header._replace(attributes=header.attributes | marks), batch[61:])
    arrived = Arrived(2, read_header(batch), memoryview(batch), 0)
    (record,) = arrived.records()
    return held_as(arrived, record)


def test_it_is_named_by_its_offset_and_shown_without_the_header() -> None:
    found = listed(TAG, (DELIVER_AT, b"%d" % DUE_MS))
    assert found[:5] == (DUE_MS, 2, 7, b"k", (TAG,))
    assert found.size_bytes == len(b"kvalue") + len(b"tiergold") + len(DELIVER_AT) + 13


@pytest.mark.parametrize("append_ms", [None, SENT_MS + 5])
def test_a_delay_counts_from_the_time_that_the_record_has(append_ms: int | None) -> None:
    found = listed((DELAY, b"60000"), append_ms=append_ms)
    assert found.due_ms == (append_ms or SENT_MS) + 60_000


def test_one_that_was_carried_forward_keeps_its_name() -> None:
    headers = (TAG, (DELIVER_AT, b"%d" % DUE_MS), (SCHEDULED_ID, b"3"))
    assert listed(*headers, marks=HOLDS | BY_LEADER)[:5] == (DUE_MS, 2, 3, b"k", (TAG,))


def test_what_a_client_claims_to_be_a_name_is_none() -> None:
    assert listed((DELIVER_AT, b"%d" % DUE_MS), (SCHEDULED_ID, b"3")).offset == 7
