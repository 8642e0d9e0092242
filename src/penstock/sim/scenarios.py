"""What is done to a cluster while clients use it. Everything heals in the end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from penstock.sim import corners, faults, flips, moves
from penstock.sim.cluster import Cluster
from penstock.sim.delays import corners as delay_corners
from penstock.sim.keyed.fewer import fewer_partitions
from penstock.sim.shares.stage import TEXTS as SHARE_TEXTS
from penstock.sim.transactions import corners as txn_corners
from penstock.sim.transactions import habits
from penstock.sim.transactions.habits import Habits
from penstock.sim.transactions.topics import COMPACTING, TEXTS

Faults = Callable[[Cluster, Random], Awaitable[None]]


def _never(_reason: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Scenario:
    faults: Faults
    texts: Mapping[str, str] = field(default_factory=dict)
    may_exit: Callable[[str], bool] = _never
    """Whether a broker may end by itself, by the reason that it gives."""
    has_data_folders: bool = True
    """From before, and synced; else brokers make their own."""
    interrupts_starts: bool = False
    """Whether brokers lose their power while they are started for the first time."""
    damages: bool = False
    """Whether disks may hold what was never written: readers are told so, and ask again."""
    brokers_min: int = 1
    """With fewer there would be nothing to see."""
    habits: Habits | None = None
    """If given, the clients are those with transactions, in place of the usual ones."""
    has_shares: bool = False
    """Whether there are leaders that store shares, in place of clients."""
    delays: Mapping[str, str] | None = None
    """If given, they are those with delays, and this is what their topic has as settings."""


def _store_is_away(reason: str) -> bool:
    """A broker that cannot reach the store at its start says so and ends."""
    return "did not start" in reason and "metadata" in reason


def _disk_is_full(reason: str) -> bool:
    return "No space left" in reason


def _sync_failed(reason: str) -> bool:
    return "Input/output error" in reason


def _transactions(
    faults: Faults,
    clients: Habits | None = None,
    texts: Mapping[str, str] | None = None,
    may_exit: Callable[[str], bool] = _never,
    brokers_min: int = 1,
) -> Scenario:
    return Scenario(
        faults,
        {**TEXTS, **(texts or {})},
        may_exit,
        brokers_min=brokers_min,
        habits=clients or Habits(),
    )


def _shares(
    faults: Faults,
    texts: Mapping[str, str] | None = None,
    may_exit: Callable[[str], bool] = _never,
) -> Scenario:
    return Scenario(
        faults, {**SHARE_TEXTS, **(texts or {})}, may_exit, brokers_min=3, has_shares=True
    )


def _delays(
    faults: Faults,
    texts: Mapping[str, str] | None = None,
    may_exit: Callable[[str], bool] = _never,
    brokers_min: int = 1,
    configs: Mapping[str, str] | None = None,
) -> Scenario:
    all_texts = {**TEXTS, **(texts or {})}
    return Scenario(faults, all_texts, may_exit, brokers_min=brokers_min, delays=configs or {})


ROOM = {"disk.free.min.bytes": "0"}
OFTEN = {"log.retention.check.interval.ms": "300"}
SMALL = {"segment.bytes": "2048", "retention.bytes": "4096"}
"""Retention drops much, and soon."""

SCENARIOS: Mapping[str, Scenario] = {
    "calm": Scenario(faults.nothing),
    "kill": Scenario(faults.kills),
    "stop": Scenario(faults.stops),
    "clock": Scenario(faults.clock_jumps),
    "power": Scenario(faults.power_losses),
    "fresh": Scenario(faults.power_losses, has_data_folders=False),
    "first-start": Scenario(
        faults.power_losses,
        has_data_folders=False,
        interrupts_starts=True,
    ),
    "torn": Scenario(faults.torn_writes),
    "pause": Scenario(faults.pauses),
    "store": Scenario(faults.store_faults, may_exit=_store_is_away),
    "restore": Scenario(faults.restores),
    "full": Scenario(faults.full_disks, ROOM, _disk_is_full),
    "sync": Scenario(faults.failing_syncs, may_exit=_sync_failed),
    "device": Scenario(faults.failing_devices, may_exit=_sync_failed),
    "network": Scenario(faults.network_faults),
    "everything": Scenario(
        faults.everything, ROOM, lambda reason: _store_is_away(reason) or _disk_is_full(reason)
    ),
    "paused-past-lease": Scenario(corners.paused_past_lease, brokers_min=3),
    "store-away": Scenario(corners.store_away, brokers_min=3),
    "two-controllers": Scenario(corners.two_controllers, may_exit=_store_is_away, brokers_min=3),
    "cut-off-leader": Scenario(corners.cut_off_leader, brokers_min=3),
    "cut-off-coordinator": Scenario(corners.cut_off_coordinator, brokers_min=3),
    "shrinking-isr": Scenario(corners.shrinking_isr, may_exit=_store_is_away, brokers_min=3),
    "all-at-once": Scenario(corners.all_at_once, brokers_min=3),
    "stop-in-a-failure": Scenario(corners.stop_in_a_failure, brokers_min=3),
    "stale-watermark": Scenario(corners.stale_watermark, brokers_min=3),
    "double-failover": Scenario(corners.double_failover, brokers_min=3),
    "last-standing": Scenario(corners.last_standing, brokers_min=3),
    "replaced": Scenario(corners.replaced, brokers_min=3),
    "full-follower": Scenario(corners.full_follower, ROOM, _disk_is_full, brokers_min=3),
    "flip": Scenario(flips.bit_flips, damages=True, brokers_min=3),
    "reassignment": Scenario(moves.reassignment, brokers_min=4),
    "drain": Scenario(moves.drain, brokers_min=4),
    "fewer-partitions": Scenario(fewer_partitions, may_exit=_store_is_away, brokers_min=3),
    "txn-calm": _transactions(faults.nothing),
    "txn-kill": _transactions(faults.kills),
    "txn-stop": _transactions(faults.stops),
    "txn-clock": _transactions(faults.clock_jumps, habits.OPEN_LONG),
    "txn-power": _transactions(faults.power_losses),
    "txn-pause": _transactions(faults.pauses),
    "txn-store": _transactions(faults.store_faults, may_exit=_store_is_away),
    "txn-network": _transactions(faults.network_faults),
    "txn-everything": _transactions(
        faults.everything,
        texts=ROOM,
        may_exit=lambda reason: _store_is_away(reason) or _disk_is_full(reason),
    ),
    "txn-prepared": _transactions(txn_corners.prepared, brokers_min=3),
    "txn-open": _transactions(txn_corners.open_in_partition, brokers_min=3),
    "txn-pending-offsets": _transactions(txn_corners.pending_offsets, brokers_min=3),
    "txn-late-markers": _transactions(txn_corners.late_markers, brokers_min=3),
    "txn-late-end": _transactions(faults.nothing, habits.LATE_END),
    "txn-late-produce": _transactions(faults.nothing, habits.LATE_PRODUCE),
    "txn-late-add": _transactions(faults.nothing, habits.LATE_ADD),
    "txn-late-offsets": _transactions(faults.nothing, habits.LATE_OFFSETS),
    "txn-zombie": _transactions(faults.nothing, habits.ZOMBIES),
    "txn-timeout": _transactions(faults.nothing, habits.SLEEPERS),
    "txn-compaction": _transactions(faults.kills, habits.OPEN_LONG, COMPACTING),
    "share-calm": _shares(faults.nothing),
    "share-kill": _shares(faults.kills),
    "share-stop": _shares(faults.stops),
    "share-power": _shares(faults.power_losses),
    "share-pause": _shares(faults.pauses),
    "share-network": _shares(faults.network_faults),
    "share-everything": _shares(
        faults.everything,
        ROOM,
        lambda reason: _store_is_away(reason) or _disk_is_full(reason),
    ),
    "delays-calm": _delays(faults.nothing),
    "delays-kill": _delays(faults.kills),
    "delays-stop": _delays(faults.stops),
    "delays-power": _delays(faults.power_losses),
    "delays-pause": _delays(faults.pauses),
    "delays-network": _delays(faults.network_faults),
    "delays-full": _delays(faults.full_disks, ROOM, _disk_is_full),
    "delays-due": _delays(delay_corners.when_due, brokers_min=3),
    "delays-retention": _delays(faults.kills, OFTEN, configs=SMALL),
}
