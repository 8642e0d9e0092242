"""A partition that this broker has a log of, whoever leads it."""

from __future__ import annotations

from typing import TypeAlias

from penstock.replication.follower import Follower
from penstock.replication.leader import Leader

Replica: TypeAlias = Leader | Follower
