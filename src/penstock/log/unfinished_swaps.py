"""Compacted segments that were to take the place of others when the broker stopped.

`swapping` makes them. A swap was whole and synced before it got its name; but Kafka leaves such
files too, and so do people, and what it replaces is gone for good. So a swap is looked through, and
one that cannot be believed is set aside: the old segments stay.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from itertools import pairwise
from typing import NamedTuple

from penstock.log import layout, scanning
from penstock.log.scanning import NotABatch
from penstock.log.steps import Pauses
from penstock.log.window import Window
from penstock.world.ports import Disk

lines = logging.getLogger(__name__)


class Swap(NamedTuple):
    name: str
    """Of the file that has the batches."""
    base: int
    end: int | None
    """Where what it stands for ends; Kafka's do not tell that."""


class Doubtful(Exception):
    """Why a swap is not to be believed."""


def complete(
    disk: Disk, folder: str, names: Sequence[str], may_have_gaps: bool
) -> Generator[None, None, None]:
    """Put in place what can be believed. A crash in here leaves the rest to be completed again.

    Yields between slices of work of a few milliseconds.
    """
    swaps = [swap for swap in map(_swap, names) if swap is not None]
    judge = _Judge(disk, folder, names, may_have_gaps)
    ends: list[int | Doubtful] = []
    for swap in swaps:
        ends += [(yield from judge.end_of(swap))]
    for swap, end in zip(swaps, _without_overlaps(swaps, ends), strict=True):
        if isinstance(end, Doubtful):
            _set_aside(disk, folder, swap, names, end)
        else:
            _put_in_place(disk, folder, swap, end, names)
    for name in names:
        if name.endswith(layout.SWAP) and layout.segment_base(layout.own_name(name)) is not None:
            disk.remove(f"{folder}/{name}")  # an index whose batches were not decided, or set aside
    disk.sync_folder(folder)


def _swap(name: str) -> Swap | None:
    base = layout.parse_offset(layout.own_name(name), layout.LOG)
    if base is None or not name.endswith(layout.SWAP):
        return None
    return Swap(name, base, end_of_swap(name))


def end_of_swap(name: str) -> int | None:
    """Where what a swap stands for ends; Kafka's do not tell that."""
    end = name.removesuffix(layout.SWAP).rpartition(".")[2]
    return int(end) if name.endswith(layout.SWAP) and end.isdecimal() else None


def _without_overlaps(
    swaps: Sequence[Swap], ends: Sequence[int | Doubtful]
) -> Sequence[int | Doubtful]:
    """No two can be right of the same stretch; which one is, nobody knows."""
    good = [(swap, end) for swap, end in zip(swaps, ends, strict=True) if isinstance(end, int)]
    doubtful: set[Swap] = set()
    for (swap, end), (other, _) in pairwise(good):
        if other.base < end:
            doubtful |= {swap, other}
    reason = Doubtful("another one stands for the same segments")
    return [reason if swap in doubtful else end for swap, end in zip(swaps, ends, strict=True)]


class _Judge:
    def __init__(self, disk: Disk, folder: str, names: Sequence[str], may_have_gaps: bool) -> None:
        self._disk = disk
        self._folder = folder
        self._may_have_gaps = may_have_gaps
        self._bases = _bases(names)

    def end_of(self, swap: Swap) -> Generator[None, None, int | Doubtful]:
        """The beginning of the segment that follows what a swap replaces."""
        try:
            return (yield from self._checked_end(swap))
        except Doubtful as doubt:
            return doubt

    def _checked_end(self, swap: Swap) -> Generator[None, None, int]:
        reaches = yield from self._reaches(swap)
        if swap.end is None and reaches == swap.base:
            raise Doubtful("it is empty")
        end = swap.end if swap.end is not None else self._next_base(reaches)
        if end not in self._bases or end <= swap.base:
            raise Doubtful("no segment follows what it would replace")
        if reaches < end and not self._may_have_gaps:
            raise Doubtful(f"it has no records from {reaches} to {end - 1}")
        if swap.base not in self._bases and (yield from self._end_before(swap.base)) > swap.base:
            raise Doubtful("it begins in the midst of a segment")
        return end

    def _next_base(self, offset: int) -> int:
        return min((base for base in self._bases if base >= offset), default=-1)

    def _reaches(self, swap: Swap) -> Generator[None, None, int]:
        """The offset after its last batch, if all that is in it is batches, one after the other."""
        file = self._disk.open(f"{self._folder}/{swap.name}")
        try:
            window = Window(file, swap.base, swap.end, may_have_gaps=self._may_have_gaps)
            position, expected, pauses = 0, swap.base, Pauses()
            while position < window.size:
                header = window.good_batch(position, expected)
                if header is None:
                    raise Doubtful(f"at byte {position} is no batch that could be there")
                position, expected = position + header.size, header.next_offset
                if pauses.is_due(header.size):
                    yield
            return expected
        finally:
            file.close()

    def _end_before(self, offset: int) -> Generator[None, None, int]:
        """Of the segment before an offset."""
        end = max((base for base in self._bases if base < offset), default=-1)
        if end < 0:
            return offset
        file = self._disk.open(f"{self._folder}/{layout.offset_name(end)}{layout.LOG}")
        try:
            pauses = Pauses()
            for place in scanning.places(file.read, 0, file.size):
                end = place.last_offset + 1
                if pauses.is_due():
                    yield
        except NotABatch:
            pass  # recovery will say more about it
        finally:
            file.close()
        return end


def _put_in_place(disk: Disk, folder: str, swap: Swap, end: int, names: Sequence[str]) -> None:
    """Indexes go before their batches, both ways: of those that are there without, it is known
    that they are the swap's."""
    for base in _bases(names):
        if swap.base <= base < end:
            for kind in reversed(layout.SEGMENT_SUFFIXES):
                disk.remove(f"{folder}/{layout.offset_name(base)}{kind}")
    for kind in reversed(layout.SEGMENT_SUFFIXES):
        name = _part(swap, kind)
        if name in names:
            disk.rename(f"{folder}/{name}", f"{folder}/{layout.offset_name(swap.base)}{kind}")


def _set_aside(disk: Disk, folder: str, swap: Swap, names: Sequence[str], reason: Doubtful) -> None:
    _bring_back(disk, folder, swap.base, names)
    path = f"{folder}/{swap.name}"
    disk.rename(path, path + layout.DOUBTFUL)
    text = "%s cannot take the place of older segments, which stay: %s; it was set aside as %s"
    lines.error(text, path, reason, swap.name + layout.DOUBTFUL)


def _bring_back(disk: Disk, folder: str, base: int, names: Sequence[str]) -> None:
    """Segments that had made room already. They went in order, so none has if the first is there;
    which is why it comes back last.

    Of several files of a name the first has the most in it.
    """
    bases = _bases(names)
    if base in bases:
        return
    end = min((each for each in bases if each > base), default=layout.LAST_OFFSET)
    found: dict[tuple[int, bool, str], str] = {}
    for name in names:
        own = layout.own_name(name)
        begins = layout.segment_base(own)
        if name.endswith(layout.DELETED) and begins is not None and base <= begins < end:
            found.setdefault((-begins, own.endswith(layout.LOG), own), name)
    for (_, _, own), name in sorted(found.items()):
        disk.rename(f"{folder}/{name}", f"{folder}/{own}")


def _bases(names: Sequence[str]) -> list[int]:
    return [base for name in names if (base := layout.parse_offset(name, layout.LOG)) is not None]


def _part(swap: Swap, kind: str) -> str:
    return layout.offset_name(swap.base) + kind + swap.name.removeprefix(layout.own_name(swap.name))
