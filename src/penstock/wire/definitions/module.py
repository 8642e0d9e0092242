"""Writes the text of a module: its imports, and the classes of its structs."""

from __future__ import annotations

import re
from typing import NamedTuple

from penstock.wire.definitions.layout import (
    Formats,
    Lines,
    constant,
    default,
    indented,
    inner_first,
    is_shared_default,
    python_type,
)
from penstock.wire.definitions.notation import Api, Schema, Struct
from penstock.wire.definitions.reading import Reading
from penstock.wire.definitions.shape import shape
from penstock.wire.definitions.writing import Writing

STANDARD = {
    "Packed": "from struct import Struct as Packed",
    "ClassVar": "from typing import ClassVar",
}
FOREIGN = {"field": "from msgspec import Struct, field", "Struct": "from msgspec import Struct"}
BASES = {
    "Message": "penstock.wire.codec",
    "StoredKey": "penstock.wire.stored_codec",
    "Versioned": "penstock.wire.stored_codec",
}
OURS = {"Part": "from penstock.world.ports import Part"}


class Section(NamedTuple):
    """A schema in a module, with what the classes of its messages have besides fields."""

    schema: Schema
    base: str
    facts: Lines


def module(source: str, sections: list[Section]) -> str:
    """A whole module, made from a file among the definitions."""
    formats = Formats()
    body = "\n".join(
        line
        for section in sections
        for struct in inner_first(section.schema)
        for line in declared(section, struct, formats)
    )
    packed = "\n".join(f'{name} = Packed(">{codes}")' for codes, name in formats.names.items())
    head = f'"""Generated from definitions/{source}; do not edit."""'
    imported = imports(f"{packed}\n{body}", sorted({section.base for section in sections}))
    return "\n".join(
        [head, "", "from __future__ import annotations", "", *imported, packed, body, ""]
    )


def imports(text: str, bases: list[str]) -> Lines:
    """What a module's text makes use of."""
    code = re.sub(r'"[^"]*"', "", text)
    used = set(re.findall(r"\b(?:(?:read|write|check|skip)_\w+|required|absent)(?=\()", code))
    used |= {"Sink"} | ({"NULL_UUID"} & set(code.split()))

    def needed(lines: dict[str, str]) -> Lines:
        return [line for name, line in lines.items() if re.search(rf"\b{name}\b[^:]", code)]

    ours = [
        "from penstock.wire.primitives import (",
        *indented(f"{name}," for name in sorted(used)),
        ")",
    ]
    shapes = ["Shape"] if "ClassVar[Shape]" in code else []
    based = f"from {BASES[bases[0]]} import {', '.join([*bases, *shapes])}"
    return [
        *needed(STANDARD),
        "",
        *needed(FOREIGN)[:1],
        *[""][: len(needed(FOREIGN))],
        *([based, *ours] if based < ours[0] else [*ours, based]),
        *needed(OURS),
        "",
    ]


def declared(section: Section, struct: Struct, formats: Formats) -> Lines:
    """A struct's class, and the one instance that is the default of tagged fields, if it is."""
    schema = section.schema
    frozen = is_shared_default(schema, struct)
    message = struct in schema.messages
    base = section.base if message else "Struct, frozen=True" if frozen else "Struct"
    lines = ["", "", f"class {struct.name}({base}):", *indented(section.facts if message else [])]
    if isinstance(schema, Api) and struct is schema.request:
        lines += indented(shape(struct))
    for field in struct.fields:
        value = default(field)
        if value == f"{field.kind}()":
            value = f"field(default_factory={field.kind})"
        lines.append(f"    {field.name}: {python_type(field)} = {value}")
    lines += [
        "",
        "    @staticmethod",
        f"    def read(buf: memoryview, at: int, version: int) -> tuple[{struct.name}, int]:",
        *indented(Reading(schema, formats).body(struct), 2),
        "",
        "    def write(self, out: Sink, version: int) -> None:",
        *indented(Writing(schema, formats).body(struct), 2),
    ]
    if frozen:
        lines += ["", "", f"{constant(struct.name)} = {struct.name}()"]
    return lines
