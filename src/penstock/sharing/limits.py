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
    backoff_ms: int = 0
    """After its first delivery a record that came back is given to nobody for so long; after each
    further one for twice as long."""
    backoff_ms_max: int = 3_600_000
    """And no longer than this, or than the first pause if that is longer."""

    def pause_ms(self, deliveries: int) -> int:
        """Before the next one."""
        doubled = self.backoff_ms << min(max(deliveries - 1, 0), 30)
        return min(doubled, max(self.backoff_ms, self.backoff_ms_max))


def limits_of(config: GroupConfig, *, buries: bool = False) -> Limits:
    return Limits(
        config.share_partition_max_record_locks,
        config.share_delivery_count_limit,
        config.share_record_lock_duration_ms,
        config.share_renew_acknowledge_enable,
        buries,
        config.share_redelivery_backoff_ms,
        config.share_redelivery_backoff_max_ms,
    )
