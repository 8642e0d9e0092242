"""What clients ask for by headers, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.delays.asking import DELAY_MS_MAX, NOTHING, BadRecord, Cancel, ask
from penstock.errors import ErrorCode
from penstock.wire.batch import check, read_header
from penstock.wire.batch_builder import build_batch, read_records
from penstock.wire.compression import Codec
from penstock.wire.records import Headers, Record

NOW_MS = 1_750_000_000_000
LIMIT = 1 << 20
AT, AFTER, CANCEL = b"penstock-deliver-at", b"penstock-delay-ms", b"penstock-cancel"
CRON = b"penstock-cron"
DAY_MS = 86_400_000


def batch_of(*all_headers: Headers, time_ms: int = NOW_MS, **more: Any) -> bytearray:
    records = [Record(n, time_ms, b"k", b"v", headers) for n, headers in enumerate(all_headers)]
    return build_batch(records, **more)


def asked(batch: bytearray, *, append_time: bool = False) -> object:
    return ask(batch, NOW_MS, LIMIT, append_time=append_time)


def refused(*all_headers: Headers, append_time: bool = False, **more: Any) -> BadRecord:
    with pytest.raises(BadRecord) as found:
        asked(batch_of(*all_headers, **more), append_time=append_time)
    assert found.value.code is ErrorCode.INVALID_RECORD
    return found.value


def test_a_batch_that_asks_for_nothing_is_left_as_it_is() -> None:
    batch = batch_of((), ((b"tier", b"gold"),))
    before = bytes(batch)
    assert asked(batch) is NOTHING
    assert batch == before


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_a_batch_with_a_held_record_is_marked_and_is_whole(codec: Codec) -> None:
    batch = batch_of((), ((AFTER, b"10"),), ((AT, b"%d" % NOW_MS),), ((CANCEL, b"7"),), codec=codec)
    records = read_records(batch, LIMIT)
    assert asked(batch) == (2, [Cancel(3, 7)])
    assert check(batch).holds
    assert not read_header(batch).is_by_leader
    assert read_records(batch, LIMIT) == records


@pytest.mark.parametrize("value", [b"", b"-1", b"+1", b"1.5", b" 1", b"1e3", b"9" * 19, b"\xff"])
@pytest.mark.parametrize("name", [AT, AFTER, CANCEL])
def test_a_header_that_is_no_number_is_named(name: bytes, value: bytes) -> None:
    problem = refused((), ((name, value),))
    assert problem.index == 1
    assert problem.message.startswith(f"record 1: header {name.decode()} is not ")


def test_a_header_without_a_value_is_no_number() -> None:
    assert "header penstock-delay-ms is not" in refused(((AFTER, None),)).message


@pytest.mark.parametrize("name", [AT, AFTER, CANCEL, CRON])
def test_a_header_that_is_given_twice_is_refused(name: bytes) -> None:
    assert "more than once" in refused(((name, b"1"), (name, b"1"))).message


def test_two_of_the_headers_at_once_are_refused() -> None:
    assert (
        "penstock-deliver-at and penstock-delay-ms" in refused(((AT, b"1"), (AFTER, b"1"))).message
    )
    assert (
        "penstock-delay-ms and penstock-cancel" in refused(((CANCEL, b"1"), (AFTER, b"1"))).message
    )


def test_what_is_due_beyond_a_year_is_refused() -> None:
    assert asked(batch_of(((AT, b"%d" % (NOW_MS + DELAY_MS_MAX)),))) == (1, [])
    assert "a year" in refused(((AT, b"%d" % (NOW_MS + DELAY_MS_MAX + 1)),)).message
    assert asked(batch_of(((AFTER, b"%d" % DELAY_MS_MAX),))) == (1, [])
    assert "a year" in refused(((AFTER, b"%d" % (DELAY_MS_MAX + 1)),)).message
    assert "a year" in refused(((AFTER, b"9" * 18),)).message


def test_a_delay_counts_from_the_records_time_or_the_brokers() -> None:
    late = batch_of(((AFTER, b"%d" % DELAY_MS_MAX),), time_ms=NOW_MS + 1)
    with pytest.raises(BadRecord):
        asked(late)
    assert asked(late, append_time=True) == (1, [])


def test_what_was_due_in_the_past_is_taken() -> None:
    assert asked(batch_of(((AT, b"0"),))) == (1, [])
    assert asked(batch_of(((AFTER, b"0"),), time_ms=1)) == (1, [])


def test_a_delay_of_a_record_without_a_time_is_refused() -> None:
    assert "timestamp" in refused(((AFTER, b"1"),), time_ms=-1).message
    assert asked(batch_of(((AFTER, b"1"),), time_ms=-1), append_time=True) == (1, [])
    assert asked(batch_of(((AT, b"1"),), time_ms=-1)) == (1, [])


def test_a_transaction_may_hold_records_and_cancels_none() -> None:
    of: dict[str, Any] = {
        "producer_id": 7,
        "producer_epoch": 0,
        "base_sequence": 0,
        "transactional": True,
    }
    assert asked(batch_of(((AT, b"1"),), **of)) == (1, [])
    assert "transaction" in refused(((CANCEL, b"1"),), **of).message


def test_a_record_that_repeats_is_held() -> None:
    batch = batch_of((), ((CRON, b"*/5 * * * *"),))
    assert asked(batch) == (1, [])
    assert check(batch).holds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"0 25 * * *", "record 1: penstock-cron: hour 25 is not 0 to 23"),
        (b"hourly", "record 1: penstock-cron: it has 1 fields"),
        (b"\xff * * * *", r"record 1: penstock-cron: minute \xff is not 0 to 59"),
        (b"0 0 30 feb *", "record 1: penstock-cron: 0 0 30 feb * has no time within a year"),
        (None, "record 1: penstock-cron: it has 0 fields"),
    ],
)
def test_a_cron_that_is_none_is_told_with_its_field(text: bytes | None, said: str) -> None:
    problem = refused((), ((CRON, text),))
    assert problem.index == 1
    assert problem.message.startswith(said)


@pytest.mark.parametrize("name", [AT, AFTER, CANCEL])
def test_a_record_repeats_or_is_delayed_or_cancels(name: bytes) -> None:
    message = refused(((CRON, b"* * * * *"), (name, b"1"))).message
    assert "penstock-cron" in message
    assert name.decode() in message
    assert "give one of them" in message


def test_a_cron_counts_from_the_records_time_or_the_brokers() -> None:
    cron = ((CRON, b"* * * * *"),)
    assert asked(batch_of(cron, time_ms=1)) == (1, [])
    assert asked(batch_of(cron, time_ms=NOW_MS + DELAY_MS_MAX - DAY_MS)) == (1, [])
    assert "a year" in refused(cron, time_ms=NOW_MS + DELAY_MS_MAX).message
    assert "a year" in refused(cron, time_ms=1 << 60).message
    assert "timestamp" in refused(cron, time_ms=-1).message
    assert asked(batch_of(cron, time_ms=-1), append_time=True) == (1, [])
