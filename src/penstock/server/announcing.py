"""Who waits for a partition to move is woken some at a time, with everything else in between."""

from __future__ import annotations

import asyncio

from penstock.replication.leader import Leader
from penstock.replication.replica import Replica


def announce(replica: Replica) -> None:
    if replica.announce():
        assert isinstance(replica, Leader)
        asyncio.get_running_loop().call_soon(_go_on, replica)


def _go_on(leader: Leader) -> None:
    if leader.announce_more():
        asyncio.get_running_loop().call_soon(_go_on, leader)
