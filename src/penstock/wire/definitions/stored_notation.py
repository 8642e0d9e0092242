"""Reads the definitions of what is stored, which `penstock.wire.definitions` describes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.wire.definitions.notation import (
    FOLDER,
    NEVER,
    Schema,
    Struct,
    parse_fields,
    parse_flexible,
    parse_lines,
    parse_versions,
    used_twice,
)

STORED_FOLDER = FOLDER / "stored"


@dataclass
class Stored:
    """A record, or a format without a key that is embedded in one."""

    name: str
    module: str
    topic: str
    """Whose records these are. Types are counted for each topic by itself."""
    types: range
    key: Schema | None
    value: Schema


def parse_stored(path: Path) -> Stored:
    """The key of a record has one version: its type says all."""
    lines = parse_lines(path)
    first, _, topic = lines[0].partition(" of ")
    word, *types, name = first.split()
    start = lines.index("value")
    versions = parse_versions(lines[1].removeprefix("versions "), range(NEVER))
    flexible_since = parse_flexible(lines[2].removeprefix("flexible "))
    value_name = f"{name}Value" if word == "record" else name
    value = filled(value_name, versions, flexible_since, lines[start + 1 :])
    if word == "format":
        return Stored(name, path.stem, "", range(0), None, value)
    key = filled(f"{name}Key", range(1), NEVER, lines[lines.index("key") + 1 : start])
    return Stored(name, path.stem, topic, parse_versions(types[0], range(NEVER)), key, value)


def filled(name: str, versions: range, flexible_since: int, lines: list[str]) -> Schema:
    """A schema of a single message, which has these fields."""
    message = Struct(name, versions)
    schema = Schema(versions, flexible_since, [message])
    parse_fields(schema, message, lines, used_twice(lines))
    return schema


def everything_stored() -> list[Stored]:
    return [parse_stored(path) for path in sorted(STORED_FOLDER.glob("*.txt"))]
