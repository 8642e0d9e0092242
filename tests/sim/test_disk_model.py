"""Without a crash the simulated disk does what the real one does, whatever is asked of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sim.disks import Machine

from penstock.world.ports import Disk, File
from penstock.world.real_disk import RealDisk

NAMES = st.sampled_from(["a", "b", "c", "folder/x", "folder/y", "gone/z"])
FOLDERS = st.sampled_from(["folder", "other"])
SIZES = st.integers(0, 40)
HANDLES = st.integers(0, 2)
STEPS = st.one_of(
    st.tuples(st.just("open"), HANDLES, NAMES),
    st.tuples(st.just("append"), HANDLES, st.lists(st.binary(max_size=9), max_size=3)),
    st.tuples(st.just("read"), HANDLES, SIZES, SIZES),
    st.tuples(st.just("truncate"), HANDLES, SIZES),
    st.tuples(st.just("file_rename"), HANDLES, NAMES),
    st.tuples(st.just("size"), HANDLES),
    st.tuples(st.just("sync"), HANDLES),
    st.tuples(st.just("forget"), HANDLES, SIZES),
    st.tuples(st.just("close"), HANDLES),
    st.tuples(st.just("exists"), st.one_of(NAMES, FOLDERS)),
    st.tuples(st.just("list"), st.sampled_from(["", "folder", "gone"])),
    st.tuples(st.just("make_folder"), FOLDERS),
    st.tuples(st.just("read_whole"), NAMES),
    st.tuples(st.just("write_whole"), NAMES, st.binary(max_size=9)),
    st.tuples(st.just("rename"), NAMES, NAMES),
    st.tuples(st.just("rename"), FOLDERS, FOLDERS),
    st.tuples(st.just("remove"), NAMES),
    st.tuples(st.just("remove_folder"), FOLDERS),
    st.tuples(st.just("sync_folder"), st.sampled_from(["", "folder", "gone"])),
)


class Hand:
    """Carries steps out on one disk, and tells what came of each."""

    def __init__(self, disk: Disk, root: str) -> None:
        self._disk = disk
        self._root = root
        self._files: list[File] = [disk.open(f"{root}/a") for _ in range(3)]

    def do(self, step: tuple[Any, ...]) -> object:
        verb, *arguments = step
        try:
            own: Callable[..., object] | None = getattr(self, f"_{verb}", None)
            if own is not None:
                return own(*arguments)
            path, *rest = arguments
            if verb == "rename":
                rest = [f"{self._root}/{rest[0]}"]
            found = getattr(self._disk, verb)(f"{self._root}/{path}", *rest)
            return list(found) if verb == "list" else found
        except OSError as problem:
            return problem.errno

    def _open(self, number: int, name: str) -> None:
        self._files[number] = self._disk.open(f"{self._root}/{name}")

    def _append(self, number: int, parts: list[bytes]) -> None:
        self._files[number].append(parts)

    def _read(self, number: int, position: int, length: int) -> bytes:
        return self._files[number].read(position, length)

    def _forget(self, number: int, position: int) -> None:
        self._files[number].forget(position)

    def _truncate(self, number: int, size: int) -> None:
        self._files[number].truncate(size)

    def _file_rename(self, number: int, name: str) -> str:
        self._files[number].rename(f"{self._root}/{name}")
        return self._files[number].path.removeprefix(self._root)

    def _size(self, number: int) -> int:
        return self._files[number].size

    def _sync(self, number: int) -> None:
        self._files[number].sync()

    def _close(self, number: int) -> None:
        self._files[number].close()


@settings(max_examples=300, deadline=None)
@given(st.lists(STEPS, max_size=40))
def test_the_same_steps_give_the_same_results(steps: list[tuple[Any, ...]]) -> None:
    real = RealDisk()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "data").mkdir()
        hands = Hand(real, f"{folder}/data"), Hand(Machine().disk, "/data")
        for step in steps:
            one, other = (hand.do(step) for hand in hands)
            assert one == other, step
        real.close()
