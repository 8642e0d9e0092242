"""What a leader does for its share groups beside answering: reading, storing, and looking after."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import uvloop
from tests.server.share_house import ACCEPT, GROUP, RENEW, TOPIC, Ack, ShareHouse

from penstock.api.sharing.states import NobodyToAsk
from penstock.coordination.share.deciding import Written
from penstock.coordination.share.names import ShareKey
from penstock.errors import ErrorCode
from penstock.server import sharing
from penstock.wire.delivery import Delivery, StateBatch


def state_of(shares: ShareHouse, topic_id: bytes, index: int = 0) -> tuple[int, int]:
    """State epoch and start."""
    state = shares.states.state(ShareKey(GROUP, topic_id, index))
    assert state is not None
    return state.state_epoch, state.start_offset


@pytest.mark.parametrize(("reset", "start"), [("earliest", 2), ("latest", 5)])
async def test_a_group_begins_where_its_settings_say_and_that_is_stored(
    shares: ShareHouse, reset: str, start: int
) -> None:
    topic_id = shares.desk.create(TOPIC)
    shares.states.begin(ShareKey(GROUP, topic_id, 0), start_offset=-1)
    shares.configure(share_auto_offset_reset=reset)
    shares.append(count=5)
    shares.broker.delete_to(shares.broker.leader(TOPIC, 0), 2)
    await shares.ready()
    assert shares.share().start_offset == start
    await shares.settle(lambda: state_of(shares, topic_id) == (0, start))


async def test_a_share_at_records_that_were_lost_begins_anew_at_the_end(
    shares: ShareHouse, caplog: pytest.LogCaptureFixture
) -> None:
    topic_id = shares.queue()
    shares.append(count=3)
    key = ShareKey(GROUP, topic_id, 0)
    shares.states.begin(key, 1, 2)
    await shares.states.write(
        key, Written(1, 0, 2, 0, [StateBatch(5, 6, Delivery.ACKNOWLEDGED, 0)])
    )
    await shares.ready()
    assert state_of(shares, topic_id) == (2, 3)
    assert "begins anew at 3" in caplog.text


async def test_a_share_that_cannot_be_read_is_tried_again_and_that_is_said(
    shares: ShareHouse, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "PAUSE_MS_MAX", 64)
    shares.broker.share_states = NobodyToAsk()
    topic_id = shares.queue()
    shares.append(count=1)
    a = shares.member("a", topic_id)
    a.poll()
    with caplog.at_level(logging.WARNING):
        await shares.settle(lambda: "cannot be taken up yet" in caplog.text)
    shares.broker.share_states = shares.states
    assert await a.polled() == [(0, 0, 1)]


async def test_a_share_of_no_group_is_not_tried_for_ever(shares: ShareHouse) -> None:
    shares.desk.create(TOPIC)
    shares.shared(group="nobody")
    assert len(shares.broker.shared) == 1
    shares.clock.time_ms += sharing.LEFT_MS + 1
    await shares.settle(lambda: not len(shares.broker.shared))
    await shares.settle(lambda: len(shares.sharing._tasks) == 1)


async def test_what_nobody_has_asked_for_is_forgotten_unless_somebody_has_records_of_it(
    shares: ShareHouse,
) -> None:
    topic_id = shares.queue()
    shares.append(count=1)
    await shares.ready()
    a = shares.member("a", topic_id)
    assert await a.take() == [(0, 0, 1)]
    shared = shares.shared()
    for _ in range(30):  # more than ten minutes, as it works on it and says so
        shares.clock.time_ms += 25_000
        assert await a.acknowledge(Ack(0, 0, [RENEW])) == ErrorCode.NONE
        shares.sharing.forget_unused()
    assert not shared.is_over
    assert await a.acknowledge(Ack(0, 0, [ACCEPT])) == ErrorCode.NONE
    shares.clock.time_ms += sharing.UNUSED_MS + 1
    shares.sharing.forget_unused()
    assert shared.is_over


async def test_what_was_locked_for_too_long_is_given_to_who_waits(shares: ShareHouse) -> None:
    shares.configure(share_record_lock_duration_ms="1000")
    topic_id = shares.queue()
    shares.append(count=1)
    await shares.ready()
    a, b = shares.member("a", topic_id), shares.member("b", topic_id)
    assert await a.take() == [(0, 0, 1)]
    b.poll()
    shares.clock.time_ms += 1000
    assert await b.polled() == [(0, 0, 2)], "once the timer has gone off"


def test_a_lock_that_is_over_may_be_heard_of_twice_before_it_is_looked_at(tmp_path: Path) -> None:
    """On the loop that brokers have, where what is due at once has no timer."""

    async def play() -> None:
        shares = ShareHouse(tmp_path / "data")
        topic_id = shares.queue()
        shares.append(count=1)
        await shares.ready()
        assert await shares.member("a", topic_id).take() == [(0, 0, 1)]
        shares.clock.time_ms += 30_000
        for _ in range(2):
            shares.broker.shared.on_changed(shares.shared())
        assert await shares.member("b", topic_id).take(max_wait_ms=30_000) == [(0, 0, 2)]
        await shares.close()

    uvloop.run(play())
