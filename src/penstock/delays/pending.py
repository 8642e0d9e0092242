"""Held records by their ids and by when they are due, in as little memory as that takes.

There may be millions. Each takes 40 bytes, in arrays of a few thousand, which are cut in two when
they grow too long: so wherever something is put in or taken out, little has to move.

An id is the offset at which a record was first written. Its place is where it can be read: the
same, unless it was carried forward.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from penstock.delays.by_due import BLOCK_MAX, ByDue

UNREADABLE = -1
"""In place of an offset: what is set aside stays so, or it would be tried again for ever. It does
not count among what is aside, or enough of it would keep all others waiting."""


Columns: TypeAlias = "tuple[array[int], array[int], array[int]]"
"""Ids, dues and places."""


class Entry(NamedTuple):
    id: int
    due_ms: int
    place: int


class Aside(NamedTuple):
    offset: int
    """Of the record for which it was set aside."""
    comes_back: bool
    """Whether that record says when it is due again, rather than that it is over."""


class _Block:
    """Entries with ids that follow each other, as columns."""

    __slots__ = ("_lowest", "dues", "ids", "places")

    def __init__(self, ids: array[int], dues: array[int], places: array[int]) -> None:
        self.ids = ids
        self.dues = dues
        self.places = places
        self._lowest = min(places, default=None)
        """None where it has to be looked for."""

    def comes_to(self, place: int) -> None:
        """An entry is about to be read there."""
        if not self.ids:
            self._lowest = place
        elif self._lowest is not None:
            self._lowest = min(self._lowest, place)

    def goes_from(self, place: int) -> None:
        if place == self._lowest:
            self._lowest = None

    def lowest(self, lost: Sequence[int]) -> int | None:
        """Of all places, but for those of some ids, which are in order."""
        some = set(lost[bisect_left(lost, self.ids[0]) : bisect_right(lost, self.ids[-1])])
        if some:
            rows = zip(self.ids, self.places, strict=True)
            return min((place for number, place in rows if number not in some), default=None)
        if self._lowest is None:
            self._lowest = min(self.places)
        return self._lowest

    def cut(self) -> _Block:
        """The second half, which is another block from now on."""
        half = len(self.ids) // 2
        other = _Block(self.ids[half:], self.dues[half:], self.places[half:])
        del self.ids[half:], self.dues[half:], self.places[half:]
        self._lowest = min(self.places)
        return other


class ById:
    """All entries, in the order of their ids. Mostly new ones come at the end."""

    __slots__ = ("_blocks", "_count", "_firsts")

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._firsts: list[int] = []
        """No id in a block is below; the first block takes those that are."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def _find(self, number: int) -> tuple[int, int]:
        """The block where an id is, or would be, and its place there."""
        at = max(bisect_right(self._firsts, number) - 1, 0)
        return at, bisect_left(self._blocks[at].ids, number)

    def get(self, number: int) -> Entry | None:
        if not self._blocks:
            return None
        at, index = self._find(number)
        block = self._blocks[at]
        if index == len(block.ids) or block.ids[index] != number:
            return None
        return Entry(number, block.dues[index], block.places[index])

    def put(self, entry: Entry) -> None:
        """In the place of one with the same id."""
        number, due_ms, place = entry
        if not self._blocks:
            self._blocks.append(_Block(array("q"), array("q"), array("q")))
            self._firsts.append(number)
        at, index = self._find(number)
        block = self._blocks[at]
        if index < len(block.ids) and block.ids[index] == number:
            block.goes_from(block.places[index])
            block.comes_to(place)
            block.dues[index], block.places[index] = due_ms, place
            return
        block.comes_to(place)
        block.ids.insert(index, number)
        block.dues.insert(index, due_ms)
        block.places.insert(index, place)
        self._count += 1
        if len(block.ids) > BLOCK_MAX:
            self._cut(at)

    def put_last(self, ids: array[int], dues: array[int], places: array[int]) -> bool:
        """A block behind all others; False if it does not belong there."""
        if self._blocks and self._blocks[-1].ids[-1] >= ids[0]:
            return False
        self._blocks.append(_Block(ids, dues, places))
        self._firsts.append(ids[0])
        self._count += len(ids)
        return True

    def _cut(self, at: int) -> None:
        other = self._blocks[at].cut()
        self._blocks.insert(at + 1, other)
        self._firsts.insert(at + 1, other.ids[0])

    def pop(self, number: int) -> Entry | None:
        if not self._blocks:
            return None
        at, index = self._find(number)
        block = self._blocks[at]
        if index == len(block.ids) or block.ids[index] != number:
            return None
        found = Entry(block.ids.pop(index), block.dues.pop(index), block.places.pop(index))
        block.goes_from(found.place)
        self._count -= 1
        if not block.ids:
            del self._blocks[at], self._firsts[at]
        return found

    def lowest_place(self, lost: Sequence[int]) -> int | None:
        found = (block.lowest(lost) for block in self._blocks)
        return min((each for each in found if each is not None), default=None)

    def ids_between(self, first: int, end: int) -> list[int]:
        found: list[int] = []
        if not self._blocks:
            return found
        at, index = self._find(first)
        for block in self._blocks[at:]:
            stop = bisect_left(block.ids, end)
            found += block.ids[index:stop]
            if stop < len(block.ids):
                break
            index = 0
        return found

    def count_between(self, first: int, end: int) -> int:
        """Quick: a thousandth of a second for ten millions."""
        return self._count_below(end) - self._count_below(first)

    def _count_below(self, number: int) -> int:
        if not self._blocks:
            return 0
        at, index = self._find(number)
        return sum(len(block.ids) for block in self._blocks[:at]) + index

    def blocks(self) -> Iterator[Columns]:
        """Nothing may change meanwhile."""
        return ((block.ids, block.dues, block.places) for block in self._blocks)

    def block_after(self, number: int) -> Columns | None:
        """The first that has larger ids than this one."""
        at = max(bisect_right(self._firsts, number) - 1, 0)
        for block in self._blocks[at : at + 2]:
            if block.ids[-1] > number:
                return block.ids, block.dues, block.places
        return None


class Pending:
    """What is held. Some of it is set aside: a record that takes it out, or says when it is due
    again, has been appended, at an offset, and is still to be committed."""

    __slots__ = ("_aside", "_by_due", "_by_id", "_is_ordered", "_unreadable")

    def __init__(self) -> None:
        self._by_id = ById()
        self._by_due = ByDue()
        self._aside: dict[int, Aside] = {}
        self._is_ordered = True
        """Whether these offsets are ascending: not if the log was cut, or some are unreadable."""
        self._unreadable = 0

    def __len__(self) -> int:
        return len(self._by_id)

    def get(self, number: int) -> Entry | None:
        return self._by_id.get(number)

    def is_waiting(self, number: int) -> bool:
        """Whether it is held, and nothing takes it out yet."""
        return number not in self._aside and self._by_id.get(number) is not None

    def may_come(self, number: int) -> bool:
        """Whether it is held, and nothing takes it out for good yet."""
        aside = self._aside.get(number)
        return self._by_id.get(number) is not None and (aside is None or aside.comes_back)

    def put(self, entry: Entry) -> None:
        """A new one, or one that can be read elsewhere now."""
        before = self._by_id.get(entry.id)
        if before is not None and before.due_ms != entry.due_ms:
            self._by_due.remove(before.due_ms, entry.id)
        self._by_id.put(entry)
        is_in_order = before is not None and before.due_ms == entry.due_ms
        if not is_in_order and entry.id not in self._aside:
            self._by_due.add(entry.due_ms, entry.id)

    def put_last(self, ids: array[int], dues: array[int], places: array[int]) -> bool:
        """The same for many, with ascending ids that are larger than all others; False if they are
        not."""
        if not self._by_id.put_last(ids, dues, places):
            return False
        for due_ms, number in zip(dues, ids, strict=True):
            self._by_due.add(due_ms, number)
        return True

    def remove(self, number: int) -> Entry | None:
        entry = self._by_id.pop(number)
        if entry is not None and not self._bring_back(number):
            self._by_due.remove(entry.due_ms, number)
        return entry

    def move(self, number: int, due_ms: int, offset: int) -> None:
        """It was delivered by the record at an offset, and is due again. If a later record takes
        it out, it stays set aside for that."""
        entry = self._by_id.get(number)
        if entry is None:
            return
        aside = self._aside.get(number)
        if aside is None:
            self._by_due.remove(entry.due_ms, number)
        elif aside.offset <= offset:
            self._bring_back(number)
        self._by_id.put(entry._replace(due_ms=due_ms))
        if number not in self._aside:
            self._by_due.add(due_ms, number)

    def set_aside(self, number: int, offset: int, *, comes_back: bool = False) -> None:
        """What is set aside already is so for the new record, if the other lets it come back."""
        entry = self._by_id.get(number)
        before = self._aside.get(number)
        if entry is None or (before is not None and not before.comes_back):
            return
        if not self._bring_back(number):
            self._by_due.remove(entry.due_ms, number)
        last = next(reversed(self._aside.values()), None)
        self._is_ordered = last is None or (self._is_ordered and last.offset <= offset)
        self._aside[number] = Aside(offset, comes_back)
        self._unreadable += offset == UNREADABLE

    def is_unreadable(self, number: int) -> bool:
        """Whether it was due, and could not be read."""
        aside = self._aside.get(number)
        return aside is not None and aside.offset == UNREADABLE

    def try_again(self, number: int) -> None:
        """It can be read after all."""
        entry = self._by_id.get(number)
        if entry is not None and self.is_unreadable(number):
            self._bring_back(number)
            self._by_due.add(entry.due_ms, number)

    def _bring_back(self, number: int) -> bool:
        """Whether it was set aside. It is due no more, until it is put there."""
        aside = self._aside.pop(number, None)
        self._unreadable -= aside is not None and aside.offset == UNREADABLE
        return aside is not None

    def take_back(self, before: int, end: int) -> int:
        """Those set aside for records below an offset, all of which have been gone through, or at
        or past the end of the log: these records are not there. How many."""
        aside = self._aside
        if not aside:
            return 0
        first, last = aside[next(iter(aside))].offset, aside[next(reversed(aside))].offset
        if self._is_ordered and before <= first and last < end:
            return 0
        lost = [
            number
            for number, (offset, _) in aside.items()
            if offset != UNREADABLE and not before <= offset < end
        ]
        for number in lost:
            del self._aside[number]
            entry = self._by_id.get(number)
            if entry is not None:
                self._by_due.add(entry.due_ms, number)
        return len(lost)

    def ids_between(self, first: int, end: int) -> list[int]:
        return self._by_id.ids_between(first, end)

    def count_between(self, first: int, end: int) -> int:
        """Of ids, the end not included."""
        return self._by_id.count_between(first, end)

    @property
    def aside(self) -> int:
        """How many are on their way."""
        return len(self._aside) - self._unreadable

    @property
    def next_ms(self) -> int | None:
        return self._by_due.next_ms

    def due_by(self, time_ms: int, most: int) -> Sequence[int]:
        return self._by_due.due_by(time_ms, most)

    def blocks(self) -> Iterator[Columns]:
        return self._by_id.blocks()

    def lowest_place(self, lost: Sequence[int]) -> int | None:
        """Of all entries but for those with some ids, which are in order."""
        return self._by_id.lowest_place(lost)

    def block_after(self, number: int) -> Columns | None:
        """Some entries, in the order of their ids; all of them come after one id or another."""
        return self._by_id.block_after(number)
