"""Groups, as something that a coordinator looks after."""

from __future__ import annotations

from penstock.coordination.group import protocols
from penstock.coordination.group.groups import Group, Groups
from penstock.coordination.kind import Kind
from penstock.errors import ErrorCode
from penstock.metadata.internal_topics import OFFSETS

GROUPS: Kind[Group] = Kind(
    topic=OFFSETS,
    noun="group",
    bad_name=ErrorCode.INVALID_GROUP_ID,
    keep=Groups,
    look_at=protocols.look_at,
    begin=protocols.begin,
    expire=protocols.expire,
    has_left_traces=protocols.has_left_traces,
)
