"""What the settings of a group say of its records."""

from __future__ import annotations

from typing import NamedTuple

from penstock.config import GroupConfig


class Limits(NamedTuple):
    locks: int = 2000
    """Records that are with members, or waiting to be delivered again, at a time."""
    deliveries: int = 5
    lock_ms: int = 30_000
    may_renew: bool = True
    buries: bool = False
    """What is given up goes to the dead letters, and is finished when it is there."""


def limits_of(config: GroupConfig, *, buries: bool = False) -> Limits:
    return Limits(
        config.share_partition_max_record_locks,
        config.share_delivery_count_limit,
        config.share_record_lock_duration_ms,
        config.share_renew_acknowledge_enable,
        buries,
    )
