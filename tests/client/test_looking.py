"""What is asked of topics that lose partitions meanwhile."""

from __future__ import annotations

import pytest

from penstock.client.errors import ClientError
from penstock.client.looking import LOOKS_MAX, asked_of
from penstock.errors import ErrorCode

GONE = ClientError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no such partition")


def test_what_has_gone_is_looked_at_again_and_not_for_ever() -> None:
    looks: list[int] = []

    def look() -> int:
        looks.append(len(looks))
        return looks[-1]

    def ask(seen: int, gone: int) -> int:
        if seen < gone:
            raise GONE
        return seen

    assert asked_of(look, lambda seen: ask(seen, LOOKS_MAX - 1)) == LOOKS_MAX - 1
    looks.clear()
    with pytest.raises(ClientError, match="no such partition"):
        asked_of(look, lambda seen: ask(seen, LOOKS_MAX))
    assert len(looks) == LOOKS_MAX


def test_a_topic_that_is_not_there_and_other_errors_are_told_at_once() -> None:
    asked: list[str] = []

    def fail(code: ErrorCode) -> None:
        asked.append(code.name)
        raise ClientError(code, "no")

    with pytest.raises(ClientError):
        asked_of(lambda: fail(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), lambda _: None)
    with pytest.raises(ClientError):
        asked_of(lambda: None, lambda _: fail(ErrorCode.REQUEST_TIMED_OUT))
    assert len(asked) == 2
