"""Whether what readers of committed records have seen can be.

The rules are those of the public Jepsen workload for Kafka, as far as they concern transactions;
and a copy that commits its offsets in its transactions has every record of its source once. Each
finding is a line that names the anomaly first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from penstock.sim.outcome import Outcome
from penstock.sim.transactions.history import Read, Transaction, TransactionHistory, Write
from penstock.sim.transactions.topics import COPIES, PARTITIONS, SOURCE

Spots = dict[Write, list[int]]
"""At which offsets each value was read."""


def check(history: TransactionHistory) -> list[str]:
    spots, found = _spots(history)
    found += history.problems
    found += _doubled(spots)
    found += _invented(history, spots)
    found += _aborted_but_read(history, spots)
    for seen in history.last_reads.values():
        found += _halves(history, seen)
    found += _out_of_order(history, spots)
    for reader, seen in (*history.polls.items(), *history.last_reads.items()):
        found += _not_in_turn(reader, seen, spots)
    found += _unseen(history)
    found += _misplaced(history)
    found += _copied_wrongly(history)
    return found


def _spots(history: TransactionHistory) -> tuple[Spots, list[str]]:
    """Also what is found where one offset has two values."""
    values: dict[tuple[str, int, int], int] = {}
    found = []
    for reads in (*history.polls.values(), *history.last_reads.values()):
        for read in reads:
            before = values.setdefault(read[:3], read.value)
            if before != read.value:
                found.append(f"inconsistent offsets: {read} where {before} was read")
    spots: Spots = defaultdict(list)
    for (topic, partition, offset), value in sorted(values.items()):
        spots[Write(topic, partition, value)].append(offset)
    return spots, found


def _doubled(spots: Spots) -> Iterator[str]:
    for write, offsets in spots.items():
        if len(offsets) > 1:
            yield f"duplicate: {write} at {offsets}"


def _invented(history: TransactionHistory, spots: Spots) -> Iterator[str]:
    known = {write for each in history.transactions for write in each.writes}
    for write in spots.keys() - known:
        yield f"invented: {write} was never written"


def _own_writes(transaction: Transaction) -> list[Write]:
    """Copies are written again where they were aborted: `_copied_wrongly` is for those."""
    return [write for write in transaction.writes if write.topic != COPIES]


def _aborted_but_read(history: TransactionHistory, spots: Spots) -> Iterator[str]:
    for transaction in history.transactions:
        there = [write for write in _own_writes(transaction) if write in spots]
        if transaction.outcome is Outcome.FAILED and there:
            yield f"aborted read: {there} of {transaction}"


def _halves(history: TransactionHistory, seen: list[Read]) -> Iterator[str]:
    """Who reads a part of a transaction has to find the rest of it, whatever is known of it."""
    values = {Write(read.topic, read.partition, read.value) for read in seen}
    for transaction in history.transactions:
        gone = [write for write in _own_writes(transaction) if write not in values]
        if 0 < len(gone) < len(_own_writes(transaction)):
            yield f"half a transaction: all but {gone} of {transaction}"


def _out_of_order(history: TransactionHistory, spots: Spots) -> Iterator[str]:
    last: dict[tuple[str, str, int], tuple[int, Write]] = {}
    for transaction in history.transactions:
        for write in _own_writes(transaction):
            for offset in spots.get(write, ())[:1]:
                lane = transaction.who, write.topic, write.partition
                before = last.get(lane, (-1, write))
                if offset < before[0]:
                    yield f"nonmonotonic send: {write} at {offset}, before {before[1]}"
                last[lane] = max(before, (offset, write))


def _not_in_turn(reader: str, seen: list[Read], spots: Spots) -> Iterator[str]:
    """A reader went back, or passed over what others have read."""
    reached: dict[tuple[str, int], int] = {}
    for read in seen:
        if read.offset <= reached.get(read[:2], -1):
            yield f"nonmonotonic poll: {reader} read {read} after {reached[read[:2]]}"
        reached[read[:2]] = read.offset
    own = {read[:3] for read in seen}
    for write, offsets in spots.items():
        for offset in offsets:
            if (*write[:2], offset) not in own and offset < reached.get(write[:2], -1):
                yield f"poll skip: {reader} passed over {write} at {offset}"


def _unseen(history: TransactionHistory) -> Iterator[str]:
    for reader, seen in history.last_reads.items():
        values = {Write(read.topic, read.partition, read.value) for read in seen}
        for transaction in history.transactions:
            if transaction.outcome is Outcome.OK:
                lost = [write for write in transaction.writes if write not in values]
                if lost:
                    yield f"lost: {reader} did not find {lost} of {transaction}"


def _misplaced(history: TransactionHistory) -> Iterator[str]:
    """The group is where a transaction has brought it that was aborted, or went back."""
    for place in (*history.places, *history.last_places):
        if place.number >= 0:
            transaction = history.transactions[place.number]
            if transaction.outcome is Outcome.FAILED:
                yield f"aborted offset: {place} is of {transaction}"
            if transaction.offsets.get(place.partition) != place.offset:
                yield f"wrong offset: {place} is not {transaction.offsets} of {transaction}"
        if place.number < place.known:
            yield f"lost offset: {place}"


def _copied_wrongly(history: TransactionHistory) -> Iterator[str]:
    """What is below the group's offsets is copied once and in order, and nothing else is."""
    if not history.last_places:
        return
    ends = {place.partition: place.offset for place in history.last_places}
    for reader, seen in history.last_reads.items():
        for partition in range(PARTITIONS):
            end = ends.get(partition, -1)
            source = [each for each in seen if each[:2] == (SOURCE, partition)]
            wanted = [each.value for each in source if each.offset < end]
            copies = [each.value for each in seen if each[:2] == (COPIES, partition)]
            if copies != wanted:
                yield (
                    f"wrong copy: {reader} found {_difference(copies, wanted)} in partition "
                    f"{partition}, and the group is at {end}"
                )


def _difference(copies: list[int], wanted: list[int]) -> str:
    same = next(
        (at for at, (one, other) in enumerate(zip(copies, wanted, strict=False)) if one != other),
        min(len(copies), len(wanted)),
    )
    return f"{copies[same : same + 5]} in place of {wanted[same : same + 5]} after {same}"
