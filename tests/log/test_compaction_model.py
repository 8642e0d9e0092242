"""Random keyed appends, passes and restarts, held against a dict of last values."""

from __future__ import annotations

import shutil
import tempfile

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.log.compacting import CONFIG, Pair, compact, every_record, latest, write
from tests.log.making import NOW_MS, TOPIC_ID, opened, put_marker, settle

from penstock.log.aborted_index import AbortedTxn
from penstock.log.key_map import BYTES_A_KEY
from penstock.log.partition_log import PartitionLog
from penstock.wire.compression import Codec
from penstock.wire.records import Record
from penstock.world.real_disk import RealDisk

RETENTION_MS = CONFIG.delete_retention_ms

keys = st.one_of(st.sampled_from([b"", b"a", b"b", b"c", b"d" * 60]), st.binary(max_size=1))
values = st.one_of(st.none(), st.binary(max_size=3), st.just(b"x" * 200))
pairs = st.lists(st.tuples(keys, values), min_size=1, max_size=6)


class CompactionMachine(RuleBasedStateMachine):
    """The model: every record ever written that was not aborted, by offset."""

    @initialize()
    def begin(self) -> None:
        self.root = tempfile.mkdtemp(prefix="compaction-model-")
        self.disk = RealDisk()
        self.folder = f"{self.root}/orders-0"
        self.log = PartitionLog(self.disk, self.folder, TOPIC_ID, CONFIG)
        self.written: dict[int, Pair] = {}
        self.now_ms = NOW_MS
        self.sequence = {1: 0, 2: 0}
        self.last_batch: tuple[int, list[Pair]] | None = None
        self.in_transaction: list[tuple[int, Pair]] = []

    def put(self, content: list[Pair], codec: Codec, producer_id: int = -1) -> int:
        producer = {}
        if producer_id >= 0:
            producer = {"producer_id": producer_id, "producer_epoch": 0}
            producer["base_sequence"] = self.sequence[producer_id]
            self.sequence[producer_id] += len(content)
        end = self.log.end_offset
        transactional = producer_id == 2
        done = write(self.log, *content, codec=codec, transactional=transactional, **producer)
        assert done.base_offset == end
        return end

    @rule(content=pairs, codec=st.sampled_from(Codec), count=st.integers(1, 4))
    def append(self, content: list[Pair], codec: Codec, count: int) -> None:
        for _ in range(count):
            base = self.put(content, codec)
            self.written |= {base + number: pair for number, pair in enumerate(content)}

    @rule(content=pairs)
    def append_as_a_producer(self, content: list[Pair]) -> None:
        base = self.put(content, Codec.NONE, 1)
        self.written |= {base + number: pair for number, pair in enumerate(content)}
        self.last_batch = base, content

    @rule()
    def repeat_the_producers_last_batch(self) -> None:
        if self.last_batch is not None:
            base, content = self.last_batch
            sequence = self.sequence[1] - len(content)
            more = {"producer_id": 1, "producer_epoch": 0, "base_sequence": sequence}
            done = write(self.log, *content, **more)
            assert done.duplicate
            assert done.base_offset == base

    @rule(content=pairs)
    def append_in_a_transaction(self, content: list[Pair]) -> None:
        base = self.put(content, Codec.NONE, 2)
        self.in_transaction += [(base + number, pair) for number, pair in enumerate(content)]

    @rule(commit=st.booleans())
    def end_the_transaction(self, commit: bool) -> None:
        if self.in_transaction:
            put_marker(self.log, 2, commit=commit)
            if commit:
                self.written |= dict(self.in_transaction)
            self.in_transaction = []

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule(
        memory=st.sampled_from([1, 3, 1000]),
        later_ms=st.sampled_from([0, 1000, RETENTION_MS]),
        rolled=st.booleans(),
    )
    def compact(self, memory: int, later_ms: int, rolled: bool) -> None:
        if rolled:
            self.log.roll()
        self.now_ms += later_ms
        end = self.log.end_offset
        compact(self.log, now_ms=self.now_ms, map_bytes=memory * BYTES_A_KEY)
        assert self.log.end_offset == end
        self.check_that_what_was_compacted_has_each_key_once()

    def check_that_what_was_compacted_has_each_key_once(self) -> None:
        cleaned = [record.key for record in self.records() if record.offset < self.log.cleaned_to]
        assert len(cleaned) == len(set(cleaned))

    @rule(lost_snapshots=st.booleans())
    def crash_and_recover(self, lost_snapshots: bool) -> None:
        settle(self.log)
        if lost_snapshots:
            for name in self.disk.list(self.folder):
                if name.endswith(".snapshot"):
                    self.disk.remove(f"{self.folder}/{name}")
        cleaned_to, end = self.log.cleaned_to, self.log.end_offset
        self.log = opened(self.disk, self.folder, CONFIG, self.log.synced_end)
        self.log.cleaned_to = cleaned_to
        assert self.log.end_offset == end

    def records(self) -> list[Record]:
        """Those that count: nothing aborted, nothing undecided."""
        open_offsets = {offset for offset, _ in self.in_transaction}
        aborted = self.log.aborted_between(0, self.log.end_offset)
        return [
            record
            for record in every_record(self.log)
            if record.offset not in open_offsets and not self.is_aborted(record.offset, aborted)
        ]

    def is_aborted(self, offset: int, aborted: list[AbortedTxn]) -> bool:
        return offset not in self.written and any(
            each.first_offset <= offset <= each.last_offset for each in aborted
        )

    @invariant()
    def a_reader_from_the_beginning_ends_up_with_the_last_values(self) -> None:
        found = self.records()
        for record in found:
            assert self.written[record.offset] == (record.key, record.value)
        state: dict[bytes | None, bytes] = {}
        for _, (key, value) in sorted(self.written.items()):
            state.pop(key, None)
            if value is not None:
                state[key] = value
        assert latest(found) == state

    def teardown(self) -> None:
        if hasattr(self, "disk"):
            self.disk.close()
            shutil.rmtree(self.root)


TestCompactionMachine = CompactionMachine.TestCase
TestCompactionMachine.settings = settings(max_examples=60, stateful_step_count=25)
