"""What other brokers are asked for to say where share groups are, or to set them elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from itertools import islice

from penstock.api.sharing.admin import Place
from penstock.api.sharing.states import ShareStates
from penstock.coordination.share.names import ShareKey
from penstock.coordination.share.state import State
from penstock.errors import Refused
from penstock.server.end_offsets import EndOffsets

SET_AT_ONCE = 200


class AskingForAdmin:
    def __init__(self, states: ShareStates, ends: EndOffsets) -> None:
        self._states = states
        self._ends = ends

    async def ends(self, places: Iterable[Place]) -> dict[Place, int]:
        return await self._ends.of(places)

    async def set_to(self, offsets: Mapping[ShareKey, int]) -> dict[ShareKey, Refused | None]:
        came: dict[ShareKey, Refused | None] = {}
        rest = iter(offsets)
        while some := list(islice(rest, SET_AT_ONCE)):
            states = await self._states.summaries(some)
            setting = [self._set(key, states[key], offsets[key]) for key in some]
            came.update(zip(some, await asyncio.gather(*setting), strict=True))
        return came

    async def _set(self, key: ShareKey, state: State | Refused, offset: int) -> Refused | None:
        """In the next state epoch, which shuts out whoever knows the last one."""
        if isinstance(state, Refused):
            return state
        try:
            await self._states.initialize(key, state.state_epoch + 1, offset)
        except Refused as refused:
            return refused
        return None
