"""The versions of a table in a folder: each is a file of metadata, and of whoever is first.

Laid out as Iceberg's own tables in folders (`v7.metadata.json`, and `version-hint.text` with the
7), so that others find the newest without a catalog. A version is a hard link to a file that is
whole and synced: it is there at once, or the number was taken.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from pathlib import Path

from pyiceberg.exceptions import ValidationError, ValidationException
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil

from penstock.spark.errors import SparkError
from penstock.spark.tables.folder import ICEBERG_LOG, sync
from penstock.spark.tables.topic_table import Overtaken

_HINT = "version-hint.text"
_NAME = re.compile(r"v(\d{1,18})\.metadata\.json")
_LOOKS = 10
UNFINISHED = ".tmp"
"""How names end of what is being written."""


class Taken(ValidationException):
    """Somebody else has made this version. Of this kind pyiceberg removes what it wrote for it, and
    does not try again by itself: it knows nothing of marks."""


def version_of(name: str) -> int | None:
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else None


def is_of_versions(name: str) -> bool:
    """Whether it is a version, the hint, or one that is being written."""
    return version_of(name) is not None or name == _HINT or name.endswith(UNFINISHED)


class Versions:
    def __init__(self, root: Path) -> None:
        self.folder = root / ICEBERG_LOG

    def path(self, version: int) -> Path:
        return self.folder / f"v{version}.metadata.json"

    def newest(self) -> int | None:
        """From the hint on, which may be behind: its writer may be killed before it."""
        version = self._hinted()
        if version is None or not self.path(version).exists():
            version = max(self.all(), default=None)
        while version is not None and self.path(version + 1).exists():
            version += 1
        return version

    def all(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        told = (version_of(each.name) for each in self.folder.iterdir())
        return [each for each in told if each is not None]

    def _hinted(self) -> int | None:
        try:
            return int((self.folder / _HINT).read_text())
        except (OSError, ValueError):
            return None

    def read_newest(self) -> tuple[int, TableMetadata] | None:
        """Looks again if it was removed as an old one, before it was read."""
        for _ in range(_LOOKS):
            version = self.newest()
            if version is None:
                return None
            with contextlib.suppress(FileNotFoundError):
                found = self.read(version)
                self._mend_hint(version)
                return version, found
        raise SparkError(f"{self.folder}: versions come and go faster than they can be read")

    def _mend_hint(self, version: int) -> None:
        """If its writer was killed before it: others would be led to the version before."""
        if self._hinted() != version:
            with contextlib.suppress(OSError):
                self._hint(version)

    def read(self, version: int) -> TableMetadata:
        text = self.path(version).read_text()
        try:
            return TableMetadataUtil.parse_raw(text)
        except ValidationError as error:
            raise SparkError(f"{self.path(version)} cannot be read: {error}") from None

    def publish(self, version: int, metadata: TableMetadata) -> None:
        """The commit: who sees this version sees all of it."""
        if (self.newest() or 0) != version - 1:
            raise Taken(f"version {version} is there")
        written = self._written(metadata.model_dump_json(exclude_none=True))
        try:
            os.link(written, self.path(version))
        except FileExistsError:
            raise Taken(f"version {version} is there") from None
        finally:
            written.unlink(missing_ok=True)
        sync(self.folder)
        self._check_followed(version)
        self._hint(version)

    def _hint(self, version: int) -> None:
        os.replace(self._written(str(version)), self.folder / _HINT)

    def _written(self, text: str) -> Path:
        path = self.folder / f".{secrets.token_hex(8)}{UNFINISHED}"
        try:
            with path.open("x") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            raise
        return path

    def _check_followed(self, version: int) -> None:
        """Old versions are removed. Who was stopped between looking and linking, for as long as it
        takes to make so many, finds the number free again, and the table far ahead."""
        newest = self.newest() or 0
        if newest == version:
            return
        before = {Path(each.metadata_file).name for each in self.read(newest).metadata_log}
        if self.path(version).name not in before:
            raise Overtaken(
                f"another process has changed {self.folder.parent} many times meanwhile: start "
                "again, which goes on from what the table has"
            )
