"""fdatasync without threads."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.world.kernel_sync import AT_ONCE, KernelSync


@pytest.fixture
async def kernel() -> KernelSync:
    """Where the kernel cannot, or may not, the disk uses threads, and this has nothing to test."""
    try:
        return KernelSync(asyncio.get_running_loop())
    except OSError as reason:
        pytest.skip(f"asynchronous I/O is not to be had here: {reason}")


@pytest.fixture
def descriptors(tmp_path: Path) -> Iterator[list[int]]:
    made = [os.open(tmp_path / str(n), os.O_CREAT | os.O_RDWR) for n in range(AT_ONCE + 5)]
    yield made
    for descriptor in made:
        os.close(descriptor)


async def test_a_round_ends_when_all_its_files_are_synced(
    kernel: KernelSync, descriptors: list[int]
) -> None:
    for count in (1, 3, AT_ONCE, len(descriptors)):
        for descriptor in descriptors[:count]:
            os.write(descriptor, b"x" * 5000)
        await kernel.sync(descriptors[:count])
        assert not kernel.is_busy
    kernel.close()


async def test_the_loop_goes_on_while_a_round_is_under_way(
    kernel: KernelSync, descriptors: list[int]
) -> None:
    os.write(descriptors[0], b"x" * 1_000_000)
    under_way = kernel.sync(descriptors[:1])
    assert kernel.is_busy
    assert not under_way.done()
    await under_way
    kernel.close()


async def test_an_error_of_one_file_is_the_error_of_the_round(
    kernel: KernelSync, descriptors: list[int]
) -> None:
    reader, writer = os.pipe()  # cannot be synced
    with pytest.raises(OSError, match="Invalid argument"):
        await kernel.sync([descriptors[0], writer])
    await kernel.sync(descriptors[:2])
    os.close(reader)
    os.close(writer)
    kernel.close()
