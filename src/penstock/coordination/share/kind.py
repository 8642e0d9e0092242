"""Shares, as something that a coordinator looks after."""

from __future__ import annotations

from penstock.coordination.kind import NAME_CHARS_MAX, Kind
from penstock.coordination.share import forgetting
from penstock.coordination.share.names import BESIDE_GROUP_CHARS_MAX
from penstock.coordination.share.state import Share, Shares
from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode
from penstock.metadata.internal_topics import SHARES


def _leaves_no_traces(turn: Turn) -> bool:
    """What is decided changes memory only when it is applied."""
    return False


SHARE: Kind[Share] = Kind(
    topic=SHARES,
    noun="share",
    bad_name=ErrorCode.INVALID_REQUEST,
    keep=Shares,
    look_at=forgetting.look_at,
    begin=forgetting.begin,
    expire=forgetting.expire,
    has_left_traces=_leaves_no_traces,
    name_chars_max=NAME_CHARS_MAX + BESIDE_GROUP_CHARS_MAX,
)
