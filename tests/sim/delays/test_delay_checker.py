"""What the checker of delays finds in histories that cannot be."""

from __future__ import annotations

from typing import Any

from penstock.sim.delays.checker import check
from penstock.sim.delays.history import DelayHistory, Seen
from penstock.sim.outcome import Outcome
from penstock.sim.transactions.history import Write

DUE_MS = 10_000


def history(**more: Any) -> DelayHistory:
    """One value that was sent for later."""
    made = DelayHistory()
    send = made.send(0, DUE_MS)
    send.outcome, send.offset = Outcome.OK, 0
    for name, value in more.items():
        setattr(send, name, value)
    return made


def read(made: DelayHistory, *places: tuple[int, int], at_ms: float = DUE_MS) -> list[str]:
    """(value, offset) of each; the anomalies."""
    made.last_reads["last"] = [Seen(0, offset, value, at_ms) for value, offset in places]
    return [line.partition(":")[0] for line in check(made)]


def test_a_message_that_comes_once_and_in_time_is_right() -> None:
    assert read(history(), (1, 5)) == []


def test_what_is_acknowledged_and_not_read_is_lost() -> None:
    assert read(history()) == ["lost"]
    assert read(history(outcome=Outcome.UNKNOWN)) == []
    assert read(history(cancelled=Outcome.FAILED)) == ["lost"]


def test_what_is_read_twice_is_doubled() -> None:
    assert read(history(), (1, 5), (1, 6)) == ["duplicate"]


def test_what_is_read_before_its_time_is_too_early() -> None:
    assert read(history(), (1, 5), at_ms=DUE_MS - 1000) == ["too early"]


def test_what_was_cancelled_is_never_read() -> None:
    assert read(history(cancelled=Outcome.OK)) == []
    assert read(history(cancelled=Outcome.OK), (1, 5)) == ["cancelled but read"]


def test_what_nobody_has_sent_is_invented() -> None:
    assert read(history(), (1, 5), (9, 6)) == ["invented"]


def test_one_offset_has_one_value() -> None:
    made = history()
    second = made.send(0, None)
    second.outcome = Outcome.OK
    assert "inconsistent offsets" in read(made, (1, 5), (2, 5))


def test_of_an_aborted_transaction_nothing_is_read_and_of_a_committed_one_all() -> None:
    for outcome, there, anomaly in (
        (Outcome.FAILED, [(2, 6)], ["aborted but read"]),
        (Outcome.OK, [(2, 6)], ["lost"]),
        (Outcome.UNKNOWN, [(2, 6)], ["halved"]),
        (Outcome.UNKNOWN, [], []),
        (Outcome.OK, [(2, 6), (3, 7)], []),
    ):
        made = history()
        transaction = made.transactions.begin("writer")
        transaction.writes = [Write("later", 0, made.transactions.new_value()) for _ in range(2)]
        transaction.outcome = outcome
        assert read(made, (1, 5), *there) == anomaly


def test_what_is_due_together_comes_in_the_order_of_offsets() -> None:
    made = history()
    second = made.send(0, DUE_MS)
    second.outcome, second.offset = Outcome.OK, 1
    assert read(made, (1, 5), (2, 6)) == []
    assert read(made, (2, 5), (1, 6)) == ["out of order"]


def test_what_retention_has_dropped_since_somebody_read_it_is_not_lost() -> None:
    made = history()
    made.has_dropped = True
    made.polls["reader"] = [Seen(0, 5, 1, DUE_MS)]
    assert read(made) == []
    made.polls.clear()
    assert read(made) == ["lost"]
    made.has_missed = True
    assert read(made) == []
