"""Whether a history could be that of a queue which loses nothing and invents nothing.

The rules are those of the public Jepsen workload for Kafka, as far as they concern single sends and
polls. Each finding is a line that names the anomaly first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from penstock.sim.history import History, Seen, Send
from penstock.sim.outcome import Outcome

Offsets = dict[tuple[int, int], int]
"""The value at a partition's offset."""


def check(history: History) -> list[str]:
    offsets: Offsets = {}
    found = [*_inconsistent(history, offsets)]
    places = defaultdict(list)
    for (partition, offset), value in sorted(offsets.items()):
        places[value].append((partition, offset))
    found += _duplicates(places)
    found += _failed_but_read(history, places)
    found += _lost(history, offsets, places)
    for reader, seen in (*history.polls.items(), *history.last_reads.items()):
        found += _out_of_order(reader, seen)
        found += _skipped(reader, seen, offsets)
    found += _sends_inverted(history, places)
    found += _unseen(history)
    return found


def _all_seen(history: History) -> Iterator[Seen]:
    for reads in (history.polls, history.last_reads):
        for seen in reads.values():
            yield from seen


def _inconsistent(history: History, offsets: Offsets) -> Iterator[str]:
    """More than one value at an offset; what a producer was told counts as well."""
    told = [
        Seen(send.partition, send.offset, send.value)
        for send in history.sends
        if send.outcome is Outcome.OK and send.offset is not None
    ]
    for seen in _all_seen(history):
        before = offsets.setdefault((seen.partition, seen.offset), seen.value)
        if before != seen.value:
            yield f"inconsistent offsets: {seen} where {before} was read"
    for seen in told:
        there = offsets.get((seen.partition, seen.offset), seen.value)
        if there != seen.value:
            yield f"inconsistent offsets: {seen} was acknowledged where {there} was read"


def _duplicates(places: dict[int, list[tuple[int, int]]]) -> Iterator[str]:
    for value, found in places.items():
        if len(found) > 1:
            yield f"duplicate: {value} at {found}"


def _failed_but_read(history: History, places: dict[int, list[tuple[int, int]]]) -> Iterator[str]:
    known = {send.value for send in history.sends}
    for value in places:
        if value not in known:
            yield f"invented: {value} was never sent"
    for send in history.sends:
        if send.outcome is Outcome.FAILED and send.value in places:
            yield f"aborted read: {send}"


def _lost(
    history: History, offsets: Offsets, places: dict[int, list[tuple[int, int]]]
) -> Iterator[str]:
    """Acknowledged, at or below what was read of the partition, and read by nobody."""
    highest: dict[int, int] = defaultdict(lambda: -1)
    for partition, offset in offsets:
        highest[partition] = max(highest[partition], offset)
    for send in history.sends:
        if send.outcome is not Outcome.OK or send.value in places or send.offset is None:
            continue
        if send.offset <= highest[send.partition]:
            yield f"lost: {send}"


def _out_of_order(reader: str, seen: list[Seen]) -> Iterator[str]:
    last: dict[int, int] = defaultdict(lambda: -1)
    for each in seen:
        if each.offset <= last[each.partition]:
            yield f"nonmonotonic poll: {reader} read {each} after {last[each.partition]}"
        last[each.partition] = each.offset


def _skipped(reader: str, seen: list[Seen], offsets: Offsets) -> Iterator[str]:
    """A reader passed over an offset that has a value."""
    own = {(each.partition, each.offset) for each in seen}
    reached: dict[int, int] = defaultdict(lambda: -1)
    for partition, offset in own:
        reached[partition] = max(reached[partition], offset)
    for partition, offset in sorted(offsets.keys() - own):
        if offset < reached[partition]:
            yield f"poll skip: {reader} passed over {partition} at {offset}"


def _sends_inverted(history: History, places: dict[int, list[tuple[int, int]]]) -> Iterator[str]:
    last: dict[tuple[str, int], tuple[int, Send]] = {}
    for send in history.sends:
        for _, offset in places.get(send.value, [])[:1]:
            before = last.get((send.producer, send.partition))
            if before is not None and offset <= before[0]:
                yield f"nonmonotonic send: {send} at {offset}, before {before[1]}"
            last[send.producer, send.partition] = offset, send


def _unseen(history: History) -> Iterator[str]:
    for reader, seen in history.last_reads.items():
        values = {each.value for each in seen}
        for send in history.sends:
            if send.outcome is Outcome.OK and send.value not in values:
                yield f"unseen: {reader} did not find {send}"
