"""The states of a share group. There is nothing that its members could be on their way to."""

from __future__ import annotations

from enum import Enum


class GroupState(Enum):
    """With the names that Kafka's tools show."""

    EMPTY = "Empty"
    """No members; what has become of records is kept."""
    STABLE = "Stable"
