"""A backup as a file: JSON, a line for each record, so that a person can read it.

The first line says what it is, the last has the SHA-256 of all before it: a file that was cut off
or changed is not taken.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from penstock.errors import Unusable
from penstock.metadata.store import Entry

FORMAT = "penstock backup"
VERSION = 1
BYTES_MAX = 1 << 30


class Head(msgspec.Struct, kw_only=True):
    format: str = FORMAT
    version: int = VERSION
    penstock: str
    """The release that has written it."""
    created: str
    """When, in ISO 8601."""
    cluster_id: str
    revision: int
    """Of the store, at which all the records were there."""
    records: int
    config: str | None = None
    """The text of a broker's settings file."""


class Backup(msgspec.Struct):
    head: Head
    entries: Sequence[Entry]


class _Kind(msgspec.Struct):
    format: str
    version: int


class _Row(msgspec.Struct):
    key: str
    record: msgspec.Raw


class _Seal(msgspec.Struct):
    sha256: str


def encode_backup(head: Head, entries: Sequence[Entry]) -> bytes:
    rows = [msgspec.json.encode(head)]
    for entry in entries:
        _check_json(entry)
        rows.append(msgspec.json.encode(_Row(entry.key, msgspec.Raw(entry.value))))
    text = b"".join(row + b"\n" for row in rows)
    return text + msgspec.json.encode(_Seal(hashlib.sha256(text).hexdigest())) + b"\n"


def _check_json(entry: Entry) -> None:
    try:
        msgspec.json.decode(entry.value)
    except msgspec.DecodeError:
        raise Unusable(f"the metadata store's {entry.key} is not JSON, so none of ours") from None


def decode_backup(data: bytes, path: str) -> Backup:
    """Raises Unusable with what is the matter with the file."""
    first = data.partition(b"\n")[0]
    _check_kind(first, path)
    text, end, seal = data.removesuffix(b"\n").rpartition(b"\n")
    text += end
    try:
        if msgspec.json.decode(seal, type=_Seal).sha256 != hashlib.sha256(text).hexdigest():
            raise _changed(path)
        head = msgspec.json.decode(first, type=Head)
        rows = [msgspec.json.decode(row, type=_Row) for row in text.splitlines()[1:]]
    except msgspec.DecodeError:
        raise _changed(path) from None
    if len(rows) != head.records:
        raise _changed(path)
    return Backup(head, [Entry(row.key, bytes(row.record), 1) for row in rows])


def _check_kind(first: bytes, path: str) -> None:
    try:
        kind = msgspec.json.decode(first, type=_Kind)
    except msgspec.DecodeError:
        kind = None
    if kind is None or kind.format != FORMAT:
        raise Unusable(f"{path} is no backup; `penstock backup create FILE` makes one")
    if kind.version > VERSION:
        raise Unusable(
            f"{path} has version {kind.version}, this Penstock reads up to {VERSION}: use the "
            "newer release that wrote it"
        )


def _changed(path: str) -> Unusable:
    return Unusable(f"{path} is not whole: it was cut off or changed; use another copy of it")
