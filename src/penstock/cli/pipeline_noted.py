"""Archives and replays in the list of what runs.

Nothing of theirs is kept in a state folder, so they work as well where none can be written.
"""

from __future__ import annotations

import logging
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.pipeline_progress import RoundsShown

if TYPE_CHECKING:
    from penstock.spark.pipelines.state import Noted

log = logging.getLogger(__name__)
_LONGEST = 60


class Notes:
    def __init__(self, noted: Noted | None) -> None:
        self._noted = noted
        self._rows = 0

    def after(self, shown: RoundsShown) -> Callable[[Any], None]:
        """A round is shown, and then noted."""

        def note(done: Any) -> None:
            shown.show(done)
            self._note(done)

        return note

    def ended(self, *, is_stopped: bool) -> None:
        from penstock.spark.pipelines.state import STOPPED  # noqa: PLC0415

        if self._noted and is_stopped:
            self._noted.update(told=STOPPED)

    def _note(self, done: Any) -> None:
        from penstock.spark.pipelines.progress import Progress  # noqa: PLC0415

        self._rows += done.rows
        if self._noted:
            rate = done.rows / max(done.seconds, 0.001)
            self._noted.update(progress=Progress(done.number, self._rows, rate, done.lag))


@contextmanager
def noted(kind: str, topic: str, folder: str, state: Path | None) -> Iterator[Notes]:
    from penstock.spark.pipelines.state import State  # noqa: PLC0415

    kept = State(state)
    name = name_of(kind, topic, folder)
    if not _can_write(kept.folder(name)):
        log.warning("%s cannot be written: this will not be listed", kept.root)
        yield Notes(None)
        return
    with kept.running(name, kind) as note:
        yield Notes(note)


def name_of(kind: str, topic: str, folder: str) -> str:
    """The same for the same topic and table."""
    table = zlib.crc32(str(Path(folder).absolute()).encode(errors="surrogateescape"))
    spelled = re.sub(r"[^A-Za-z0-9._-]", "_", topic[:_LONGEST])
    return f"{kind}-{spelled}-{table:08x}"


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
