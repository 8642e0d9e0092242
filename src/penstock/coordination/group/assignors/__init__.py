"""The assignors a group may ask for by name (KIP-848): who gets which partitions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from penstock.coordination.group.assignors.ranges import assign_ranges
from penstock.coordination.group.assignors.spec import (
    MEMBER_COST,
    Assign,
    Assignment,
    Subscriber,
    at_once,
)
from penstock.coordination.group.assignors.uniform import assign_uniform

ASSIGNORS: Mapping[str, Assign] = MappingProxyType(
    {"uniform": assign_uniform, "range": assign_ranges}
)

__all__ = ["ASSIGNORS", "MEMBER_COST", "Assign", "Assignment", "Subscriber", "at_once"]
