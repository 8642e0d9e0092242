"""What has become of shared records is stored by coordinators, here or on other brokers: how a
partition's leader, and whoever looks after groups, asks them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from penstock.coordination.share.deciding import Written
from penstock.coordination.share.names import ShareKey
from penstock.coordination.share.state import State, Summary
from penstock.errors import ErrorCode, Refused


class ShareStates(Protocol):
    """Each raises Refused. Where nobody knows whether it was done, with a code of `UNCERTAIN`."""

    async def read(self, key: ShareKey, leader_epoch: int) -> State:
        """All that is stored, but for the count: a leader knows that from the stretches. From then
        on leaders of earlier epochs are shut out."""
        ...

    async def write(self, key: ShareKey, written: Written) -> None: ...

    async def initialize(self, key: ShareKey, state_epoch: int, start_offset: int) -> None: ...

    async def delete(self, key: ShareKey) -> None: ...

    async def summaries(self, keys: Iterable[ShareKey]) -> dict[ShareKey, Summary | Refused]:
        """Without stretches, of many at once; of each that, or why it is not known. It raises
        nothing."""
        ...


UNCERTAIN = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
"""To be tried again, with a pause."""


class NobodyToAsk:
    """Before the broker is up."""

    async def read(self, key: ShareKey, leader_epoch: int) -> State:
        raise _nobody()

    async def write(self, key: ShareKey, written: Written) -> None:
        raise _nobody()

    async def initialize(self, key: ShareKey, state_epoch: int, start_offset: int) -> None:
        raise _nobody()

    async def delete(self, key: ShareKey) -> None:
        raise _nobody()

    async def summaries(self, keys: Iterable[ShareKey]) -> dict[ShareKey, Summary | Refused]:
        return {key: _nobody() for key in keys}


def _nobody() -> Refused:
    return Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the broker is about to start")
