"""Who may write to a partition that its topic is to lose, or has lost."""

from __future__ import annotations

import pytest

from penstock.errors import ErrorCode, Refused
from penstock.replication.writing import CLIENT_CHARS_MAX, WRITERS_MAX, Writing


def test_anyone_writes_to_an_ordinary_partition_and_nobody_is_noted() -> None:
    writing = Writing()
    assert writing.is_usual
    writing.check("t-0", "a client", 1)
    assert not writing.writers


def test_writers_to_a_closing_partition_are_noted_the_latest_last() -> None:
    writing = Writing()
    writing.is_closing = True
    for number, client in enumerate(["a", "b", "a"]):
        writing.check("t-0", client, number)
    assert list(writing.writers.items()) == [("b", 1), ("a", 2)]


def test_so_many_writers_are_noted_and_no_more() -> None:
    writing = Writing()
    writing.is_closing = True
    for number in range(3 * WRITERS_MAX):
        writing.check("t-0", f"{number}" * CLIENT_CHARS_MAX, number)
    assert len(writing.writers) == WRITERS_MAX
    assert max(map(len, writing.writers)) == CLIENT_CHARS_MAX
    assert list(writing.writers.values())[-1] == 3 * WRITERS_MAX - 1


def test_nobody_writes_to_what_is_sealed() -> None:
    writing = Writing()
    writing.is_sealed = True
    assert not writing.is_usual
    with pytest.raises(Refused) as refused:
        writing.check("t-0", "a client", 1)
    assert refused.value.code is ErrorCode.POLICY_VIOLATION


def test_nothing_new_is_written_to_what_is_closed() -> None:
    writing = Writing()
    writing.check_open("t-0")
    writing.is_closed = True
    assert not writing.is_usual
    with pytest.raises(Refused) as refused:
        writing.check_open("t-0")
    assert refused.value.code is ErrorCode.NOT_ENOUGH_REPLICAS
