"""What commands print: tables for eyes, JSON for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_DURATIONS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"))


def emit_json(value: Any) -> None:
    import msgspec  # noqa: PLC0415

    click.echo(msgspec.json.encode(value))


def emit_table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns as wide as they need to be: nothing is cut where the output is not a terminal."""
    texts = [[_shown(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *texts, strict=True)]
    right = [_is_number([row[at] for row in rows]) for at in range(len(heads))]
    head = _line([name.upper() for name in heads], widths, right)
    click.echo(click.style(head, bold=True))
    for row in texts:
        click.echo(_line(row, widths, right))


def _is_number(column: Sequence[object]) -> bool:
    known = [cell for cell in column if cell is not None]
    return bool(known) and all(isinstance(cell, int) for cell in known)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = [
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(cells, widths, right, strict=True)
    ]
    return "  ".join(padded).rstrip()


def _shown(cell: object) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, tuple | list):
        return plain(",".join(map(str, cell))) or "-"
    return plain(str(cell))


def plain(text: str, but_for: str = "") -> str:
    """What others have named, with nothing in it that a terminal would obey instead of show."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in but_for else _escaped(each) for each in text
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def size_text(size_bytes: int) -> str:
    size = float(size_bytes)
    for unit in _UNITS:
        if size < 1024 or unit == _UNITS[-1]:
            break
        size /= 1024
    return f"{size_bytes} B" if unit == "B" else f"{size:.1f} {unit}"


def duration_text(duration_ms: int) -> str:
    """In the largest unit of which there are two at least, or in seconds from one on."""
    for unit_ms, unit in _DURATIONS:
        if duration_ms >= (unit_ms if unit == "s" else 2 * unit_ms):
            return f"{duration_ms / unit_ms:.1f} {unit}"
    return f"{duration_ms} ms"


def changes_text(changes: Mapping[str, str | None]) -> list[str]:
    """What was set, and what was taken back."""
    return [
        f"{key}={value}" if value is not None else f"{key} unset" for key, value in changes.items()
    ]


def counted(count: int, noun: str, plural: str = "") -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"


def time_text(timestamp_ms: int) -> str:
    """ISO 8601 in UTC; the bare number where it lies outside the calendar."""
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
