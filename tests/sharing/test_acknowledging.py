"""What members say, before anybody looks at the records."""

from __future__ import annotations

import pytest

from penstock.errors import ErrorCode, Refused
from penstock.sharing.acknowledging import Acknowledgement, Answer, Run, runs


def test_one_type_is_for_all_records_of_a_range() -> None:
    assert runs([Acknowledgement(3, 9, [1])]) == [Run(3, 9, Answer.ACCEPT)]


def test_types_of_each_record_are_taken_together_where_they_are_the_same() -> None:
    said = Acknowledgement(3, 8, [1, 1, 2, 0, 0, 4])
    assert runs([said]) == [
        Run(3, 4, Answer.ACCEPT),
        Run(5, 5, Answer.RELEASE),
        Run(6, 7, Answer.GAP),
        Run(8, 8, Answer.RENEW),
    ]
    assert runs([Acknowledgement(3, 5, [3, 3, 3])]) == [Run(3, 5, Answer.REJECT)]


@pytest.mark.parametrize(
    "said",
    [
        [Acknowledgement(5, 4, [1])],
        [Acknowledgement(-1, 4, [1])],
        [Acknowledgement(5, 6, [])],
        [Acknowledgement(5, 7, [1, 1])],
        [Acknowledgement(5, 5, [1, 1])],
        [Acknowledgement(5, 5, [5])],
        [Acknowledgement(5, 5, [-1])],
        [Acknowledgement(5, 7, [1, 1, 9])],
        [Acknowledgement(5, 7, [1]), Acknowledgement(7, 9, [1])],
        [Acknowledgement(5, 7, [1]), Acknowledgement(1, 2, [1])],
    ],
)
def test_what_is_malformed_is_refused(said: list[Acknowledgement]) -> None:
    with pytest.raises(Refused) as caught:
        runs(said)
    assert caught.value.code is ErrorCode.INVALID_REQUEST
