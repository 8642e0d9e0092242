"""Versions of etcd that are known to break what the store promises."""

from __future__ import annotations

import logging
import re

log = logging.getLogger(__name__)

LEASES_KEPT_FROM = {(3, 4): 31, (3, 5): 13}
"""By release: from which of its patches on only the leader ends leases."""


def warn_if_old(version: str) -> None:
    """Debian's is one of these, so it is not refused."""
    if ends_leases_early(version):
        log.warning(
            "etcd %s may end the lease of a broker that is well, after a leader of etcd's was "
            "stopped for some seconds, and its watches may lose changes while it is compacted; "
            "use 3.4.31, 3.5.13 or later",
            version,
        )


def ends_leases_early(version: str) -> bool:
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if not found:
        return False
    major, minor, patch = map(int, found.groups())
    return patch < LEASES_KEPT_FROM.get((major, minor), 0)
