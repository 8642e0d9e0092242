"""A topic is copied in transactions, while brokers and the processes that copy are killed.

`make chaos` copies a hundred thousand messages in transactions of 750 with each client, with twenty
kills. So does, with one of them, `SECONDS=1 pytest -s tests/chaos/test_exactly_once.py -k sdk`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from tests.cluster_faults import SECONDS
from tests.cluster_process import Cluster
from tests.copy_faults import (
    CopyFault,
    join_and_leave,
    kill_broker,
    kill_copier,
    lose_broker,
    sleep_through,
)
from tests.copy_ordeal import check_copied, hire
from tests.copying import python_copier
from tests.lanes import cases

IS_LONG = SECONDS > 0
SIZE = 750 if IS_LONG else 100
PER_SECOND = 800 if IS_LONG else 400
KILLS = 20
SHORT: dict[str, list[CopyFault]] = {
    "confluent": [kill_broker, kill_copier],
    "sdk": [kill_copier, join_and_leave, lose_broker],
    "asyncio": [kill_copier],
}


def by_chance(chance: random.Random) -> Iterable[CopyFault]:
    """Twenty kills, and rebalances between them."""
    for number in range(KILLS):
        yield chance.choice([kill_copier, kill_broker, lose_broker])
        if number % 4 == 3:
            yield chance.choice([join_and_leave, sleep_through])


@pytest.mark.timeout(900)
@pytest.mark.parametrize("client", cases(SHORT, ["sdk"]))
def test_a_topic_is_copied_exactly_once_whoever_is_killed_meanwhile(
    own_cluster: Callable[..., Cluster], topic: str, tmp_path: Path, client: str
) -> None:
    chance = random.Random(5)
    crew = hire(
        own_cluster().start(3),
        topic,
        lambda name, *places: python_copier(client, tmp_path / name, *places, f"{SIZE}"),
    )
    faults = list(by_chance(chance)) if IS_LONG else SHORT[client]
    messages = 100_000 if IS_LONG else 350 * (len(faults) + 1)
    check_copied(crew, faults, messages, PER_SECOND, chance)
