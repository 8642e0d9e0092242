"""One pass of compaction over one log, in steps small enough to run beside everything else.

A pass is a generator. What happens between its steps is short, and belongs on the loop: it touches
the log and its files. What it yields is to be waited for: reads of what is not in memory, syncs,
and the heavy part, decompressing and sifting, which works on bytes alone and runs off the loop.

Only segments that are never written to again are read. Whatever else may happen to the log in the
meantime (retention, DeleteRecords, truncation, deletion) is noticed before anything is replaced,
and the pass is given up then.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import partial

from penstock.errors import Malformed, Refused
from penstock.log import compaction_plan, notes, swapping
from penstock.log.cleaning import KeyReader, LastWords, Sieve
from penstock.log.compaction_plan import Dirt, Stretch
from penstock.log.key_map import KeyMap
from penstock.log.partition_log import PartitionLog
from penstock.log.segment import Segment
from penstock.log.steps import Sync, Wait
from penstock.wire.batch import HEADER_SIZE, LENGTH_OVERHEAD, NO_TIMESTAMP, size_at
from penstock.world.ports import Buffer, Cold

CHUNK_BYTES = 64 << 10
"""Sifted at a time: a few milliseconds, or one batch if that is larger."""
WARM_BYTES = 4 << 20
SYNC_BYTES = 32 << 20
"""Written at a time without a sync: more would make the kernel hold up whoever writes next."""
WARM_TRIES = 3


class Overtaken(Exception):
    """The log was changed meanwhile: what the pass has found out no longer holds."""


class Uncleanable(Exception):
    """The log has something in it that cannot be read, so it is left as it is."""


class Compaction:
    def __init__(self, log: PartitionLog, dirt: Dirt, now_ms: int, map_bytes: int) -> None:
        self._log = log
        self._dirt = dirt
        self._now_ms = now_ms
        self._keys = KeyMap(map_bytes)
        self._following = log.segments[log.segment_of(dirt.cleanable.end)]
        self.dropped_paths: list[str] = []
        """Of segments that were replaced; to be removed and closed once nobody reads them."""
        self.bytes_before = 0
        self.bytes_after = 0

    def run(self) -> Generator[Wait, None, None]:
        """Raises Overtaken or Uncleanable; what was replaced until then stays replaced."""
        log, end = self._log, self._dirt.cleanable.end
        self._following.file.append([])  # its name says how far what is compacted goes
        yield from self._note()
        yield from log.write_held_snapshot()  # others are removed
        yield from self._read_keys()
        config, keys, last_words = log.config, self._keys, LastWords()
        log.write_out()
        yield partial(last_words.learn, log.producers.settled())
        self._check(self._dirt.cleanable)
        sieve = Sieve(keys, last_words, self._now_ms, config)
        segments = [segment for segment in self._dirt.cleanable.segments if segment.base < keys.end]
        if len(segments) < len(self._dirt.cleanable.segments):
            end = self._dirt.cleanable.segments[len(segments)].base
        for group in compaction_plan.groups(segments, end, config):
            if group.size:
                yield from self._replace(group, sieve)
        log.cleaned_to = keys.end

    def _note(self) -> Iterator[Wait]:
        """For good, that the log may have gaps, whatever its policy is by the next start: they must
        never look like lost records."""
        log = self._log
        if not log.is_compacted:
            file = notes.write_compacted(log)
            try:
                yield Sync([file], [log.folder])
            finally:
                file.close()
            self._check(self._dirt.cleanable)
            log.is_compacted = True

    # Learning the keys

    def _read_keys(self) -> Iterator[Wait]:
        """Of as much of what is dirty as there is memory for; at least one batch."""
        dirt, keys = self._dirt, self._keys
        reader = KeyReader(keys, dirt.first_dirty)
        for segment, end in _with_ends(dirt.cleanable):
            if end <= dirt.first_dirty:
                continue
            reader.transactions.expect(self._log.aborted_between(segment.base, end))
            chunks = Chunks(segment)
            while not chunks.is_done:
                chunk = yield from chunks.next()
                yield _guarded(partial(reader.take, chunk), segment)
                self._check(dirt.cleanable)
                if keys.is_full:
                    return
        keys.end = dirt.cleanable.end

    # Replacing a group of segments by one

    def _replace(self, group: Stretch, sieve: Sieve) -> Iterator[Wait]:
        self._check(group)
        sieve.transactions.expect(self._log.aborted_between(group.base, group.end))
        target = swapping.begin(self._log, group.base)
        try:
            yield from self._write(group, sieve, target)
            yield Sync(swapping.complete(target), ())
            self._check(group)
            swapping.decide(self._log, target, group.end)
            yield Sync((), [self._log.folder])
            self._check(group)
            self.dropped_paths += swapping.finish(self._log, group, target)
        except BaseException:
            with suppress(OSError):  # the next pass sees to it
                swapping.discard(self._log, target)
            raise
        self.bytes_before += group.size
        self.bytes_after += target.size

    def _write(self, group: Stretch, sieve: Sieve, target: Segment) -> Iterator[Wait]:
        last = [segment for segment in group.segments if segment.size][-1]
        log, unsynced = self._log, 0
        for segment in group.segments:
            chunks = Chunks(segment)
            while not chunks.is_done:
                chunk = yield from chunks.next()
                is_end = group.end == log.end_offset and segment is last and chunks.is_done
                stays: list[Buffer] = []
                yield _guarded(partial(sieve.take, chunk, target, stays, is_end=is_end), segment)
                self._check(group)
                target.file.append(stays)
                unsynced += sum(map(len, stays))
                if unsynced > SYNC_BYTES:
                    unsynced = 0
                    yield Sync([target.file], ())
        if target.size and target.max_timestamp == NO_TIMESTAMP:  # empty batches age too
            target.max_timestamp = max(each.largest_timestamp() for each in group.segments)

    def _check(self, stretch: Stretch) -> None:
        """The segment after the cleanable ones is still there, so no truncation reached them."""
        segments = self._log.segments
        if self._log.is_deleted or self._following not in segments:
            raise Overtaken(self._log.folder)
        first = self._log.segment_of(stretch.base)
        if segments[first : first + len(stretch.segments)] != stretch.segments:
            raise Overtaken(self._log.folder)


class Chunks:
    """A segment in pieces of whole batches."""

    __slots__ = ("_file", "_position", "_size")

    def __init__(self, segment: Segment) -> None:
        self._file = segment.file
        self._size = segment.size
        self._position = 0

    @property
    def is_done(self) -> bool:
        return self._position >= self._size

    def next(self) -> Generator[Wait, None, memoryview]:
        data = yield from self._read(min(CHUNK_BYTES, self._size - self._position))
        if len(data) >= LENGTH_OVERHEAD and len(data) < size_at(data) <= self._size:
            data = yield from self._read(size_at(data))
        end = _end_of_batches(data)
        if not end:
            raise Uncleanable(f"{self._file.path} has no batch at byte {self._position}")
        self._position += end
        return memoryview(data)[:end]

    def _read(self, length: int) -> Generator[Wait, None, bytes]:
        for _ in range(WARM_TRIES):
            try:
                return self._file.read_cached(self._position, length)
            except Cold:
                ahead = min(max(length, WARM_BYTES), self._size - self._position)
                yield Cold(self._file, self._position, ahead)
        return self._file.read(self._position, length)


def _end_of_batches(data: bytes) -> int:
    """Where the last batch that is all there ends."""
    position = 0
    while position + LENGTH_OVERHEAD <= len(data):
        size = size_at(data, position)
        if size < HEADER_SIZE or position + size > len(data):
            break
        position += size
    return position


def _with_ends(stretch: Stretch) -> Iterator[tuple[Segment, int]]:
    ends = [segment.base for segment in stretch.segments[1:]] + [stretch.end]
    return zip(stretch.segments, ends, strict=True)


def _guarded(work: Callable[[], None], segment: Segment) -> Callable[[], None]:
    def run() -> None:
        try:
            work()
        except (Malformed, OverflowError) as problem:
            raise Uncleanable(f"{segment.file.path}: {problem}") from problem
        except Refused as problem:
            raise Uncleanable(f"{segment.file.path}: {problem.message}") from problem

    return run
