"""A producer and a group in a program of another language, which says what becomes of messages.

Each line that it writes is one thing that happened, in the order in which it happened: the time of
an entry here is the number of its line.
"""

from __future__ import annotations

import subprocess
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.cluster_traffic import Ack, Moment
from tests.group_checks import Run
from tests.group_journal import Entry, Place
from tests.group_stage import wait_until

WAIT_S = 120


class ForeignClient:
    """Stands where a producer of our own stands in other scenarios."""

    def __init__(
        self, command: Sequence[str], folder: Path, topic: str, environment: dict[str, str]
    ) -> None:
        self.topic = topic
        self.acked: list[Ack] = []
        self.failed: list[str] = []
        self.sent = 0
        self.piled: list[int] = []
        self._lines = 0
        self._journals: dict[str, list[Entry]] = defaultdict(list)
        self._uncommitted: dict[tuple[str, int], int] = {}
        self._errors = folder / "foreign.stderr"
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    # -- what it is told

    def pile_up(self) -> Moment:
        """Many are sent at once: they are under way at the moment that is returned."""
        before = len(self.piled)
        self._tell("pile")
        self.wait(lambda: len(self.piled) > before, "many messages are sent")
        return Moment(self._lines, self.piled[-1])

    def go_on(self, count: int = 60) -> None:
        """Returns once so many messages were acked that are newer than all acked so far."""
        newest = max((ack.turn for ack in self.acked), default=0)
        self.wait(lambda: self._acked_after(newest) >= count, "messages are acked")

    def process_on(self, count: int = 60) -> None:
        before = self.processed
        self.wait(lambda: self.processed > before + count, "the group goes on")

    def finish(self) -> list[Ack]:
        self._tell("stop")
        self.wait(lambda: self.sent, "all is acked")
        return self.acked

    def leave(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(WAIT_S) == 0, self
        self._reader.join()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    # -- what it says

    @property
    def processed(self) -> int:
        return sum(
            entry.what == "processed" for journal in self._journals.values() for entry in journal
        )

    def owned(self) -> dict[str, set[int]]:
        """The partitions of each member."""
        found: dict[str, set[int]] = defaultdict(set)
        for member, journal in self._journals.items():
            for entry in [each for each in journal if "places" in each.facts]:
                numbers = {number for _, number in entry.places}
                found[member] = (
                    (found[member] | numbers)
                    if entry.what == "assigned"
                    else (found[member] - numbers)
                )
        return found

    def result(self) -> Run:
        return Run(dict(self._journals), dict.fromkeys(self._journals))

    def wait(self, holds: Callable[[], object], what: str) -> None:
        def look() -> bool:
            assert self._process.poll() is None, f"it has ended: {self}"
            return bool(holds())

        try:
            wait_until(look, what, WAIT_S)
        except AssertionError as error:
            raise AssertionError(f"{error}; {self}") from None

    def _acked_after(self, newest: int) -> int:
        return sum(ack.turn > newest for ack in self.acked)

    def _tell(self, order: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(order + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            what, *facts = line.split()
            getattr(self, f"_note_{what}")(*facts)
            self._lines += 1

    def _note_piled(self, sent: str) -> None:
        self.piled.append(int(sent))

    def _note_sent(self, sent: str) -> None:
        self.sent = int(sent)

    def _note_failed(self, *text: str) -> None:
        self.failed.append(" ".join(text))

    def _note_acked(self, *numbers: str) -> None:
        key, number, partition, offset = map(int, numbers)
        self.acked.append(Ack(self._lines, key, number, partition, offset))

    def _note_assigned(self, member: str, *partitions: str) -> None:
        self._note_places("assigned", member, partitions)

    def _note_revoked(self, member: str, *partitions: str) -> None:
        for number in map(int, partitions):
            self._uncommitted.pop((member, number), None)
        self._note_places("revoked", member, partitions)

    def _note_places(self, what: str, member: str, partitions: Sequence[str]) -> None:
        places: list[Place] = [(self.topic, int(number)) for number in partitions]
        self._journals[member].append(Entry(self._lines, what, {"places": places}))

    def _note_processed(self, member: str, partition: str, offset: str, value: str) -> None:
        self._uncommitted.setdefault((member, int(partition)), int(offset))
        facts = {"place": (self.topic, int(partition)), "offset": int(offset), "value": value}
        self._journals[member].append(Entry(self._lines, "processed", facts))

    def _note_committed(self, member: str, partition: str, end: str) -> None:
        first = self._uncommitted.pop((member, int(partition)), int(end))
        facts = {"spans": [(self.topic, int(partition), first, int(end))]}
        self._journals[member].append(Entry(self._lines, "committed", facts))

    def __str__(self) -> str:
        return f"{len(self.acked)} acked, {self.processed} processed, {self.owned()}; " + (
            f"failed: {self.failed[-3:]}; {self._errors.read_text()[-3000:]}"
        )
