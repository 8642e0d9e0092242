"""What a log says of its held records: the fold against a plain model, and kept in a file."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.delays.writing import (
    AFTER,
    AT,
    CANCEL,
    CRON,
    ID,
    NEXT,
    append,
    carried_out,
    entries,
    folded,
    put,
    put_copies,
    put_end,
)
from tests.log.making import NOW_MS, TOPIC_ID

from penstock.config import TopicConfig
from penstock.delays import folding, stored
from penstock.delays import schedule as schedules
from penstock.delays.asking import ask
from penstock.delays.folding import catch_up
from penstock.delays.pending import Entry
from penstock.delays.schedule import Schedule
from penstock.log.partition_log import PartitionLog
from penstock.wire.batch import stamp_append_time
from penstock.wire.batch_builder import build_batch
from penstock.wire.compression import Codec
from penstock.wire.records import Record
from penstock.world.real_disk import RealDisk

DELAYS = TopicConfig(delayed_delivery=True)


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    return new_log(tmp_path)


def new_log(folder: Path, config: TopicConfig = DELAYS) -> PartitionLog:
    found = PartitionLog(RealDisk(), str(folder / "orders-0"), TOPIC_ID, config)
    found.open()
    return found


def at(due_ms: int) -> tuple[tuple[bytes, bytes], ...]:
    return ((AT, b"%d" % due_ms),)


def cancel(number: int) -> tuple[tuple[bytes, bytes], ...]:
    return ((CANCEL, b"%d" % number),)


def every(text: bytes) -> tuple[tuple[bytes, bytes], ...]:
    return ((CRON, text),)


MINUTE_MS = 60_000
NEXT_MINUTE = (NOW_MS // MINUTE_MS + 1) * MINUTE_MS


def in_transaction(producer_id: int, sequence: int) -> dict[str, Any]:
    return {
        "producer_id": producer_id,
        "producer_epoch": 0,
        "base_sequence": sequence,
        "transactional": True,
    }


def test_records_are_held_under_their_offsets_until_they_are_due(log: PartitionLog) -> None:
    put(log, [(), at(500), ((AFTER, b"30"),)])
    assert entries(folded(log)) == [Entry(1, 500, 1), Entry(2, NOW_MS + 30, 2)]


def test_a_delay_counts_from_the_time_of_the_append_where_the_topic_has_that(
    log: PartitionLog,
) -> None:
    batch = build_batch([Record(0, 5, None, b"v", ((AFTER, b"30"),))])
    ask(batch, NOW_MS, 1 << 20, append_time=True)
    stamp_append_time(batch, NOW_MS + 7)
    append(log, batch)
    assert entries(folded(log)) == [Entry(0, NOW_MS + 37, 0)]


def test_a_copy_or_a_cancel_takes_a_record_out(log: PartitionLog) -> None:
    put(log, [at(1), at(2), at(3)])
    put_copies(log, [Entry(1, 2, 1)], still_held=False)
    put(log, [cancel(2)])
    assert entries(folded(log)) == [Entry(0, 1, 0)]


def test_a_record_that_was_carried_forward_is_held_under_the_same_id(log: PartitionLog) -> None:
    put(log, [at(1), at(2)])
    place = put_copies(log, [Entry(0, 1, 0), Entry(1, 2, 1)], still_held=True)
    assert entries(folded(log)) == [Entry(0, 1, place), Entry(1, 2, place + 1)]
    put_copies(log, [Entry(0, 1, place)], still_held=False)
    assert entries(folded(log)) == [Entry(1, 2, place + 1)]


def test_a_repeating_record_is_due_at_the_first_time_after_its_own(log: PartitionLog) -> None:
    put(log, [every(b"* * * * *"), every(b"0 0 1 1 *")])
    first, second = entries(folded(log))
    assert first == Entry(0, NEXT_MINUTE, 0)
    assert second.due_ms > NEXT_MINUTE


def test_a_delivery_that_says_when_it_comes_next_leaves_a_record_where_it_is(
    log: PartitionLog,
) -> None:
    put(log, [every(b"* * * * *"), at(2)])
    held = entries(folded(log))
    put_copies(log, held[:1], still_held=False, next_ms=77)
    assert entries(folded(log)) == [Entry(0, 77, 0), Entry(1, 2, 1)]
    place = put_copies(log, [Entry(0, 77, 0)], still_held=True)
    put_copies(log, [Entry(0, 77, place)], still_held=False, next_ms=99)
    assert entries(folded(log)) == [Entry(0, 99, place), Entry(1, 2, 1)]
    put_copies(log, [Entry(0, 99, place)], still_held=False)
    assert entries(folded(log)) == [Entry(1, 2, 1)]


def test_a_delivery_of_what_was_cancelled_or_deleted_brings_nothing_back(log: PartitionLog) -> None:
    put(log, [every(b"* * * * *")])
    put(log, [cancel(0)])
    put_copies(log, [Entry(0, 5, 0)], still_held=False, next_ms=77)
    assert entries(folded(log)) == []


def test_what_only_leaders_say_means_nothing_in_a_clients_batch(log: PartitionLog) -> None:
    """Who forwards messages may copy all headers."""
    put(log, [at(1), at(2)])
    put(log, [((ID, b"0"), (NEXT, b"77")), (*at(3), (ID, b"1"), (NEXT, b"77"))])
    assert entries(folded(log)) == [Entry(0, 1, 0), Entry(1, 2, 1), Entry(3, 3, 3)]


def test_headers_mean_nothing_in_a_batch_that_the_leader_has_not_marked(log: PartitionLog) -> None:
    """As those that were sent before the topic had delays."""
    append(log, build_batch([Record(0, NOW_MS, None, b"v", at(1))]))
    assert entries(folded(log)) == []


def test_an_aborted_transaction_holds_nothing_and_a_committed_one_all(log: PartitionLog) -> None:
    put(log, [at(1)], **in_transaction(7, 0))
    put(log, [at(2)], **in_transaction(8, 0))
    put(log, [at(3)], **in_transaction(7, 1))
    schedule = folded(log)
    assert entries(schedule) == []
    assert len(schedule) == 3
    put_end(log, 7, commit=True)
    put_end(log, 8, commit=False)
    schedule = folded(log)
    assert entries(schedule) == [Entry(0, 1, 0), Entry(2, 3, 2)]
    assert len(schedule) == 2


def test_what_is_deleted_from_the_log_is_held_no_more(log: PartitionLog) -> None:
    put(log, [at(1), at(2), at(3)])
    schedule = folded(log)
    log.advance_start(2)
    carried_out(catch_up(schedule, log, log.end_offset))
    assert entries(schedule) == [Entry(2, 3, 2)]
    assert entries(folded(log)) == [Entry(2, 3, 2)]


def test_a_log_that_was_cut_is_gone_through_again(log: PartitionLog) -> None:
    """Only an unclean election cuts off what was committed."""
    put(log, [at(1)])
    put(log, [at(2)])
    schedule = folded(log)
    log.truncate_to(1)
    put(log, [at(3)], epoch=1)
    put(log, [at(4)], epoch=1)
    carried_out(catch_up(schedule, log, log.end_offset))
    assert entries(schedule) == [Entry(0, 1, 0), Entry(1, 3, 1), Entry(2, 4, 2)]


def test_large_batches_are_looked_into_off_the_loop(
    log: PartitionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folding, "HEAVY_RECORDS", 2)
    put(log, [at(n) for n in range(5)], codec=Codec.LZ4)
    schedule = Schedule()
    schedule.begin(0)
    waits = [type(wait).__name__ for wait in _waits(catch_up(schedule, log, log.end_offset))]
    assert waits[0] == "Apart"
    assert len(schedule.pending) == 5


def _waits(steps: object) -> list[object]:
    found = []
    for wait in steps:  # type: ignore[attr-defined]
        found.append(wait)
        if hasattr(wait, "work"):
            wait.work()
    return found


class Model:
    """What a schedule must be, in the plainest way."""

    def __init__(self, log: PartitionLog, seed: int) -> None:
        self.log = log
        self.chance = random.Random(seed)
        self.held: dict[int, Entry] = {}
        self.open: dict[int, list[Entry]] = {}
        self.sequences: dict[int, int] = {}

    def step(self) -> None:
        self.chance.choice(
            [
                self.put,
                self.put,
                self.put_repeating,
                self.put_within,
                self.end,
                self.take_out,
                self.repeat,
                self.carry,
            ]
        )()

    def put(self) -> None:
        dues = [self.chance.choice([None, *range(5)]) for _ in range(self.chance.randint(1, 6))]
        codec = self.chance.choice([Codec.NONE, Codec.GZIP])
        base = put(self.log, [() if due is None else at(due) for due in dues], codec=codec)
        for n, due in enumerate(dues):
            if due is not None:
                self.held[base + n] = Entry(base + n, due, base + n)

    def put_repeating(self) -> None:
        base = put(self.log, [every(b"* * * * *"), ()])
        self.held[base] = Entry(base, NEXT_MINUTE, base)

    def repeat(self) -> None:
        some, next_ms = self.some(), self.chance.randint(0, 9)
        if some:
            put_copies(self.log, some, still_held=False, next_ms=next_ms)
        for entry in some:
            self.held[entry.id] = entry._replace(due_ms=next_ms)

    def put_within(self) -> None:
        producer = self.chance.randint(1, 3)
        sequence = self.sequences.get(producer, 0)
        base = put(self.log, [at(sequence)], **in_transaction(producer, sequence))
        self.sequences[producer] = sequence + 1
        self.open.setdefault(producer, []).append(Entry(base, sequence, base))

    def end(self) -> None:
        if self.open:
            producer = self.chance.choice(sorted(self.open))
            commit = self.chance.random() < 0.5
            put_end(self.log, producer, commit=commit)
            for entry in self.open.pop(producer):
                if commit:
                    self.held[entry.id] = entry

    def take_out(self) -> None:
        some = self.some()
        if some and self.chance.random() < 0.5:
            put_copies(self.log, some, still_held=False)
        elif some:
            put(self.log, [cancel(entry.id) for entry in some])
        for entry in some:
            del self.held[entry.id]

    def carry(self) -> None:
        some = self.some()
        if some:
            base = put_copies(self.log, some, still_held=True)
            for n, entry in enumerate(some):
                self.held[entry.id] = entry._replace(place=base + n)

    def some(self) -> list[Entry]:
        count = min(len(self.held), self.chance.randint(1, 3))
        return self.chance.sample(sorted(self.held.values()), count)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 1 << 30))
def test_a_log_folds_to_what_was_done_wherever_it_is_taken_up(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    log = new_log(tmp_path_factory.mktemp("log"))
    model = Model(log, seed)
    schedule = Schedule()
    schedule.begin(0)
    for _ in range(40):
        model.step()
        if model.chance.random() < 0.3:
            carried_out(catch_up(schedule, log, log.end_offset))
            assert entries(schedule) == sorted(model.held.values())
        if model.chance.random() < 0.2:
            data = carried_out(stored.encode(schedule, log.topic_id))
            schedule = carried_out(stored.decode(data, log.topic_id))
    carried_out(catch_up(schedule, log, log.end_offset))
    assert entries(schedule) == entries(folded(log)) == sorted(model.held.values())
    assert len(schedule) == len(model.held) + sum(map(len, model.open.values()))


def large(count: int) -> Schedule:
    schedule = Schedule()
    schedule.begin(0)
    for number in range(count):
        schedule.pending.put(Entry(number, number * 7919 % 10_007, number))
    return schedule


def test_what_is_deleted_is_looked_for_and_let_go_a_few_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schedule, blocks = large(20_000), 0

    def least(places: Any) -> int:
        nonlocal blocks
        blocks += 1
        found: int = min(places)
        return found

    monkeypatch.setattr(schedules, "min", least, raising=False)
    before, most, looked_at = len(schedule), 0, list[int]()
    for _ in schedule.let_go(15_000):
        before, most = len(schedule), max(most, before - len(schedule))
        looked_at.append(blocks)
        blocks = 0
    assert most <= schedules.ENTRIES_A_STEP
    assert max(looked_at) == 1 < sum(looked_at)
    assert [each.id for each in entries(schedule)] == list(range(15_000, 20_000))
    assert schedule.pending.next_ms == min(each.due_ms for each in entries(schedule))


def test_who_was_stopped_while_letting_go_leaves_the_rest_to_the_next(log: PartitionLog) -> None:
    put(log, [at(1)] * 10_000)
    schedule = folded(log)
    log.advance_start(9_000)
    steps = catch_up(schedule, log, log.end_offset)
    for _ in range(5):
        next(steps)
    steps.close()
    assert 1_000 < len(schedule) < 10_000
    carried_out(catch_up(schedule, log, log.end_offset))
    assert schedule.lowest_place() == 9_000
    assert len(schedule) == 1_000


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1 << 30))
def test_two_who_fold_at_once_come_to_the_same(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    log = new_log(tmp_path_factory.mktemp("log"))
    model = Model(log, seed)
    for _ in range(30):
        model.step()
    schedule = Schedule()
    schedule.begin(0)
    under_way = [catch_up(schedule, log, log.end_offset) for _ in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folding, "HEAVY_RECORDS", 1)
        patch.setattr(schedules, "ENTRIES_A_STEP", 2)
        patch.setattr(folding, "CHUNK_BYTES", 300)
        while under_way:
            steps = model.chance.choice(under_way)
            wait = next(steps, "over")
            if wait == "over":
                under_way.remove(steps)
            elif wait is not None:
                wait.work()  # type: ignore[union-attr]
    assert entries(schedule) == sorted(model.held.values())


def test_a_file_that_is_damaged_or_of_another_release_is_not_believed(log: PartitionLog) -> None:
    put(log, [at(1), at(2)])
    data = carried_out(stored.encode(folded(log), log.topic_id))
    assert entries(carried_out(stored.decode(data, log.topic_id))) == [
        Entry(0, 1, 0),
        Entry(1, 2, 1),
    ]
    others = [_with_version(data, 1), _with_version(data, 3)]
    for wrong in (b"", data[:-1], data + b"x", bytes(len(data)), *others):
        with pytest.raises(stored.Unreadable):
            carried_out(stored.decode(wrong, log.topic_id))


def _with_version(data: bytes, version: int) -> bytes:
    changed = data[4:]
    changed = version.to_bytes(2, "big") + changed[2:]
    return crc32c(changed).to_bytes(4, "big") + changed
