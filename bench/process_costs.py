"""What the processes of a measurement take of the processors, by what they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

_TICKS = 100
"""Of a second, in /proc."""


def spent_under(root: int) -> Callable[[], dict[str, float]]:
    """Begins to measure a process and all below it; what is returned gives the CPU seconds since,
    by kind. Those that come and go meanwhile are counted with their parents."""
    before = _by_kind(root)
    return lambda: {kind: spent - before.get(kind, 0.0) for kind, spent in _by_kind(root).items()}


def told(spent: dict[str, float]) -> str:
    return ", ".join(f"{kind} {seconds:.1f} s" for kind, seconds in sorted(spent.items()))


def _by_kind(root: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for pid, kind in _tree(root, "driver").items():
        found[kind] = found.get(kind, 0.0) + _seconds(pid)
    return found


def _tree(pid: int, kind: str) -> dict[int, str]:
    """What runs below Spark's Java are its workers; another child of ours is the broker."""
    found = {pid: kind}
    for child in _children(pid):
        below = "worker" if kind in ("Java", "worker") else _kind(child)
        found.update(_tree(child, below))
    return found


def _kind(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return "driver"
    if b"org.apache.spark" in command:
        return "Java"
    return "broker" if b"\0serve\0" in command else "driver"


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for each in Path(f"/proc/{pid}/task").glob("*/children"):
        found += map(int, each.read_text().split())
    return found


def _seconds(pid: int) -> float:
    """Of all its threads, and of the children that it has waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS
