"""What a member says of records that it was given: with a fetch, or by itself.

It counts once it is stored, and is answered then. What concerns one partition has no bearing on
the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from penstock.api.broker import Broker
from penstock.api.outcome import Change, Later, NoAnswer, Outcome, Resume
from penstock.api.sharing.shared import Shared
from penstock.errors import ErrorCode, Refused
from penstock.metadata.features import SHARE_VERSION
from penstock.sharing.acknowledging import Acknowledgement
from penstock.sharing.sessions import Place, Who
from penstock.sharing.writes import Pending

R = TypeVar("R")

STORED_MS_MAX = 15_000
LEVEL = 1
NAME_CHARS_MAX = 1000


class Ranges(Protocol):
    """As both requests have them."""

    @property
    def first_offset(self) -> int: ...

    @property
    def last_offset(self) -> int: ...

    @property
    def acknowledge_types(self) -> list[int]: ...

    @property
    def delay_ms(self) -> int: ...


class Said(NamedTuple):
    """Of one partition, and what has come of it."""

    place: Place
    shared: Shared | None
    pending: Pending | None
    refused: Refused | None

    @property
    def is_done(self) -> bool:
        shared, pending = self.shared, self.pending
        return shared is None or pending is None or pending.is_done or shared.is_over

    @property
    def problem(self) -> Refused | None:
        """Once it is done, or time is up."""
        if self.refused is not None:
            return self.refused
        if self.pending is not None and self.pending.is_kept:
            return None
        if self.pending is not None and not self.is_done:
            return Refused(ErrorCode.REQUEST_TIMED_OUT, "it is not known yet whether it is stored")
        return Refused(
            ErrorCode.NOT_LEADER_OR_FOLLOWER, "it could not be stored; the records are given again"
        )


def check_member(broker: Broker, group: str | None, member: str | None) -> Who:
    if broker.image.feature_level(SHARE_VERSION) < LEVEL:
        raise Refused(
            ErrorCode.UNSUPPORTED_VERSION,
            f"the cluster's {SHARE_VERSION} is less than {LEVEL}: raise it",
        )
    if not group or len(group) > NAME_CHARS_MAX:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"a share group has a name of 1 to {NAME_CHARS_MAX} characters",
        )
    if not member or len(member) > NAME_CHARS_MAX:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"a member has an id of its own, of 1 to {NAME_CHARS_MAX} characters",
        )
    return group, member


def acknowledge(broker: Broker, who: Who, place: Place, ranges: Sequence[Ranges]) -> Said:
    shared = None
    try:
        leader = broker.shown_leader(*place)
        shared = broker.shared.known(who[0], leader)
        if shared is None or shared.share is None:
            raise Refused(
                ErrorCode.INVALID_RECORD_STATE,
                "nobody has records of this partition: another broker may have led it until now",
            )
        said = [
            Acknowledgement(r.first_offset, r.last_offset, r.acknowledge_types, r.delay_ms)
            for r in ranges
        ]
        pending = shared.share.acknowledge(who[1], said, broker.monotonic_ms())
    except Refused as refused:
        return Said(place, shared, None, refused)
    broker.shared.on_changed(shared)
    return Said(place, shared, pending, None)


def once_stored(said: Sequence[Said], then: Callable[[], Outcome[R]]) -> Outcome[R]:
    waiting = [each for each in said if not each.is_done]
    if not waiting:
        return then()

    def look(time_is_up: bool) -> R | Resume[R] | None:
        if not time_is_up and not all(each.is_done for each in waiting):
            return None
        outcome = then()
        if isinstance(outcome, Later | Change | NoAnswer):
            return Resume(_no_more_work, lambda _: outcome)
        return outcome

    sources = [each.shared.stored for each in waiting if each.shared is not None]
    return Later(sources, look, STORED_MS_MAX)


async def _no_more_work() -> Any:
    pass
