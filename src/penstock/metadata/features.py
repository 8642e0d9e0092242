"""What a cluster as a whole can be told to do, or not to do yet, in levels.

A feature is declared once there is something it switches on: ApiVersions must not list one whose
highest level is 0.

A cluster that was founded before a feature was there works without it, which is level 0, until it
is raised (UpdateFeatures). Where the lowest level is 0, it can be taken back as well.
"""

from __future__ import annotations

from collections.abc import Mapping

PENSTOCK_VERSION = "penstock.version"
GROUP_VERSION = "group.version"
"""From 1 on groups may use the consumer protocol (KIP-848)."""
SHARE_VERSION = "share.version"
"""From 1 on there are share groups (KIP-932)."""
TRANSACTION_VERSION = "transaction.version"
"""From 2 on clients get a new epoch with every transaction (KIP-890)."""

SUPPORTED: Mapping[str, tuple[int, int]] = {
    PENSTOCK_VERSION: (1, 1),
    GROUP_VERSION: (0, 1),
    SHARE_VERSION: (0, 1),
    TRANSACTION_VERSION: (0, 2),
}
"""By name: the lowest and the highest level that this release can work at."""

INITIAL: Mapping[str, int] = {name: highest for name, (_, highest) in SUPPORTED.items()}
"""What a new cluster starts with: the highest of everything."""
