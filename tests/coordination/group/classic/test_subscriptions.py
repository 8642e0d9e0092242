from __future__ import annotations

import pytest
from tests.coordination.group.classic.stage import reads

from penstock.coordination.group.classic import subscriptions
from penstock.coordination.group.classic.subscriptions import (
    NAMES_MAX,
    Remembered,
    Topics,
    topics_of,
)


def test_topics_are_read_from_what_consumers_say_of_themselves() -> None:
    assert topics_of(reads("a", "b")) == frozenset({"a", "b"})
    assert topics_of(reads("a", user_data=bytes(100_000))) == frozenset({"a"})
    assert topics_of(reads()) == frozenset()


@pytest.mark.parametrize(
    "metadata",
    [
        b"",
        b"\x00",
        b"\xff" * 20,
        reads("a", "b")[:-6],
        b"\x00\x00" + (1).to_bytes(4, "big") + b"\xff\xffa",
        b"\x00\x00" + (1).to_bytes(4, "big") + b"\x00\x02\xc3\x28",
    ],
)
def test_what_cannot_be_read_tells_nothing(metadata: bytes) -> None:
    assert topics_of(metadata) is None


def test_one_that_names_more_topics_than_are_read_at_once_tells_nothing() -> None:
    assert topics_of(reads(*map(str, range(NAMES_MAX + 1)))) is None
    assert len(topics_of(reads(*map(str, range(NAMES_MAX)))) or ()) == NAMES_MAX


def test_what_is_said_again_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read = counted(monkeypatch)
    remembered = Remembered()
    for _ in range(5):
        for name in "abc":
            assert remembered.topics(reads(name)) == frozenset({name})
    assert len(read) == 3


def test_what_was_not_asked_for_of_late_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "REMEMBERED_BYTES_MAX", 500)
    read = counted(monkeypatch)
    remembered = Remembered()
    for name in ("a", "b", "a", "c", "d", "a"):
        remembered.topics(reads(name))
    assert read == [reads(name) for name in "abcd"]
    remembered.topics(reads("b"))
    assert len(read) == 5


def counted(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    read, real = [], subscriptions.read_topics

    def counting(metadata: bytes) -> Topics:
        read.append(metadata)
        return real(metadata)

    monkeypatch.setattr(subscriptions, "read_topics", counting)
    return read
