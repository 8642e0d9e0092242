"""The coordinator of shares on a broker's own log: written, committed, and loaded again."""

from __future__ import annotations

from functools import partial

import pytest
from tests.api.desk import NOW_MS, Desk

from penstock.api.coordinator import Coordinator
from penstock.api.shard import Shard
from penstock.coordination.share import deciding
from penstock.coordination.share.deciding import Written
from penstock.coordination.share.kind import SHARE
from penstock.coordination.share.names import ShareKey
from penstock.coordination.share.state import Share, Summary
from penstock.errors import ErrorCode, Refused
from penstock.metadata.internal_topics import SHARES, create_internal_topic
from penstock.wire.delivery import StateBatch
from penstock.world.real import RealClock


@pytest.fixture
def topic_id(desk: Desk) -> bytes:
    topic_id = desk.create("orders")
    desk.change(
        lambda image: create_internal_topic(
            image, SHARES, desk.broker.config, topic_id=desk.chance.uuid(), now_ms=NOW_MS
        )
    )
    return topic_id


def coordinator(desk: Desk) -> Coordinator[Share]:
    made = Coordinator(desk.broker, RealClock(), SHARE)
    made.on_new_shard = load
    made.follow()
    return made


def load(shard: Shard[Share]) -> None:
    for wait in shard.load():
        assert wait is None


def test_a_share_outlives_its_coordinator(desk: Desk, topic_id: bytes) -> None:
    name = ShareKey("jobs", topic_id, 0).name
    shard = coordinator(desk).shard(name)
    shard.decide_part(name, partial(deciding.initialize, state_epoch=0, start_offset=5))
    for at in (10, 20, 30):
        written = Written(0, 0, 5, at, [StateBatch(at, at + 4, 2, 0)])
        shard.decide_part(name, partial(deciding.write, written=written))
    state, rest = shard.decide_part(name, partial(deciding.read, leader_epoch=3))
    assert rest.end == shard.leader.log.end_offset, "the answer waits until that is committed"
    shard.leader.log.write_out()
    found, _ = coordinator(desk).shard(name).decide_part(name, deciding.summary)
    assert found == Summary(0, 3, 5, 30, (), 35)
    again, _ = (
        coordinator(desk).shard(name).decide_part(name, partial(deciding.read, leader_epoch=3))
    )
    assert again == state
    assert [batch.first for batch in again.batches] == [10, 20, 30]


def test_what_is_no_name_of_a_share_is_refused(desk: Desk, topic_id: bytes) -> None:
    shard = coordinator(desk).shard("jobs")
    with pytest.raises(Refused) as caught:
        shard.decide_part("jobs", deciding.summary)
    assert caught.value.code is ErrorCode.INVALID_REQUEST
    assert len(shard.kept) == 0
