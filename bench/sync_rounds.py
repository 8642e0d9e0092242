"""How long a round of syncing takes, by the number of dirty files and by method.

Usage: python bench/sync_rounds.py [FOLDER]
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from penstock.world import linux

COUNTS = (1, 4, 8, 16, 32, 100, 1000)
ROUNDS = 15
WRITTEN_BYTES = 4096


def one_by_one(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.fdatasync(descriptor)


def on_threads(threads: int) -> Callable[[list[int]], None]:
    pool = ThreadPoolExecutor(threads)

    def run(descriptors: list[int]) -> None:
        list(pool.map(os.fdatasync, descriptors))

    return run


def by_syncfs(descriptors: list[int]) -> None:
    linux.syncfs(descriptors[0])


def measure(method: Callable[[list[int]], None], descriptors: list[int]) -> float:
    """Median milliseconds of a round after every file has grown a little."""
    took: list[float] = []
    for _ in range(ROUNDS if len(descriptors) < 1000 else 5):
        for descriptor in descriptors:
            os.write(descriptor, b"x" * WRITTEN_BYTES)
        start = time.perf_counter()
        method(descriptors)
        took.append((time.perf_counter() - start) * 1000)
    return statistics.median(took)


def main() -> None:
    methods = {
        "one by one": one_by_one,
        "4 threads": on_threads(4),
        "8 threads": on_threads(8),
        "syncfs": by_syncfs,
    }
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else ".") as folder:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        descriptors = [os.open(f"{folder}/{n}", flags) for n in range(max(COUNTS))]
        print("files".rjust(8), *(name.rjust(12) for name in methods))
        for count in COUNTS:
            figures = [measure(method, descriptors[:count]) for method in methods.values()]
            print(str(count).rjust(8), *(f"{ms:9.2f} ms" for ms in figures), flush=True)
        for descriptor in descriptors:
            os.close(descriptor)


if __name__ == "__main__":
    main()
