"""Logs that take long to open, for tests of who waits for them."""

from __future__ import annotations

from collections.abc import Sequence

from tests.api.desk import NOW_MS, Desk

from penstock.log.partition_log import PartitionLog
from penstock.server.opener import Opener
from penstock.wire.batch import read_header
from penstock.wire.batch_builder import build_batch
from penstock.wire.records import Record

PRODUCERS = 1100
"""So many that the snapshot of them is read in several steps."""


def make_slow_to_open(desk: Desk, topic: str, index: int = 0) -> None:
    leader = desk.broker.leader(topic, index)
    for number in range(PRODUCERS):
        records = [Record(0, NOW_MS + number, b"key", b"value")]
        batch = build_batch(records, producer_id=number, producer_epoch=0, base_sequence=0)
        leader.log.append(batch, read_header(memoryview(batch)), NOW_MS, leader.epoch)
    leader.log.write_out()
    leader.log.end_sync(leader.log.begin_sync())
    leader.advance()


def reopened(desk: Desk) -> Desk:
    """After a clean restart, with what opens slow logs in a running broker."""
    again = desk.restart()
    opening = again.broker.opening
    opener = Opener(opening)
    opening.soon, opening.ended = opener.soon, opener.ended
    return again


def never_open(desk: Desk) -> list[float]:
    """As when opening takes longer than anybody waits; how long they did, in milliseconds."""
    waits: list[float] = []

    async def ended(_: Sequence[PartitionLog], wait_ms: float) -> None:
        waits.append(wait_ms)

    desk.broker.opening.soon = lambda _: False
    desk.broker.opening.ended = ended
    return waits
