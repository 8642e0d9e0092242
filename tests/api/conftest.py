"""A broker whose handlers are asked directly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.api import transacting
from tests.api.desk import Desk
from tests.api.grouping import SETTINGS, Room
from tests.api.transacting import Office

from penstock.world.real_disk import RealDisk


@pytest.fixture
def disk() -> Iterator[RealDisk]:
    disk = RealDisk()
    yield disk
    disk.close()


@pytest.fixture
def make_desk(disk: RealDisk, tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    """Takes what a config file would say, by name."""
    made: list[Desk] = []

    def make(texts: dict[str, str] | None = None) -> Desk:
        made.append(Desk(disk, tmp_path / f"data-{len(made)}", texts or {}))
        return made[-1]

    yield make
    for desk in made:
        desk.log_dir.abandon()


@pytest.fixture
def desk(make_desk: Callable[..., Desk]) -> Desk:
    return make_desk()


@pytest.fixture
def room(make_desk: Callable[..., Desk]) -> Room:
    """A broker that looks after groups, with a topic of two partitions."""
    desk = make_desk(SETTINGS)
    desk.create("orders", partitions=2)
    return Room(desk)


@pytest.fixture
def office(make_desk: Callable[..., Desk]) -> Office:
    """One that looks after transactions as well."""
    desk = make_desk(transacting.SETTINGS)
    desk.create("orders", partitions=2)
    return Office(desk)
