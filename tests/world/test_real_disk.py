"""The real disk, on a folder of its own."""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from penstock.errors import Unusable
from penstock.world import linux, real_disk, real_file
from penstock.world.ports import Cold
from penstock.world.real_disk import RealDisk
from penstock.world.real_file import CACHED_PIECE_MAX


@pytest.fixture
async def disk() -> AsyncIterator[RealDisk]:
    disk = RealDisk(max_open_files=4)
    yield disk
    disk.close()


async def test_a_file_is_made_by_the_first_append(disk: RealDisk, tmp_path: Path) -> None:
    file = disk.open(str(tmp_path / "a"))
    assert file.size == 0
    assert not (tmp_path / "a").exists()
    file.append([b"one", bytearray(b"two"), memoryview(b"three")])
    assert (file.size, file.read(3, 100)) == (11, b"twothree")
    assert file.read(11, 5) == b""
    again = disk.open(str(tmp_path / "a"))
    again.append([b"!"])
    assert (tmp_path / "a").read_bytes() == b"onetwothree!"


async def test_more_parts_than_one_call_takes_are_written(disk: RealDisk, tmp_path: Path) -> None:
    file = disk.open(str(tmp_path / "a"))
    parts = [b"%05d" % number for number in range(3000)]
    file.append(parts)
    assert (tmp_path / "a").read_bytes() == b"".join(parts)


async def test_short_writes_are_completed(
    disk: RealDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, writev = os.pwrite, os.pwritev

    def stingy(descriptor: int, parts: Sequence[bytes], position: int) -> int:
        return writev(descriptor, [b"".join(parts)[:7]], position)

    monkeypatch.setattr(os, "pwritev", stingy)
    monkeypatch.setattr(os, "pwrite", lambda d, data, at: write(d, bytes(data)[:3], at))
    file = disk.open(str(tmp_path / "a"))
    file.append([b"abcdefgh", b"ijklmnop"])
    assert (file.size, (tmp_path / "a").read_bytes()) == (16, b"abcdefghijklmnop")


async def test_a_failed_append_leaves_the_former_size(
    disk: RealDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = disk.open(str(tmp_path / "a"))
    file.append([b"kept"])
    writev = os.pwritev

    def half(descriptor: int, parts: Sequence[bytes], position: int) -> int:
        writev(descriptor, [b"ha"], position)
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "pwritev", half)
    with pytest.raises(OSError, match="full"):
        file.append([b"lost"])
    assert (file.size, (tmp_path / "a").read_bytes()) == (4, b"kept")


async def test_what_a_failed_append_has_left_is_there_if_it_cannot_be_cut_off(
    disk: RealDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = disk.open(str(tmp_path / "a"))
    file.append([b"kept"])
    write = os.pwritev

    def half(descriptor: int, parts: Sequence[bytes], position: int) -> int:
        write(descriptor, [b"ha"], position)
        raise OSError(errno.EIO, "broken")

    def refuse(descriptor: int, size: int) -> None:
        raise OSError(errno.EIO, "cannot cut")

    with monkeypatch.context() as broken:
        broken.setattr(os, "pwritev", half)
        broken.setattr(os, "ftruncate", refuse)
        with pytest.raises(OSError, match="cannot cut"):
            file.append([b"lost"])
    assert file.size == 6
    file.truncate(4)
    file.append([b"!"])
    assert (tmp_path / "a").read_bytes() == b"kept!"


async def test_large_work_is_done_one_at_a_time(disk: RealDisk) -> None:
    under_way: list[int] = []
    most: list[int] = []

    def work(number: int) -> int:
        under_way.append(number)
        most.append(len(under_way))
        time.sleep(0.001)  # for others, if there are any
        under_way.remove(number)
        return number

    jobs = [disk.offload_large(partial(work, number)) for number in range(20)]
    assert await asyncio.gather(*jobs) == list(range(20))
    assert max(most) == 1


async def test_few_files_are_open_and_the_others_open_again_when_used(
    disk: RealDisk, tmp_path: Path
) -> None:
    files = [disk.open(str(tmp_path / str(number))) for number in range(20)]
    for number, file in enumerate(files[:7]):
        file.append([b"%d" % number])
    assert len(disk._open) == 7, "unsynced files stay open"
    for number, file in enumerate(files[7:], 7):
        file.append([b"%d" % number])
    assert len(disk._open) < 15, "unless there are far too many"
    await disk.sync_all(files, [str(tmp_path)])
    for number, file in enumerate(files):
        assert file.read(0, 9) == b"%d" % number
    for number in range(20, 60):
        other = disk.open(str(tmp_path / str(number)))
        other.append([b"x"])
        other.sync()
    assert len(disk._open) <= 5
    for file in files:
        file.close()
    assert files[7].read(0, 9) == b"7"


async def test_a_pinned_file_stays_open(disk: RealDisk, tmp_path: Path) -> None:
    file = disk.open(str(tmp_path / "pinned"))
    file.append([b"x"])
    file.sync()
    with file.pinned() as descriptor:
        for number in range(30):
            other = disk.open(str(tmp_path / str(number)))
            other.append([b"y"])
            other.sync()
        assert os.pread(descriptor, 1, 0) == b"x"
    assert len(disk._open) <= 5


async def test_what_was_just_written_is_cached(disk: RealDisk, tmp_path: Path) -> None:
    file = disk.open(str(tmp_path / "a"))
    file.append([b"x" * 20_000])
    assert file.is_cached(0, 20_000)
    assert file.is_cached(30_000, 5)
    assert file.read_cached(19_999, 50) == b"x"


async def test_what_is_not_cached_is_said_to_be_cold_and_can_be_warmed(
    disk: RealDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = disk.open(str(tmp_path / "a"))
    file.append([b"x" * 100_000])

    def not_here(*_: object) -> int:
        raise BlockingIOError

    with monkeypatch.context() as patch:
        patch.setattr(os, "preadv", not_here)
        assert not file.is_cached(0, 10)
        with pytest.raises(Cold) as cold:
            file.read_cached(5, 10)
        assert (cold.value.file, cold.value.position, cold.value.length) == (file, 5, 10)
    await disk.warm(file, 0, 100_000)
    assert file.read_cached(0, 3) == b"xxx"


async def test_a_file_system_that_cannot_tell_is_read_plainly(
    disk: RealDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = disk.open(str(tmp_path / "a"))
    file.append([b"abc"])
    plain = os.preadv

    def unsupported(descriptor: int, buffers: Sequence[bytearray], at: int, flags: int = 0) -> int:
        if flags:
            raise OSError(errno.EOPNOTSUPP, "not supported")
        return plain(descriptor, buffers, at)

    monkeypatch.setattr(os, "preadv", unsupported)
    assert file.read_cached(0, 3) == b"abc"


async def test_a_whole_file_is_replaced_in_one_step(disk: RealDisk, tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    disk.write_whole(path, b"old")
    disk.write_whole(path, b"new")
    assert disk.read_whole(path) == b"new"
    assert disk.list(str(tmp_path)) == ["a"]
    assert disk.list(str(tmp_path / "missing")) == ()


async def test_a_renamed_files_handle_follows(disk: RealDisk, tmp_path: Path) -> None:
    file = disk.open(str(tmp_path / "a"))
    file.append([b"x"])
    file.rename(str(tmp_path / "b"))
    file.close()
    assert (file.read(0, 1), file.path) == (b"x", str(tmp_path / "b"))


@pytest.mark.parametrize("is_renamed", [False, True])
async def test_another_file_of_the_same_name_is_not_taken_for_the_one_that_was_read(
    disk: RealDisk, tmp_path: Path, is_renamed: bool
) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    file = disk.open(str(path))
    file.append([b"mine"])
    file.close()
    path.unlink()  # with no handle on it: its inode may be given to the next file at once
    (other if is_renamed else path).write_bytes(b"theirs")
    if is_renamed:
        other.rename(path)
    for read in (file.read, file.read_cached):
        with pytest.raises(OSError, match="another file"):
            read(0, 4)
    with pytest.raises(OSError, match="another file"):
        file.fileno()
    assert path.read_bytes() == b"theirs"


async def test_a_lock_is_held_by_one(disk: RealDisk, tmp_path: Path) -> None:
    release = disk.lock(str(tmp_path / ".lock"))
    with pytest.raises(Unusable, match="in use by another broker"):
        disk.lock(str(tmp_path / ".lock"))
    release()
    disk.lock(str(tmp_path / ".lock"))()


@pytest.mark.parametrize("count", [1, 5, real_disk.SYNCFS_FROM_FILES + 5])
async def test_a_round_of_syncing_covers_files_and_folders(
    disk: RealDisk, tmp_path: Path, count: int
) -> None:
    files = [disk.open(str(tmp_path / str(number))) for number in range(count)]
    for file in files:
        file.append([b"x"])
    await disk.sync_all(files, [str(tmp_path)])
    assert not any(file.unsynced for file in files)


@pytest.mark.parametrize("count", [3, real_disk.SYNCFS_FROM_FILES + 5])
async def test_what_was_removed_meanwhile_needs_no_sync(
    disk: RealDisk, tmp_path: Path, count: int
) -> None:
    files = [disk.open(str(tmp_path / "gone" / str(number))) for number in range(count)]
    disk.make_folder(str(tmp_path / "gone"))
    for file in files:
        file.append([b"x"])
    files[0].close()
    disk.remove_folder(str(tmp_path / "gone"))
    await disk.sync_all(files, [str(tmp_path / "gone")])


async def test_what_is_removed_after_a_sync_of_many_files_gives_its_space_back(
    disk: RealDisk, tmp_path: Path
) -> None:
    disk.make_folder(str(tmp_path / "topic-0"))
    count = real_disk.SYNCFS_FROM_FILES + 5
    files = [disk.open(str(tmp_path / "topic-0" / str(number))) for number in range(count)]
    for file in files:
        file.append([b"x"])
    await disk.sync_all(files, [str(tmp_path / "topic-0")])
    for file in files:
        file.close()
    disk.remove_folder(str(tmp_path / "topic-0"))
    held = [os.readlink(entry) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    assert not [path for path in held if path.startswith(str(tmp_path))]


async def test_a_folder_that_may_not_be_read_does_not_keep_files_from_being_synced(
    disk: RealDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "closed" / "data"
    disk.make_folder(str(data / "topic-0"))
    monkeypatch.setattr(os, "access", lambda path, mode: path != str(tmp_path / "closed"))
    opened: list[str] = []
    really = os.open

    def noted(path: str, flags: int, mode: int = 0o777) -> int:
        opened.append(path)
        return really(path, flags, mode)

    monkeypatch.setattr(os, "open", noted)
    count = real_disk.SYNCFS_FROM_FILES
    files = [disk.open(str(data / "topic-0" / str(number))) for number in range(count)]
    for file in files:
        file.append([b"x"])
    await disk.sync_all(files, [])
    assert opened[-1] == str(data)


async def test_without_syncfs_each_file_is_synced(
    disk: RealDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(linux, "has_syncfs", lambda: False)
    monkeypatch.setattr(RealDisk, "_kernel_sync", lambda *_: None)
    monkeypatch.setattr(os, "fdatasync", synced.append)
    files = [disk.open(str(tmp_path / str(number))) for number in range(100)]
    for file in files:
        file.append([b"x"])
    await disk.sync_all(files, [])
    assert len(set(synced)) == 100


@pytest.mark.parametrize("count", [2, real_disk.SYNCFS_FROM_FILES + 5])
async def test_an_error_of_syncing_reaches_the_caller(
    disk: RealDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    def broken(*_: object) -> None:
        raise OSError(errno.EIO, "broken disk")

    monkeypatch.setattr(RealDisk, "_kernel_sync", lambda *_: None)
    monkeypatch.setattr(os, "fdatasync", broken)
    monkeypatch.setattr(linux, "syncfs", broken)
    files = [disk.open(str(tmp_path / str(number))) for number in range(count)]
    for file in files:
        file.append([b"x"])
    with pytest.raises(OSError, match="broken disk"):
        await disk.sync_all(files, [])


def test_room_is_found_beyond_the_end_and_given_back_with_what_is_cut_off(
    disk: RealDisk, tmp_path: Path
) -> None:
    file = disk.open(str(tmp_path / "a"))
    file.append([b"x" * 4096])
    file.reserve(1 << 20)
    assert file.size == os.stat(file.path).st_size == 4096
    assert os.stat(file.path).st_blocks * 512 >= 1 << 20
    file.append([b"y" * 4096])
    file.truncate(4096)
    assert os.stat(file.path).st_blocks * 512 < 1 << 20
    assert disk.read_whole(file.path) == b"x" * 4096


def test_no_room_is_taken_ahead_where_there_is_little(
    disk: RealDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_file, "RESERVE_FROM_FREE_BYTES", 1 << 62)
    file = disk.open(str(tmp_path / "a"))
    file.append([b"x"])
    file.reserve(1 << 20)
    assert os.stat(file.path).st_blocks * 512 < 1 << 20


def test_a_reservation_that_the_disk_refuses_is_left_to_the_write(
    disk: RealDisk, tmp_path: Path
) -> None:
    file = disk.open(str(tmp_path / "a"))
    file.reserve(1 << 62)
    file.append([b"x"])
    assert disk.read_whole(file.path) == b"x"


async def test_writeback_begins_and_work_is_done_off_the_loop(
    disk: RealDisk, tmp_path: Path
) -> None:
    file = disk.open(str(tmp_path / "a"))
    file.append([b"x" * 10_000])
    disk.start_writeback(file, 0, 10_000)
    assert await disk.offload(lambda: 6 * 7) == 42
    await asyncio.sleep(0)
    assert disk.free_bytes(str(tmp_path)) > 0


async def test_a_whole_file_that_cannot_be_written_leaves_nothing_behind(
    disk: RealDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    (tmp_path / "notes").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        disk.write_whole(str(tmp_path / "notes"), b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]
    assert (tmp_path / "notes").read_bytes() == b"old"


async def test_folders_come_and_go(disk: RealDisk, tmp_path: Path) -> None:
    disk.make_folder(str(tmp_path / "x/y"))
    disk.make_folder(str(tmp_path / "x/y"))
    (tmp_path / "x/y/z").write_text("z")
    disk.remove(str(tmp_path / "x/missing"))
    disk.remove_folder(str(tmp_path / "x"))
    disk.remove_folder(str(tmp_path / "x"))
    assert not disk.exists(str(tmp_path / "x"))


def test_a_file_that_nobody_knows_any_more_is_closed(tmp_path: Path) -> None:
    disk = RealDisk()
    file = disk.open(str(tmp_path / "dropped"))
    file.append([b"x"])
    descriptor = file.fileno()
    del file
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
    disk.close()


def test_a_file_says_when_it_was_last_written_to(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    os.utime(path, ns=(1, 1_700_000_000_123_456_789))
    assert RealDisk().modified_ms(str(path)) == 1_700_000_000_123


async def test_what_is_forgotten_is_read_again_and_what_is_not_synced_is_kept(
    disk: RealDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int, int]] = []
    advise = os.posix_fadvise

    def listening(descriptor: int, *arguments: int) -> None:
        told.append((arguments[0], arguments[1], arguments[2]))
        advise(descriptor, *arguments)

    monkeypatch.setattr(os, "posix_fadvise", listening)
    file = disk.open(str(tmp_path / "a"))
    file.forget(0)
    assert not told, "there is no file yet"
    piece = CACHED_PIECE_MAX
    file.append([b"x" * piece, b"synced"])
    file.sync()
    file.append([b" and not"])
    file.forget(piece + 3)
    assert told == [(piece, 0, os.POSIX_FADV_DONTNEED)]
    assert file.read(piece, 100) == b"synced and not"
