"""When a lease counts as renewed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest

from penstock.errors import Unusable
from penstock.metadata.store import Unavailable
from penstock.metadata.stores import monotonic
from penstock.metadata.stores.etcd_gateway import Gateway
from penstock.metadata.stores.etcd_messages import (
    RANGE,
    RENEW,
    REVOKE,
    Granted,
    Header,
    Renewed,
    Revoked,
)
from penstock.metadata.stores.etcd_session import EtcdSession

TTL_S = 30


class Etcd:
    """Answers as it is told to; its terms are those of the leader who renews, and who reads."""

    def __init__(self) -> None:
        self.timeout_ms = 5000
        self.renewing_term = self.reading_term = 2
        self.ttl_s = TTL_S
        self.problem: Exception | None = None
        self.asked: list[str] = []

    async def ask(self, path: str, request: object, kind: object, patience_ms: float = 0) -> Any:
        self.asked.append(path)
        if self.problem:
            raise self.problem
        if path == RENEW:
            return Renewed(Granted(Header(raft_term=self.renewing_term), 7, self.ttl_s))
        return Revoked(Header())

    async def agree(self, patience_ms: float) -> Header:
        self.asked.append(RANGE)
        return Header(raft_term=self.reading_term)


@pytest.fixture
def etcd() -> Etcd:
    return Etcd()


@pytest.fixture
async def session(etcd: Etcd) -> AsyncIterator[EtcdSession]:
    """Begun a while ago, so that a renewal shows."""
    granted = Granted(Header(), 7, TTL_S)
    begun_ms = monotonic.now_ms() - 1000
    made = EtcdSession(cast(Gateway, etcd), granted, begun_ms, lambda session: None)
    yield made
    await made.stop_renewing()


async def until(reached: Callable[[], bool]) -> None:
    while not reached():
        await asyncio.sleep(0.005)


async def test_a_renewal_counts_from_before_it_was_sent(etcd: Etcd, session: EtcdSession) -> None:
    before_ms = monotonic.now_ms()
    assert await session._renew_once()
    after_ms = monotonic.now_ms()
    assert before_ms <= session.deadline_ms - TTL_S * 1000 <= after_ms
    assert etcd.asked == [RENEW, RANGE]


async def test_a_renewal_by_a_leader_that_was_replaced_does_not_count(
    etcd: Etcd, session: EtcdSession
) -> None:
    deadline_ms = session.deadline_ms
    etcd.reading_term = 3
    with pytest.raises(Unavailable, match="new leader"):
        await session._renew_once()
    assert session.deadline_ms == deadline_ms
    etcd.renewing_term = 3
    assert await session._renew_once()
    assert session.deadline_ms > deadline_ms


async def test_a_lease_without_time_left_has_ended(etcd: Etcd, session: EtcdSession) -> None:
    etcd.ttl_s = 0
    assert not await session._renew_once()


async def test_a_session_that_cannot_be_renewed_in_time_is_suspended_but_not_lost(
    etcd: Etcd,
) -> None:
    etcd.problem = Unavailable("no etcd")
    granted = Granted(Header(), 7, 1)
    session = EtcdSession(
        cast(Gateway, etcd), granted, monotonic.now_ms() - 990, lambda session: None
    )
    await until(lambda: session.suspended and RENEW in etcd.asked)
    assert not session.lost
    etcd.problem = None
    await until(lambda: not session.suspended)
    await session.close()
    assert etcd.asked[-1] == REVOKE


async def test_a_session_that_etcd_will_not_renew_is_lost(etcd: Etcd) -> None:
    etcd.problem = Unusable("wrong password")
    ended: list[EtcdSession] = []
    granted = Granted(Header(), 7, 1)
    session = EtcdSession(cast(Gateway, etcd), granted, monotonic.now_ms(), ended.append)
    await session.wait_lost()
    assert session.suspended
    assert ended == [session]
