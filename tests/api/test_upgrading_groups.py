"""A classic group becomes one of KIP-848, with everything else in between."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.grouping import DELAY_MS, GROUP, Room, join

from penstock.coordination import pace
from penstock.coordination.group.consumer.state import Consumer
from penstock.wire.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

NATIVE = ConsumerGroupHeartbeatRequest(
    GROUP,
    "native",
    0,
    rebalance_timeout_ms=30_000,
    subscribed_topic_names=["orders"],
    topic_partitions=[],
)


@pytest.mark.parametrize("late", [0, 1, 5])
def test_who_joins_while_a_group_changes_protocol_is_in_it(
    room: Room, monkeypatch: pytest.MonkeyPatch, late: int
) -> None:
    for _ in range(3):
        room.ask(join(), 3)
    room.wait(DELAY_MS)
    pauses = 0

    async def between(steps: Any) -> Any:
        nonlocal pauses
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value
            pauses += 1
            if pauses <= late:
                room.ask(join(), 3)

    monkeypatch.setattr(pace, "COST_A_SLICE", 1)
    room.desk.broker.in_steps = between
    assert room.ask(NATIVE).is_waiting, "for the disk"
    body = room.shard().kept.get_or_add(GROUP).body
    assert isinstance(body, Consumer)
    assert pauses >= 6
    assert len(body.members) == 3 + late + 1
