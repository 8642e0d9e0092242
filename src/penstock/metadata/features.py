"""What a cluster as a whole can be told to do, or not to do yet, in levels.

A feature is declared once there is something it switches on: ApiVersions must not list one whose
highest level is 0. So `transaction.version`, `group.version` and `share.version` are not here with
nothing behind them; they come with what they stand for.
"""

from __future__ import annotations

from collections.abc import Mapping

SUPPORTED: Mapping[str, tuple[int, int]] = {"penstock.version": (1, 1)}
"""By name: the lowest and the highest level that this release can work at."""

INITIAL: Mapping[str, int] = {"penstock.version": 1}
"""What a new cluster starts with: the highest of everything."""
