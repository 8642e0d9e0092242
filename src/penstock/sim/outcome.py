"""What has come of something that a simulated client has asked for."""

from __future__ import annotations

from enum import Enum


class Outcome(Enum):
    OK = "ok"
    FAILED = "failed"
    """Surely not written."""
    UNKNOWN = "unknown"
