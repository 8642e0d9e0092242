"""Each anomaly is found where it is, and nothing where there is none."""

from __future__ import annotations

import pytest

from penstock.sim.checker import check
from penstock.sim.history import History, Seen
from penstock.sim.outcome import Outcome


def history(*values: int) -> History:
    """Of one producer that sent 0, 1, 2 and was told so; the values were read in that order."""
    made = History()
    for offset in range(3):
        send = made.send("p", 0)
        send.outcome, send.offset = Outcome.OK, offset
    seen = [Seen(0, offset, value) for offset, value in enumerate(values)]
    made.polls["r"], made.last_reads["last"] = list(seen), list(seen)
    return made


def kinds(made: History) -> set[str]:
    return {finding.partition(":")[0] for finding in check(made)}


def test_a_history_in_which_all_is_well_has_no_findings() -> None:
    assert check(history(0, 1, 2)) == []


def test_what_nobody_was_told_of_may_be_there_or_not() -> None:
    made = history(0, 1, 2)
    made.send("p", 0)
    assert check(made) == []
    made.last_reads["last"].append(Seen(0, 3, 3))
    assert check(made) == []


def test_two_values_at_one_offset_are_inconsistent() -> None:
    made = history(0, 1, 2)
    made.polls["r"][1] = Seen(0, 1, 2)
    assert "inconsistent offsets" in kinds(made)


def test_a_value_elsewhere_than_its_producer_was_told_is_inconsistent() -> None:
    made = history(0, 1, 2)
    made.sends[1].offset = 2
    assert "inconsistent offsets" in kinds(made)


def test_a_value_at_two_offsets_is_a_duplicate() -> None:
    made = history(0, 1, 2)
    made.last_reads["last"].append(Seen(0, 3, 1))
    assert "duplicate" in kinds(made)


def test_an_acknowledged_value_that_others_follow_is_lost() -> None:
    made = history(0, 1, 2)
    for reads in (made.polls["r"], made.last_reads["last"]):
        del reads[1]
    assert {"lost", "unseen"} <= kinds(made)


def test_an_acknowledged_value_that_the_last_reader_did_not_find_is_unseen() -> None:
    made = history(0, 1, 2)
    del made.last_reads["last"][2]
    assert kinds(made) == {"unseen"}


def test_a_value_that_was_surely_not_written_must_not_be_read() -> None:
    made = history(0, 1, 2)
    made.sends[1].outcome = Outcome.FAILED
    assert kinds(made) == {"aborted read"}


def test_a_value_that_nobody_sent_is_invented() -> None:
    made = history(0, 1, 2)
    made.last_reads["last"].append(Seen(0, 3, 99))
    assert "invented" in kinds(made)


@pytest.mark.parametrize("reads", ["polls", "last_reads"])
def test_a_reader_that_goes_back_is_nonmonotonic(reads: str) -> None:
    made = history(0, 1, 2)
    for seen in getattr(made, reads).values():
        seen.append(seen[0])
    assert kinds(made) == {"nonmonotonic poll"}


def test_a_reader_that_passes_over_a_value_skips() -> None:
    made = history(0, 1, 2)
    del made.polls["r"][1]
    assert kinds(made) == {"poll skip"}


def test_values_of_one_producer_in_another_order_are_nonmonotonic() -> None:
    made = history(0, 2, 1)
    made.sends[1].offset, made.sends[2].offset = 2, 1
    assert kinds(made) == {"nonmonotonic send"}
