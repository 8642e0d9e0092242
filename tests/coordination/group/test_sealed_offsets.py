"""Offsets in partitions that their topic has lost go on in the sealed topic."""

from __future__ import annotations

import pytest
from tests.coordination.group.offset_stage import (
    FORMER_ID,
    SEALED,
    TOPIC_ID,
    a_stage,
    commit,
    offsets,
    seal,
)

from penstock.coordination.group import protocols
from penstock.coordination.group.offsets import STRAYS_A_TURN
from penstock.wire.primitives import NULL_UUID


def test_an_offset_in_a_lost_partition_goes_on_where_the_partition_is_read_now() -> None:
    stage = a_stage()
    for partition in (5, 7):
        commit(stage, partition, leader_epoch=3, metadata="note", topic_id=TOPIC_ID)
    committed = stage.group.offsets["orders"][7]
    seal(stage)
    stage.reload()
    stage.wait(0)
    assert stage.group.offsets == {"orders": {5: committed}, SEALED: {1: committed}}
    stage.reload()
    assert stage.group.offsets == {"orders": {5: committed}, SEALED: {1: committed}}
    assert stage.group.wake_ms is None, "it is done"


def test_an_offset_is_carried_over_and_forgotten_in_one_turn() -> None:
    """Or it would be in both places, or in none, after a crash between the two."""
    stage = a_stage()
    commit(stage, 7, topic_id=TOPIC_ID)
    seal(stage)
    stage.reload()
    stage.run(protocols.expire)
    assert len(stage.written) == 2


def test_a_group_that_reads_the_sealed_topic_already_stays_where_it_is() -> None:
    stage = a_stage()
    commit(stage, 7, topic_id=TOPIC_ID)
    seal(stage)
    commit(stage, 1, topic=SEALED, topic_id=TOPIC_ID, offset=9)
    stage.reload()
    stage.wait(0)
    assert offsets(stage) == {(SEALED, 1): 9}


@pytest.mark.parametrize("topic_id", [FORMER_ID, NULL_UUID])
def test_an_offset_of_another_partition_in_the_same_place_is_not_carried_over(
    topic_id: bytes,
) -> None:
    stage = a_stage()
    commit(stage, 7, topic_id=topic_id)
    seal(stage)
    stage.reload()
    stage.wait(0)
    assert not offsets(stage)


def test_many_offsets_are_carried_over_some_at_a_time() -> None:
    stage = a_stage()
    for partition in range(9):
        commit(stage, partition, topic_id=TOPIC_ID)
    for partition in range(9, STRAYS_A_TURN + 9):
        commit(stage, partition, topic_id=FORMER_ID)
    seal(stage, 1)
    stage.reload()
    stage.wait(0)
    assert offsets(stage).keys() == {("orders", 0), *((SEALED, index) for index in range(8))}
