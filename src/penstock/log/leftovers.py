"""What an interrupted deletion, compaction or write left in a partition's folder."""

from __future__ import annotations

from penstock.log import layout, scanning
from penstock.log.scanning import NotABatch
from penstock.world.ports import Disk


def tidy(disk: Disk, folder: str) -> list[str]:
    """Finish or undo it, and give the names that are left. Doing it twice does nothing more."""
    names = list(disk.list(folder))
    unfinished = (layout.DELETED, layout.CLEANED, layout.TEMPORARY)
    for name in names:
        if name.endswith(unfinished):
            disk.remove(f"{folder}/{name}")
    swaps = [name for name in names if name.endswith(layout.SWAP)]
    if swaps:
        _complete_swaps(disk, folder, swaps)
    names = list(disk.list(folder)) if swaps else [n for n in names if not n.endswith(unfinished)]
    return _without_orphans(disk, folder, names)


def _complete_swaps(disk: Disk, folder: str, swaps: list[str]) -> None:
    """A `.log.END.swap` is whole, and stands for all segments that begin before END.

    Those go first, so that a crash in here leaves the swap to be completed again. Its indexes are
    renamed before it when it is made and when it is put in place: without it they are leftovers.
    """
    whole: list[tuple[bool, str, str]] = []
    for name in swaps:
        own, end = _own_name(name), end_of_swap(name)
        base = _segment_base(own)
        suffix = layout.LOG + name.removeprefix(own)
        if base is None or layout.offset_name(base) + suffix not in swaps:
            disk.remove(f"{folder}/{name}")
            continue
        whole.append((own.endswith(layout.LOG), name, own))
        if own.endswith(layout.LOG):
            _remove_between(disk, folder, base, end or _end_of(disk, f"{folder}/{name}", base))
    for _, name, own in sorted(whole):
        disk.rename(f"{folder}/{name}", f"{folder}/{own}")
    disk.sync_folder(folder)


def end_of_swap(name: str) -> int | None:
    """Where what a swap stands for ends; Kafka's do not tell that."""
    end = name.removesuffix(layout.SWAP).rpartition(".")[2]
    return int(end) if name.endswith(layout.SWAP) and end.isdecimal() else None


def _own_name(name: str) -> str:
    stem = name.removesuffix(layout.SWAP)
    return stem if end_of_swap(name) is None else stem.rpartition(".")[0]


def _remove_between(disk: Disk, folder: str, base: int, end: int) -> None:
    for old in disk.list(folder):
        begins = _segment_base(old)
        if begins is not None and base <= begins < end:
            disk.remove(f"{folder}/{old}")


def _end_of(disk: Disk, path: str, base: int) -> int:
    file = disk.open(path)
    end = base + 1
    try:
        for place in scanning.places(file.read, 0, file.size):
            end = place.last_offset + 1
    except NotABatch:
        pass  # recovery will say more about it
    finally:
        file.close()
    return end


def _segment_base(name: str) -> int | None:
    for suffix in layout.SEGMENT_SUFFIXES:
        base = layout.parse_offset(name, suffix)
        if base is not None:
            return base
    return None


def _without_orphans(disk: Disk, folder: str, names: list[str]) -> list[str]:
    """Indexes whose segment is gone."""
    logs = {layout.parse_offset(name, layout.LOG) for name in names}
    kept: list[str] = []
    for name in names:
        base = _segment_base(name)
        if base is None or base in logs:
            kept.append(name)
        else:
            disk.remove(f"{folder}/{name}")
    return kept
