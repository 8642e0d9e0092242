"""Share sessions: who is known to a broker, and by which epoch."""

from __future__ import annotations

from functools import partial

import pytest
from tests.sharing.queue_desk import refusal

from penstock.errors import ErrorCode
from penstock.sharing import sessions as module
from penstock.sharing.sessions import EPOCH_MAX, FINAL, Asked, ShareSession, ShareSessions

A, B = ("jobs", "a"), ("jobs", "b")
ONE, TWO = (bytes(16), 0), (bytes(16), 1)


@pytest.fixture
def sessions() -> ShareSessions:
    return ShareSessions(2)


def begin(sessions: ShareSessions, who: tuple[str, str] = A, connection: int = 7) -> ShareSession:
    return sessions.fetch(Asked(who, 0, [ONE, TWO]), connection)


def test_a_session_names_its_partitions_once(sessions: ShareSessions) -> None:
    session = begin(sessions)
    assert session.to_look_at() == [ONE, TWO]
    assert sessions.fetch(Asked(A, 1), 7) is session
    assert session.to_look_at() == [ONE, TWO]
    sessions.fetch(Asked(A, 2, forgotten=[ONE]), 7)
    sessions.fetch(Asked(A, 3, [TWO]), 7)
    assert session.to_look_at() == [TWO]


def test_partitions_take_turns(sessions: ShareSessions) -> None:
    session = begin(sessions)
    session.has_had(ONE)
    assert session.to_look_at() == [TWO, ONE]


def test_epochs_follow_one_another(sessions: ShareSessions) -> None:
    session = begin(sessions)
    for wrong in (2, 5):
        code = refusal(partial(sessions.fetch, Asked(A, wrong), 7))
        assert code is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    sessions.fetch(Asked(A, 1), 7)
    sessions.acknowledge(Asked(A, 2))
    assert refusal(lambda: sessions.fetch(Asked(A, 2), 7)) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    session.epoch = EPOCH_MAX
    sessions.fetch(Asked(A, EPOCH_MAX), 7)
    assert session.epoch == 1


def test_who_has_no_session_is_told_so(sessions: ShareSessions) -> None:
    for epoch in (1, FINAL):
        asked = Asked(A, epoch)
        assert refusal(partial(sessions.fetch, asked, 7)) is ErrorCode.SHARE_SESSION_NOT_FOUND
        assert refusal(partial(sessions.acknowledge, asked)) is ErrorCode.SHARE_SESSION_NOT_FOUND


def test_an_acknowledgement_begins_no_session(sessions: ShareSessions) -> None:
    code = refusal(lambda: sessions.acknowledge(Asked(A, 0)))
    assert code is ErrorCode.INVALID_SHARE_SESSION_EPOCH


@pytest.mark.parametrize("is_fetch", [True, False])
def test_the_final_epoch_ends_it(sessions: ShareSessions, is_fetch: bool) -> None:
    session = begin(sessions)
    asked = Asked(A, FINAL)
    ended = sessions.fetch(asked, 7) if is_fetch else sessions.acknowledge(asked)
    assert ended is session
    assert ended.to_look_at() == [ONE, TWO], "where its records are to be released"
    assert len(sessions) == 0


def test_a_member_may_begin_anew(sessions: ShareSessions) -> None:
    first = begin(sessions)
    second = sessions.fetch(Asked(A, 0, [TWO]), 8)
    assert second is not first
    assert (len(sessions), second.to_look_at()) == (1, [TWO])
    assert sessions.connection_lost(7) == []
    assert sessions.connection_lost(8) == [second]


def test_sessions_end_with_their_connection(sessions: ShareSessions) -> None:
    first, second = begin(sessions), begin(sessions, B)
    assert set(sessions.connection_lost(7)) == {first, second}
    assert sessions.connection_lost(7) == []
    assert len(sessions) == 0


def test_there_are_no_more_sessions_than_may_be(sessions: ShareSessions) -> None:
    begin(sessions)
    begin(sessions, B)
    code = refusal(lambda: begin(sessions, ("jobs", "c")))
    assert code is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    begin(sessions, B)
    sessions.fetch(Asked(A, FINAL), 7)
    begin(sessions, ("jobs", "c"))


def test_sessions_have_no_more_partitions_than_may_be(
    sessions: ShareSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PARTITIONS_MAX", 3)
    begin(sessions)
    assert refusal(lambda: begin(sessions, B)) is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert len(sessions) == 1
    sessions.fetch(Asked(A, 1, [ONE], [TWO]), 7)
    begin(sessions, B)
