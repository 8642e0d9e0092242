"""Archives to a disk that has no room for a while: before a file, and between it and its commit.

    python -m tests.spark.full_disk_worker tmpfs|limit ADDRESS TOPIC FOLDER

In a process of its own, because it is a mount of its own that is full, or a limit of its own that
stands for it.
"""

from __future__ import annotations

import errno
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.spark.records import in_table, in_topic, send

from penstock.client.cluster import WireClient
from penstock.spark.archive.archiver import ArchiveOptions, Archiver
from penstock.spark.archive.tasks import Here, Job
from penstock.spark.errors import FolderError
from penstock.spark.tables.files import DataFile
from penstock.spark.tables.topic_table import TableFormat

FILLING = "filling"


def fill_disk(folder: Path) -> None:
    """To its last byte: small pieces find room where large ones do not."""
    for size in (4096, 1):
        with pytest.raises(OSError, match="No space left") as raised:
            write_forever(folder / FILLING, size)
        assert raised.value.errno == errno.ENOSPC


def write_forever(path: Path, size: int) -> None:
    with path.open("ab", buffering=0) as filling:
        while filling.write(b"x" * size):
            pass


def empty_disk(folder: Path) -> None:
    (folder / FILLING).unlink()


def set_limit(limit_bytes: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))


Step = Callable[[Path], None]
WAYS: dict[str, tuple[Step, Step, str]] = {
    "tmpfs": (fill_disk, empty_disk, "No space left on device"),
    "limit": (lambda _: set_limit(1), lambda _: set_limit(-1), "File too large"),
}
"""How there comes to be no room, how there is some again, and what the error says."""


class FullBeforeCommit(Here):
    def __init__(self, fill: Callable[[], None]) -> None:
        self._fill = fill

    def __call__(self, job: Job) -> list[DataFile]:
        written = super().__call__(job)
        self._fill()
        return written


def main(way: str, address: str, topic: str, folder: Path, form: TableFormat) -> None:
    fill, clear, said = WAYS[way]
    table = folder / form

    def archive(run: Here) -> None:
        options = ArchiveOptions(address, topic, str(table), once=True, form=form)
        Archiver(options, run).run()

    with WireClient(address) as client:
        for turn, is_late in enumerate((False, True)):
            send(client, topic, range(100 * turn, 100 * (turn + 1)))
            archive(Here())
            before = in_topic(client, topic)
            send(client, topic, range(1000, 1010))
            if not is_late:
                fill(folder)
            run = FullBeforeCommit(lambda: fill(folder)) if is_late else Here()
            with pytest.raises(FolderError) as raised:
                archive(run)
            assert str(raised.value).startswith(f"{table} cannot be written to: {said}")
            assert "start again" in str(raised.value)
            assert in_table(table) == before, "readable, and exact"
            clear(folder)
            archive(Here())
            assert in_table(table) == in_topic(client, topic)


if __name__ == "__main__":
    way, address, topic, folder = sys.argv[1:]
    for form in TableFormat:
        main(way, address, topic, Path(folder), form)
