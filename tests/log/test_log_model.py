"""Random appends, rolls, reads, truncations and restarts, held against a plain list."""

from __future__ import annotations

import shutil
import tempfile

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.log.making import NOW_MS, TOPIC_ID, a_batch, all_values, batches_at, opened, settle

from penstock.config import TopicConfig
from penstock.log.partition_log import PartitionLog
from penstock.wire import batch as batches
from penstock.world.real_disk import RealDisk

CONFIG = TopicConfig(segment_bytes=1024, index_interval_bytes=200)


class LogMachine(RuleBasedStateMachine):
    """The model: a list of batches, each (base offset, values), and a start offset."""

    @initialize()
    def begin(self) -> None:
        self.root = tempfile.mkdtemp(prefix="log-model-")
        self.disk = RealDisk()
        self.folder = f"{self.root}/orders-0"
        self.log = PartitionLog(self.disk, self.folder, TOPIC_ID, CONFIG)
        self.batches: list[tuple[int, list[bytes]]] = []
        self.start = 0
        self.synced = 0

    @property
    def end(self) -> int:
        return self.batches[-1][0] + len(self.batches[-1][1]) if self.batches else self.start

    @rule(
        sizes=st.lists(st.integers(0, 150), min_size=1, max_size=4),
        count=st.integers(1, 4),
        epoch_step=st.sampled_from([0, 0, 0, 1]),
    )
    def append(self, sizes: list[int], count: int, epoch_step: int) -> None:
        epoch = max(self.log.latest_epoch, 0) + epoch_step
        for _ in range(count):
            values = [bytes([65 + size % 26]) * size for size in sizes]
            batch = a_batch(*values)
            base = self.end
            done = self.log.append(batch, batches.read_header(batch), NOW_MS, epoch)
            assert done.base_offset == base
            self.batches.append((base, values))

    @rule()
    def write_out(self) -> None:
        self.log.write_out()

    @rule()
    def sync(self) -> None:
        settle(self.log)
        assert self.log.synced_end == self.end
        self.synced = self.end

    @precondition(lambda self: bool(self.batches))
    @rule(data=st.data(), max_bytes=st.integers(1, 3000))
    def read(self, data: st.DataObject, max_bytes: int) -> None:
        offset = data.draw(st.integers(self.log.start_offset, self.end))
        before = data.draw(st.integers(offset, self.end))
        found = [batches.read_header(b) for b in batches_at(self.log, offset, max_bytes, before)]
        wanted = [
            base
            for base, values in self.batches
            if base + len(values) > offset and base + len(values) <= before
        ]
        got = [header.base_offset for header in found]
        assert got == wanted[: len(got)]
        assert bool(got) == bool(wanted)
        assert len(got) <= 1 or sum(header.size for header in found) <= max_bytes

    @precondition(lambda self: bool(self.batches))
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.log.start_offset, self.end))
        first_kept = self.log.segments[0].base
        self.log.truncate_to(offset)
        while self.batches and self.end > offset:
            self.batches.pop()
        if not self.batches:
            self.start = first_kept
        self.synced = min(self.synced, self.end)

    @precondition(lambda self: bool(self.batches))
    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.log.start_offset, self.end))
        self.log.advance_start(offset)
        base = self.log.segments[0].base
        self.batches = [each for each in self.batches if each[0] >= base]
        self.start = base

    @rule()
    def crash_and_recover(self) -> None:
        self.log.write_out()
        start = self.log.start_offset
        self.log = opened(self.disk, self.folder, CONFIG, self.synced)
        self.log.start_offset = max(self.log.start_offset, start)
        assert not self.log.damage

    @rule()
    def stop_and_start(self) -> None:
        self.log.close()
        old = self.log
        settle(old)
        self.synced = self.end
        self.log = PartitionLog(self.disk, self.folder, TOPIC_ID, CONFIG)
        self.log.start_offset, self.log.end_offset = old.start_offset, old.end_offset
        self.log.written_end = self.log.synced_end = self.log.recovery_point = old.end_offset
        self.log.open()
        assert not self.log.damage

    @invariant()
    def same_content(self) -> None:
        if not hasattr(self, "log"):
            return
        assert self.log.end_offset == self.end
        wanted = [
            (base + number, value)
            for base, values in self.batches
            for number, value in enumerate(values)
            if base + number >= self.log.start_offset
        ]
        assert all_values(self.log) == wanted

    def teardown(self) -> None:
        if hasattr(self, "root"):
            self.disk.close()
            shutil.rmtree(self.root)


TestLog = LogMachine.TestCase
TestLog.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
