"""Questions of one broker to others and to itself, as any client may ask them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from penstock.server.asking_itself import AskingItself
from penstock.server.door import Door
from penstock.server.handshake import connect_to
from penstock.server.peer import Peer
from penstock.wire.codec import Message
from penstock.world.ports import Network

T = TypeVar("T")
M = TypeVar("M", bound=Message)

ANSWER_MS_MAX = 5000


class Asking:
    """One question at a time. Connections are kept for the next one."""

    def __init__(self, network: Network, door: Door, itself: AskingItself | None = None) -> None:
        """`itself` answers what this broker asks of itself; without it that goes over a connection,
        as all else does."""
        self._network = network
        self._door = door
        self._itself = itself
        self._peers: dict[int, Peer] = {}

    async def ask(
        self, node_id: int, request: Message, version: int, kind: type[M], take: Callable[[M], T]
    ) -> T:
        """What `take` makes of the answer, at once. Raises OSError, TimeoutError, Malformed and
        Refused."""
        if self._itself is not None and node_id == self._door.broker.node_id:
            async with asyncio.timeout(ANSWER_MS_MAX / 1000):
                return await self._itself.ask(request, version, take)
        peer = self._peers.get(node_id)
        if peer is None or not peer.is_open:
            peer = self._peers[node_id] = await connect_to(self._network, self._door, node_id)
        async with asyncio.timeout(ANSWER_MS_MAX / 1000):
            return await peer.ask(request, version, kind, take)

    def close(self) -> None:
        for peer in self._peers.values():
            peer.close()
        self._peers.clear()
