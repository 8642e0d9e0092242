"""Where share groups are, and setting them to something else: what other brokers have to be asked
for on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from penstock.coordination.share.names import ShareKey
from penstock.errors import ErrorCode, Refused

Place = tuple[str, int]
"""A topic, by name, and a partition."""


class ShareAdmin(Protocol):
    """It raises nothing."""

    async def ends(self, places: Iterable[Place]) -> dict[Place, int]:
        """High watermarks, of partitions whose leaders say so in time."""
        ...

    async def set_to(self, offsets: Mapping[ShareKey, int]) -> dict[ShareKey, Refused | None]:
        """The shares begin anew at these offsets; of each, why it does not."""
        ...


class NobodyToAsk:
    """Before the broker is up."""

    async def ends(self, places: Iterable[Place]) -> dict[Place, int]:
        return {}

    async def set_to(self, offsets: Mapping[ShareKey, int]) -> dict[ShareKey, Refused | None]:
        problem = Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the broker is about to start")
        return dict.fromkeys(offsets, problem)
