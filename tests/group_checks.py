"""What must hold of a group, checked from what its workers have written down.

A worker owns a partition from when it is told so until it has told the broker that it gave it up,
or is killed. Its client says that it gave it up only after the worker's own callback is done, which
is when the worker writes it down: so the times of two owners never overlap, in any protocol. One
that was stopped for longer than its session is another matter: the broker takes it for dead, and it
learns so when it wakes up. Such a worker has noted that it stalled, and its ownership ends there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from tests.group_journal import Entry, Place

MessageId = tuple[Place, int]
"""A partition and an offset."""


@dataclass(frozen=True, slots=True, order=True)
class Ownership:
    begin: float
    end: float
    worker: str


@dataclass(frozen=True, slots=True)
class Processed:
    at: float
    worker: str
    value: str


class Run:
    """All journals of a group. `killed_at` has the time of each worker that was killed."""

    def __init__(
        self, journals: dict[str, list[Entry]], killed_at: dict[str, float | None]
    ) -> None:
        self.journals = journals
        self.killed_at = killed_at

    def processed_ids(self) -> set[MessageId]:
        return set(self.processed())

    def processed(self) -> dict[MessageId, list[Processed]]:
        """How often, when and by whom, in the order of time."""
        found: dict[MessageId, list[Processed]] = defaultdict(list)
        for worker, entries in self.journals.items():
            for entry in entries:
                if entry.what == "processed":
                    topic, partition = entry.facts["place"]
                    each = Processed(entry.at, worker, entry.facts["value"])
                    found[(topic, partition), entry.facts["offset"]].append(each)
        return {key: sorted(times, key=lambda each: each.at) for key, times in found.items()}

    def ownerships(self) -> dict[Place, list[Ownership]]:
        """Who had which partition when, in the order of time."""
        found: dict[Place, list[Ownership]] = defaultdict(list)
        for worker, entries in self.journals.items():
            end = self.killed_at[worker] or inf
            for place, begin, until in _owned(entries, end):
                found[place].append(Ownership(begin, until, worker))
        return {place: sorted(each) for place, each in found.items()}

    def uncommitted(self, *, killed: bool) -> set[MessageId]:
        """What was processed, and not known to be committed, by workers that were or were not
        killed."""
        workers = [name for name, at in self.killed_at.items() if (at is not None) == killed]
        return {each for name in workers for each in _uncommitted(self.journals[name])}

    def given_up(self) -> set[MessageId]:
        """What was processed, and not known to be committed when its partition went."""
        return {each for entries in self.journals.values() for each in _given_up(entries)}

    def unprocessed(self, *, killed: bool) -> set[MessageId]:
        """What workers began to commit before they processed it, and then did not process."""
        workers = [name for name, at in self.killed_at.items() if (at is not None) == killed]
        return {each for name in workers for each in _unprocessed(self.journals[name])}


def _owned(entries: list[Entry], end: float) -> Iterator[tuple[Place, float, float]]:
    """An ownership ends early where a stall begins in it."""
    stalls = [(entry.facts["since"], entry.at) for entry in entries if entry.what == "stalled"]
    since: dict[Place, float] = {}
    for entry in entries:
        if entry.what == "assigned":
            for place in entry.places:
                since.setdefault(place, entry.at)
        elif entry.what in {"revoked", "lost"}:
            for place in entry.places:
                if place in since:
                    begin = since.pop(place)
                    yield place, begin, _cut(begin, entry.at, stalls)
    for place, begin in since.items():
        yield place, begin, _cut(begin, end, stalls)


def _cut(begin: float, end: float, stalls: list[tuple[float, float]]) -> float:
    """Where it ends, or where the first stall that meets it begins."""
    met = [max(begin, since) for since, until in stalls if since < end and begin < until]
    return min(met, default=end)


def _uncommitted(entries: list[Entry]) -> set[MessageId]:
    found: set[MessageId] = set()
    for entry in entries:
        if entry.what == "processed":
            topic, partition = entry.facts["place"]
            found.add(((topic, partition), entry.facts["offset"]))
        elif entry.what == "committed":
            found -= _messages(entry)
    return found


def _given_up(entries: list[Entry]) -> set[MessageId]:
    """Its worker may have it again, and commit it then."""
    found: set[MessageId] = set()
    for number, entry in enumerate(entries):
        if entry.what in {"revoked", "lost"}:
            open_then = _uncommitted(entries[:number])
            found |= {each for each in open_then if each[0] in entry.places}
    return found


def _unprocessed(entries: list[Entry]) -> set[MessageId]:
    found: set[MessageId] = set()
    for entry in entries:
        if entry.what == "committing":
            found |= _messages(entry)
        elif entry.what == "processed":
            topic, partition = entry.facts["place"]
            found.discard(((topic, partition), entry.facts["offset"]))
    return found


def _messages(entry: Entry) -> set[MessageId]:
    return {
        ((topic, partition), offset)
        for topic, partition, first, end in entry.spans
        for offset in range(first, end)
    }


def check_owners(run: Run) -> None:
    """No partition had two owners at a time."""
    for place, owners in run.ownerships().items():
        last = Ownership(-inf, -inf, "nobody")
        for owner in owners:
            assert last.end < owner.begin, f"{place} had two owners at a time: {last}, {owner}"
            last = max(last, owner, key=lambda each: each.end)


def check_nothing_was_lost_to_the_lively(run: Run) -> None:
    """The broker takes nobody for dead who was not slow."""
    for worker, entries in run.journals.items():
        stalled = any(entry.what == "stalled" for entry in entries)
        lost = [entry for entry in entries if entry.what == "lost" and entry.places]
        assert stalled or not lost, f"{worker} lost partitions, and was not slow: {lost}"


def check_at_least_once(
    run: Run, sent: dict[MessageId, str], *, broker_killed: bool = False
) -> None:
    """All was processed; and again only what a killed worker had not committed.

    A broker that is killed may leave a worker without an answer to its commit, too.
    """
    processed = run.processed()
    missing = sent.keys() - processed.keys()
    assert not missing, f"never processed: {sorted(missing)[:10]}, {len(missing)} in all"
    _check_values(processed, sent)
    repeated = {key for key, times in processed.items() if len(times) > 1}
    surprising = repeated - run.uncommitted(killed=True)
    if broker_killed:
        surprising -= run.uncommitted(killed=False) | run.given_up()
    assert not surprising, f"processed again after a commit: {_told(processed, surprising)}"


def check_all_processed(run: Run, sent: dict[MessageId, str]) -> None:
    """At least once; the first time in the order of a partition; and never again where a commit
    has made it unnecessary."""
    processed = run.processed()
    missing = sent.keys() - processed.keys()
    assert not missing, f"never processed: {sorted(missing)[:10]}, {len(missing)} in all"
    _check_values(processed, sent)
    last: dict[Place, tuple[float, int]] = {}
    for place, offset in sorted(processed):
        first = processed[place, offset][0].at
        assert last.get(place, (-inf, -1))[0] < first, f"{place}: {offset} before {last[place]}"
        last[place] = first, offset
    committed = _first_committed(run)
    for worker, entries in run.journals.items():
        _check_resumed(worker, entries, committed)


def _first_committed(run: Run) -> dict[MessageId, float]:
    found: dict[MessageId, float] = {}
    for entries in run.journals.values():
        for entry in entries:
            if entry.what == "committed":
                for each in _messages(entry):
                    found[each] = min(entry.at, found.get(each, inf))
    return found


def _check_resumed(worker: str, entries: list[Entry], committed: dict[MessageId, float]) -> None:
    """It does not go back behind what it has committed itself, nor behind what was committed before
    it was given the partition."""
    since: dict[Place, float] = {}
    own: set[MessageId] = set()
    for entry in entries:
        if entry.what == "assigned":
            since.update(dict.fromkeys(entry.places, entry.at))
        elif entry.what == "committed":
            own |= _messages(entry)
        elif entry.what == "processed":
            topic, partition = entry.facts["place"]
            place, offset = (topic, partition), entry.facts["offset"]
            is_old = committed.get((place, offset), inf) < since[place]
            assert not is_old, f"{worker} was given {place} and began at {offset}, before a commit"
            assert (place, offset) not in own, f"{worker} went back to {offset} of {place}"


def check_at_most_once(run: Run, sent: dict[MessageId, str]) -> None:
    """Nothing was processed twice; and missing is only what a killed worker was about to do."""
    processed = run.processed()
    _check_values(processed, sent)
    repeated = {key for key, times in processed.items() if len(times) > 1}
    assert not repeated, f"processed again: {_told(processed, repeated)}"
    missing = sent.keys() - processed.keys()
    surprising = missing - run.unprocessed(killed=True)
    assert not surprising, f"never processed: {sorted(surprising)[:10]}"


def _check_values(processed: dict[MessageId, list[Processed]], sent: dict[MessageId, str]) -> None:
    for key, times in processed.items():
        for each in times:
            assert sent.get(key, each.value) == each.value, f"{key} is not what was sent: {each}"


def _told(processed: dict[MessageId, list[Processed]], keys: set[MessageId]) -> str:
    return "; ".join(f"{key}: {processed[key]}" for key in sorted(keys)[:5])
