"""Room on the data folder's disk that is kept for the ways out, should the disk be full.

To delete a topic, to change its retention, to stop cleanly and to start all take a few bytes, most
of them in the metadata store. See docs/decisions/0007-reserve.md.
"""

from __future__ import annotations

from penstock.world.ports import Disk

RESERVE_BYTES = 2 << 20
NEEDED_BYTES = 2 * RESERVE_BYTES
"""To make it: more than giving it up has freed, or that would look like room."""
FILE = "reserve"


class Reserve:
    """A file that is nothing but large. While it is given up, no records are to be written."""

    def __init__(self, disk: Disk, folder: str) -> None:
        self._disk = disk
        self._folder = folder
        self._path = f"{folder}/{FILE}"

    @property
    def is_held(self) -> bool:
        return self._disk.exists(self._path)

    @property
    def needed_bytes(self) -> int:
        """What must be free before records may be written."""
        return 0 if self.is_held else NEEDED_BYTES

    @property
    def can_be_made(self) -> bool:
        return not self.is_held and self._disk.free_bytes(self._folder) >= NEEDED_BYTES

    def make(self) -> None:
        """Takes long: off the loop."""
        self._disk.write_whole(self._path, bytes(RESERVE_BYTES))

    def give_up(self) -> bool:
        """Whether that has made any room."""
        was_held = self.is_held
        self._disk.remove(self._path)
        return was_held

    def give_up_if_needed(self) -> bool:
        """For what writes little, but must not fail."""
        is_needed = self._disk.free_bytes(self._folder) < RESERVE_BYTES
        return is_needed and self.give_up()
