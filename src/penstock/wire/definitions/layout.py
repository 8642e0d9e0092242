"""What the generated code depends on besides the fields: types, defaults, spans of versions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from penstock.wire.definitions.notation import FIXED, Field, Schema, Struct

PYTHON_TYPES = {
    "bool": "bool",
    "float64": "float",
    "string": "str",
    "bytes": "bytes",
    "records": "Part",
    "uuid": "bytes",
}
LOCALS = {"at", "buf", "count", "end", "out", "present", "tag", "tagged", "value", "version"}
Lines = list[str]


def indented(lines: Iterable[str], by: int = 1) -> Lines:
    return ["    " * by + line if line else line for line in lines]


def local(field: Field) -> str:
    """The name of the variable that a field is read into."""
    return f"{field.name}_" if field.name in LOCALS else field.name


def item(field: Field) -> str:
    """The name of the variable that goes through an array; its type is that of the elements."""
    return f"{field.name}_item"


def element_type(field: Field) -> str:
    return field.kind if field.struct else PYTHON_TYPES.get(field.kind, "int")


def python_type(field: Field) -> str:
    name = f"list[{element_type(field)}]" if field.array else element_type(field)
    return f"{name} | None" if field.nullable else name


def default(field: Field) -> str:
    """The default as an expression, which makes a new one where it could be changed in place."""
    if field.default == "null" or field.kind == "records":
        return "None"
    if field.array:
        return "[]"
    if field.struct:
        return constant(field.kind) if field.tag is not None else f"{field.kind}()"
    if field.default is not None:
        return {"true": "True", "false": "False"}.get(field.default, field.default)
    return {"bool": "False", "string": '""', "bytes": 'b""', "uuid": "NULL_UUID"}.get(
        field.kind, "0"
    )


def differs(field: Field) -> str:
    """The condition that a field is not at its default."""
    value = f"self.{field.name}"
    if default(field) == "None":
        return f"{value} is not None"
    if default(field) in ("False", "[]") and not field.nullable:
        return value
    if default(field) == "True":
        return f"not {value}"
    return f"{value} != {default(field)}"


def constant(kind: str) -> str:
    """The name of the one instance of a struct that is the default of tagged fields."""
    return "_" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).upper()


def condition(versions: range, whole: range) -> str:
    """What tells these versions from the others of the whole; empty if there are no others."""
    first, last = versions[0], versions[-1]
    if first == whole[0]:
        return "" if last >= whole[-1] else f"version <= {last}"
    if last >= whole[-1]:
        return f"version >= {first}"
    return f"version == {first}" if first == last else f"{first} <= version <= {last}"


def smallest(field: Field, version: int, flexible: bool) -> int:
    """The fewest bytes that a field can take."""
    if field.tag is not None or version not in field.versions:
        return 0
    if field.array or field.kind in ("bytes", "records"):
        return 1 if flexible else 4
    if field.kind == "string":
        return 1 if flexible else 2
    if field.struct:
        return 1 if field.nullable else smallest_struct(field.struct, version, flexible)
    return FIXED[field.kind][1]


def smallest_struct(struct: Struct, version: int, flexible: bool) -> int:
    return flexible + sum(smallest(field, version, flexible) for field in struct.fields)


def smallest_element(field: Field, span: Span) -> int:
    """The fewest bytes that an element of an array can take, by which its length is bounded."""
    if field.struct is None:
        alone = replace(field, array=False, versions=span.versions)
        return smallest(alone, span.versions[0], span.flexible)
    size = min(smallest_struct(field.struct, v, span.flexible) for v in span.versions)
    if size == 0:
        raise ValueError(f"{field.kind} may take no bytes: nothing would bound their number")
    return size


class Formats:
    """The `struct.Struct`s that one module needs, by their codes."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def name(self, fields: Iterable[Field]) -> str:
        codes = "".join(FIXED[field.kind][0] for field in fields)
        return self.names.setdefault(codes, f"_PACKED_{len(self.names)}")


class Span(NamedTuple):
    """Versions in which a field is encoded in one and the same way."""

    versions: range
    flexible: bool
    nullable: bool


def spans(schema: Schema, field: Field) -> list[Span]:
    """The versions of a field, newest first, split where flexibility or nullability changes."""
    found: list[Span] = []
    for version in reversed(field.versions):
        flexible, nullable = version >= schema.flexible_since, version in field.nullable
        if found and found[-1][1:] == (flexible, nullable):
            found[-1] = Span(range(version, found[-1].versions.stop), flexible, nullable)
        else:
            found.append(Span(range(version, version + 1), flexible, nullable))
    return found


def branches(arms: list[tuple[Span, Lines]]) -> Lines:
    """An if that tells spans apart, each with its lines."""
    if len(arms) == 1:
        return arms[0][1]
    lines: Lines = []
    for span, body in arms[:-1]:
        lines += [f"{'el' if lines else ''}if version >= {span.versions[0]}:", *indented(body)]
    return [*lines, "else:", *indented(arms[-1][1])]


def blocks(struct: Struct) -> Iterator[list[list[Field]]]:
    """The untagged fields: neighbours of fixed size together, by the versions they share."""
    block: list[list[Field]] = []
    for field in struct.fields:
        if field.tag is not None:
            continue
        if field.array or field.kind not in FIXED:
            yield from filter(None, (block, [[field]]))
            block = []
        elif block and block[-1][0].versions == field.versions:
            block[-1].append(field)
        else:
            block.append([field])
    if block:
        yield block


def newest(block: list[list[Field]], struct: Struct) -> int | None:
    """The version since which the whole block is there, if that differs within it."""
    if len(block) == 1 or any(run[0].versions[-1] < struct.versions[-1] for run in block):
        return None
    return max(run[0].versions[0] for run in block)


def tagged(struct: Struct) -> list[Field]:
    return sorted((f for f in struct.fields if f.tag is not None), key=lambda f: f.tag or 0)


def tail_versions(schema: Schema, struct: Struct) -> range:
    """The versions of a struct that end with tagged fields."""
    return range(max(schema.flexible_since, struct.versions[0]), struct.versions.stop)


def has_tail(schema: Schema, struct: Struct) -> bool:
    return len(tail_versions(schema, struct)) > 0


def inner_first(schema: Schema) -> list[Struct]:
    """All structs of a schema, each after those that it is made of; the messages come last."""
    ordered: list[Struct] = []

    def visit(struct: Struct) -> None:
        for field in struct.fields:
            if field.struct and field.struct not in ordered:
                visit(field.struct)
                ordered.append(field.struct)

    for message in schema.messages:
        visit(message)
    return [*ordered, *schema.messages]


def is_shared_default(schema: Schema, struct: Struct) -> bool:
    """Whether tagged fields are this struct when they are not there: then one serves for all."""
    return any(
        field.struct is struct and default(field) == constant(struct.name)
        for owner in inner_first(schema)
        for field in owner.fields
    )
