"""Brokers that say what they have of a partition that anyone may lead."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from tests.node.test_moving import TOPIC_ID, Brokers

from penstock.metadata.changes import Commit
from penstock.metadata.config_changes import replace_topic_configs
from penstock.metadata.records import encode, partition_key


@pytest.fixture
async def brokers(tmp_path: Path) -> AsyncIterator[Brokers]:
    made = Brokers(tmp_path)
    yield made
    await made.close()


async def test_of_those_that_are_up_the_one_with_most_leads(brokers: Brokers) -> None:
    await brokers.start(1, 2, 3)
    await brokers.create(1, 2, 3)
    await brokers.append(3)
    await brokers.stop(1)
    end = await brokers.append(4)
    await brokers.stop(3)
    await brokers.until(lambda: brokers.record.leader == 2)
    lost = msgspec.structs.replace(
        brokers.record,
        isr=(3,),
        eligible=(),
        leader=-1,
        leader_epoch=brokers.record.leader_epoch + 1,
    )
    put = partition_key(TOPIC_ID, 0), encode(lost)
    await brokers.any.keeper.change(lambda image: Commit(None, puts=[put]))
    await brokers.start(1)
    configs = {"unclean.leader.election.enable": "true"}
    await brokers.any.keeper.change(
        lambda image: replace_topic_configs(image, "news", configs, nonce=b"n", now_ms=0)
    )
    await brokers.until(lambda: brokers.record.leader >= 0)
    assert brokers.record.leader == 2, "the first of the replicas has less"
    assert brokers.nodes[2].broker.leader("news", 0).log.end_offset == end
