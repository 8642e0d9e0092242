"""What an interrupted deletion, compaction or write left in a partition's folder."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from penstock.log import layout, unfinished_swaps
from penstock.world.ports import Disk

_UNFINISHED = (layout.DELETED, layout.CLEANED, layout.TEMPORARY)


def tidy(disk: Disk, folder: str, may_have_gaps: bool) -> Generator[None, None, list[str]]:
    """Finish or undo it, and give the names that are left. Doing it twice does nothing more.

    Swaps come first: one that is not to be believed may need what was to be deleted. They are
    looked through, which takes long, so this yields now and then.
    """
    names: Sequence[str] = disk.list(folder)
    if any(name.endswith(layout.SWAP) for name in names):
        may_have_gaps |= layout.COMPACTED_FILE in names
        yield from unfinished_swaps.complete(disk, folder, names, may_have_gaps)
        names = disk.list(folder)
    for name in names:
        if name.endswith(_UNFINISHED):
            disk.remove(f"{folder}/{name}")
    return _without_orphans(disk, folder, [n for n in names if not n.endswith(_UNFINISHED)])


def _without_orphans(disk: Disk, folder: str, names: list[str]) -> list[str]:
    """Indexes whose segment is gone."""
    logs = {layout.parse_offset(name, layout.LOG) for name in names}
    kept: list[str] = []
    for name in names:
        base = layout.segment_base(name)
        if base is None or base in logs:
            kept.append(name)
        else:
            disk.remove(f"{folder}/{name}")
    return kept
