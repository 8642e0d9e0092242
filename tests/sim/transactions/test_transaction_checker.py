"""Each anomaly of transactions is found where it is, and nothing where there is none."""

from __future__ import annotations

from penstock.sim.outcome import Outcome
from penstock.sim.transactions.checker import check
from penstock.sim.transactions.history import Place, Read, Transaction, TransactionHistory, Write
from penstock.sim.transactions.topics import COPIES, SOURCE


class Story:
    """A history in which one reader finds, in the end, what is told of it."""

    def __init__(self) -> None:
        self.history = TransactionHistory()
        self.seen = self.history.last_reads.setdefault("last reader", [])

    def writes(self, outcome: Outcome, *values: int, who: str = "writer") -> Transaction:
        made = self.history.begin(who)
        made.writes = [Write(SOURCE, value % 2, value) for value in values]
        made.outcome = outcome
        return made

    def finds(self, *values: int) -> None:
        self.seen += [Read(SOURCE, value % 2, 10 * value, value) for value in values]

    def copies(self, value: int, outcome: Outcome, offset: int) -> Transaction:
        made = self.history.begin("copier")
        made.writes = [Write(COPIES, value % 2, value)]
        made.offsets = {value % 2: offset}
        made.outcome = outcome
        return made

    @property
    def kinds(self) -> set[str]:
        return {finding.partition(":")[0] for finding in check(self.history)}


def test_what_is_committed_and_found_has_no_findings() -> None:
    story = Story()
    story.writes(Outcome.OK, 1, 2)
    story.writes(Outcome.FAILED, 3, 4)
    story.writes(Outcome.UNKNOWN, 5, 6)
    story.finds(1, 2, 5, 6)
    assert not story.kinds


def test_a_record_of_an_aborted_transaction_is_found() -> None:
    story = Story()
    story.writes(Outcome.FAILED, 1)
    story.finds(1)
    assert story.kinds == {"aborted read"}


def test_a_committed_record_that_nobody_finds_is_lost() -> None:
    story = Story()
    story.writes(Outcome.OK, 1)
    assert story.kinds == {"lost"}


def test_half_of_a_transaction_obliges_the_other_half() -> None:
    story = Story()
    story.writes(Outcome.UNKNOWN, 1, 2)
    story.finds(1)
    assert story.kinds == {"half a transaction"}


def test_a_record_that_is_there_twice_or_was_never_written_is_found() -> None:
    story = Story()
    story.writes(Outcome.OK, 2)
    story.finds(2)
    story.seen += [Read(SOURCE, 0, 30, 2), Read(SOURCE, 0, 31, 8)]
    assert story.kinds == {"duplicate", "invented"}


def test_two_values_at_one_offset_are_found() -> None:
    story = Story()
    story.writes(Outcome.OK, 2, 4)
    story.finds(2, 4)
    story.history.polls["reader"] = [Read(SOURCE, 0, 20, 4)]
    assert "inconsistent offsets" in story.kinds


def test_transactions_of_one_producer_are_in_order() -> None:
    story = Story()
    story.writes(Outcome.OK, 4)
    story.writes(Outcome.OK, 2)
    story.writes(Outcome.OK, 1, who="another")
    story.finds(1, 2, 4)
    assert story.kinds == {"nonmonotonic send"}


def test_a_reader_that_passes_over_or_goes_back_is_found() -> None:
    story = Story()
    story.writes(Outcome.OK, 2, 4, 6)
    story.finds(2, 4, 6)
    story.history.polls["reader"] = [Read(SOURCE, 0, 20, 2), Read(SOURCE, 0, 60, 6)]
    assert story.kinds == {"poll skip"}
    story.history.polls["reader"] += [Read(SOURCE, 0, 40, 4)]
    assert story.kinds == {"nonmonotonic poll"}


def test_a_copy_of_all_that_the_group_has_passed_has_no_findings() -> None:
    story = Story()
    story.writes(Outcome.OK, 2, 4)
    story.finds(2, 4)
    copy = story.copies(2, Outcome.OK, 21)
    story.seen.append(Read(COPIES, 0, 0, 2))
    story.history.last_places.append(Place(0, 21, copy.number, copy.number))
    assert not story.kinds


def test_a_copy_without_its_offset_or_an_offset_without_its_copy_is_found() -> None:
    story = Story()
    story.writes(Outcome.OK, 2, 4)
    story.finds(2, 4)
    copy = story.copies(2, Outcome.UNKNOWN, 21)
    story.history.last_places.append(Place(0, 21, copy.number, -1))
    assert story.kinds == {"wrong copy"}
    story.seen.append(Read(COPIES, 0, 0, 2))
    story.history.last_places[:] = [Place(0, -1, -1, -1)]
    assert story.kinds == {"wrong copy"}


def test_an_offset_of_an_aborted_transaction_or_one_that_went_back_is_found() -> None:
    story = Story()
    aborted = story.copies(2, Outcome.FAILED, 21)
    story.history.places.append(Place(0, 21, aborted.number, -1))
    assert story.kinds == {"aborted offset"}
    committed = story.copies(2, Outcome.OK, 21)
    committed.writes.clear()
    story.history.places[:] = [Place(0, -1, -1, committed.number)]
    assert story.kinds == {"lost offset"}
