"""Writes the shape of a request as data: how to pass over it without decoding it.

A shape has a step for each field: its first and last version, and what it is. That is a number of
bytes, "string" or "bytes" for what has its length before it, the shape of a struct, or one of
("list", element) and ("maybe", struct). Tagged fields need no step: all have their lengths.
"""

from __future__ import annotations

from itertools import groupby

from penstock.wire.definitions.layout import Lines, indented
from penstock.wire.definitions.notation import FIXED, Field, Struct


def shape(struct: Struct) -> Lines:
    return [
        "SHAPE: ClassVar[Shape] = (",
        *indented(f"{step}," for step in steps(struct)),
        ")",
    ]


def steps(struct: Struct) -> Lines:
    """Neighbours of fixed size that come in the same versions are one step."""
    untagged = [field for field in struct.fields if field.tag is None and field.versions]
    lines: Lines = []
    for (is_fixed, versions), fields in groupby(untagged, key=_alike):
        first, last = versions[0], versions[-1]
        if is_fixed:
            lines.append(f"({first}, {last}, {sum(FIXED[field.kind][1] for field in fields)})")
        else:
            lines += [f"({first}, {last}, {_what(field)})" for field in fields]
    return lines


def _alike(field: Field) -> tuple[bool, range]:
    return field.kind in FIXED and not field.array, field.versions


def _what(field: Field) -> str:
    if field.array:
        return f'("list", {_element(field)})'
    return f'("maybe", {_element(field)})' if field.nullable and field.struct else _element(field)


def _element(field: Field) -> str:
    if field.struct:
        return f"({', '.join(steps(field.struct))},)"
    if field.kind in FIXED:
        return str(FIXED[field.kind][1])
    return '"string"' if field.kind == "string" else '"bytes"'
