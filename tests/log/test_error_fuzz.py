"""A disk of which any call may fail, at any time: a model of what was acknowledged still holds.

Clients send a batch again until it is acknowledged. Whatever failed in between, each is in the log
once, and a stop, clean or not, loses none of them. A failure names the seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.log.compacting import compact
from tests.log.failing import FailingDisk, nothing
from tests.log.making import NOW_MS, TOPIC_ID, a_folder, all_values, settle
from tests.log.timing import drop_expired

from penstock.config import TopicConfig
from penstock.errors import ErrorCode, Refused
from penstock.log.compaction import Overtaken, Uncleanable
from penstock.log.log_dir import LogDir
from penstock.wire import batch as batches
from penstock.wire.batch_builder import build_batch
from penstock.wire.records import Record

FAILURE_RATE = 0.03
LIVES, STEPS, TRIES = 3, 100, 60
PRODUCERS = (5, 6)


@contextmanager
def refusals_for_now() -> Iterator[None]:
    """What a log says that cannot cut off what a failed write has left."""
    try:
        yield
    except Refused as refused:
        if refused.code is not ErrorCode.KAFKA_STORAGE_ERROR:
            raise


class Model:
    def __init__(self, seed: int, path: Path, policy: tuple[str, ...]) -> None:
        self.chance = random.Random(seed)
        self.path = path
        self.config = TopicConfig(
            segment_bytes=1200,
            index_interval_bytes=self.chance.choice([0, 200]),
            cleanup_policy=policy,
            delete_retention_ms=0,
            retention_ms=self.chance.choice([5_000, 50_000]),
        )
        self.now_ms = NOW_MS
        self.sent: dict[int, tuple[bytes | None, bytes | None]] = {}
        self.sequences = dict.fromkeys(PRODUCERS, 0)
        self.start = 0

    def live(self, epoch: int) -> None:
        """One start, some work, one stop."""
        self.epoch, self.disk = epoch, FailingDisk()
        folder = a_folder(self.disk, self.path)
        self.log = folder.log_for("orders", 0, TOPIC_ID, self.config)
        for _ in folder.recover_all():
            pass
        self.log.open()
        self.check()
        for _ in range(STEPS):
            self.now_ms += self.chance.randrange(300)
            self.disk.fails = lambda _verb, _path: self.chance.random() < FAILURE_RATE
            self.step(folder)
            self.disk.fails = nothing
        self.check()
        self.stop(folder)

    def step(self, folder: LogDir) -> None:
        work = self.chance.choices([self.send, self.sync, self.drop, self.compact], [70, 10, 6, 6])
        try:
            work[0]()
            if self.chance.random() < 0.05:
                folder.checkpoint()
        except OSError:
            self.disk.fails = nothing
            self.check()

    def send(self) -> None:
        producer_id, size = self.chance.choice(PRODUCERS), self.chance.randrange(1, 4)
        records = [
            Record(
                number, self.now_ms, b"k%d" % self.chance.randrange(6), self.chance.randbytes(40)
            )
            for number in range(size)
        ]
        base = self.acknowledged(producer_id, records)
        self.sequences[producer_id] += size
        for record in records:
            assert base + record.offset not in self.sent
            self.sent[base + record.offset] = record.key, record.value

    def acknowledged(self, producer_id: int, records: list[Record]) -> int:
        """The offset that the last of many tries was answered with."""
        sequence = self.sequences[producer_id]
        for _ in range(TRIES):
            batch = build_batch(
                records, producer_id=producer_id, producer_epoch=0, base_sequence=sequence
            )
            header = batches.read_header(batch)
            with suppress(OSError), refusals_for_now():
                done = self.log.append(batch, header, self.now_ms, self.epoch)
                self.log.write_out()
                return done.base_offset
        raise AssertionError("the log takes nothing any more")

    def sync(self) -> None:
        settle(self.log)

    def drop(self) -> None:
        log = self.log
        if self.config.deletes:
            self.remove(drop_expired(log, self.now_ms, log.synced_end))
        if not self.config.compacts and log.synced_end > log.start_offset:
            offset = self.chance.randrange(log.start_offset, log.synced_end + 1)
            self.remove(log.advance_start(offset))

    def compact(self) -> None:
        if not self.config.compacts:
            return
        try:
            done = compact(self.log, now_ms=self.now_ms, stable=self.log.synced_end)
        except (Overtaken, Uncleanable):
            return
        self.remove(done.dropped_paths if done else [])

    def remove(self, paths: list[str]) -> None:
        for path in paths:
            Path(path).unlink(missing_ok=True)

    def check(self) -> None:
        log = self.log
        self.start = max(self.start, log.start_offset)
        found = dict(all_values(log))
        assert log.end_offset == max(self.sent, default=-1) + 1
        assert not log.damage
        assert {offset: self.sent[offset][1] for offset in found} == found
        assert self.wanted() <= set(found)
        for producer_id, producer in log.producers.producers.items():
            assert producer.last_sequence + 1 == self.sequences[producer_id]

    def wanted(self) -> set[int]:
        """Offsets that must be there: all, or the last of each key."""
        kept = set(self.sent)
        if self.config.compacts:
            kept = set({key: offset for offset, (key, _) in sorted(self.sent.items())}.values())
        return {offset for offset in kept if offset >= self.start}

    def stop(self, folder: LogDir) -> None:
        if self.chance.random() < 0.5:
            folder.close()
        else:
            settle(self.log)
            folder.abandon()
        self.disk.close()


@pytest.mark.parametrize("policy", [("delete",), ("compact",), ("compact", "delete")])
@pytest.mark.parametrize("seed", range(8))
def test_what_was_acknowledged_is_there_once_whatever_failed(
    tmp_path: Path, seed: int, policy: tuple[str, ...]
) -> None:
    model = Model(seed, tmp_path / "data", policy)
    for epoch in range(LIVES):
        model.live(epoch)
