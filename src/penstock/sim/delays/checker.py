"""Whether what readers have seen of delayed messages can be. A finding names the anomaly first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from penstock.sim.delays.history import DelayHistory, Seen, Send
from penstock.sim.outcome import Outcome

CLOCKS_MS = 300
"""By which brokers' clocks may differ from the time that readers go by."""


def check(history: DelayHistory) -> list[str]:
    spots, found = _spots(history)
    found += history.problems
    found += _doubled(spots)
    found += _too_early(history)
    for reader, seen in _readers(history):
        places = {each.value: each for each in seen}
        found += [f"{line}, by {reader}" for line in _amiss(history, places)]
        found += [f"{line}, by {reader}" for line in _halves(history, places)]
        found += [f"{line}, by {reader}" for line in _out_of_order(history, places)]
    return found


def _readers(history: DelayHistory) -> Iterator[tuple[str, list[Seen]]]:
    """Those who must have seen all."""
    if not history.has_dropped:
        yield from history.last_reads.items()
    elif not history.has_missed:
        everybody = (*history.polls.values(), *history.last_reads.values())
        yield "anybody", [each for seen in everybody for each in seen]


def _spots(history: DelayHistory) -> tuple[dict[int, set[tuple[int, int]]], list[str]]:
    """Where each value was read; and what is found where one offset has two."""
    values: dict[tuple[int, int], int] = {}
    spots: dict[int, set[tuple[int, int]]] = defaultdict(set)
    found = []
    for seen in (*history.polls.values(), *history.last_reads.values()):
        for each in seen:
            place = each.partition, each.offset
            before = values.setdefault(place, each.value)
            if before != each.value:
                found.append(f"inconsistent offsets: {each} where {before} was read")
            spots[each.value].add(place)
    return spots, found


def _doubled(spots: dict[int, set[tuple[int, int]]]) -> Iterator[str]:
    for value, places in spots.items():
        if len(places) > 1:
            yield f"duplicate: {value} at {sorted(places)}"


def _too_early(history: DelayHistory) -> Iterator[str]:
    dues = {each.value: each.due_ms for each in history.sends if each.due_ms is not None}
    dues |= history.dues
    for seen in (*history.polls.values(), *history.last_reads.values()):
        for each in seen:
            due_ms = dues.get(each.value)
            if due_ms is not None and each.at_ms + CLOCKS_MS < due_ms:
                yield f"too early: {each}, due {due_ms}"


def _amiss(history: DelayHistory, places: dict[int, Seen]) -> Iterator[str]:
    known = set()
    for each in history.sends:
        known.add(each.value)
        is_there = each.value in places
        if each.cancelled is Outcome.OK and is_there:
            yield f"cancelled but read: {each}"
        elif each.outcome is Outcome.OK and each.cancelled is not Outcome.OK and not is_there:
            yield f"lost: {each}"
    for transaction in history.transactions.transactions:
        known |= {write.value for write in transaction.writes}
    for value in places.keys() - known:
        yield f"invented: {places[value]}"


def _halves(history: DelayHistory, places: dict[int, Seen]) -> Iterator[str]:
    for each in history.transactions.transactions:
        values = {write.value for write in each.writes}
        there = values & places.keys()
        if each.outcome is Outcome.FAILED and there:
            yield f"aborted but read: {sorted(there)} of {each}"
        elif each.outcome is Outcome.OK and there != values:
            yield f"lost: {sorted(values - there)} of {each}"
        elif there and there != values:
            yield f"halved: only {sorted(there)} of {sorted(values)} of {each}"


def _out_of_order(history: DelayHistory, places: dict[int, Seen]) -> Iterator[str]:
    """What falls due together comes in the order in which it was written."""
    together: dict[tuple[int, int], list[Send]] = defaultdict(list)
    for each in history.sends:
        if each.due_ms is not None and each.value in places and each.offset >= 0:
            together[each.partition, each.due_ms].append(each)
    for sends in together.values():
        sends.sort(key=lambda each: each.offset)
        offsets = [places[each.value].offset for each in sends]
        if offsets != sorted(offsets):
            yield f"out of order: {[str(each) for each in sends]} at {offsets}"
