"""Reads the definition files. Used by the generator and the tests, never by a running broker."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent
NEVER = 32767

FIXED = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}
SIZED = ("string", "bytes", "records")

LINE = re.compile(
    r" *(?P<name>\w+) +(?P<array>\[?)(?P<kind>\w+)\]?"
    r"(?P<null>\?(?P<nullable>[\d+-]*))?(?: +(?P<versions>\d+(?:\+|-\d+)?))?"
    r"(?: +tag (?P<tag>\d+))?(?: += (?P<default>\S+))?(?P<ignorable> +ignorable)?"
)


@dataclass
class Field:
    name: str
    kind: str
    array: bool
    versions: range
    nullable: range
    tag: int | None
    default: str | None
    ignorable: bool
    struct: Struct | None = None


@dataclass
class Struct:
    name: str
    versions: range
    fields: list[Field] = field(default_factory=list)


@dataclass
class Schema:
    """Messages that have the same versions, and the structs that they are made of."""

    versions: range
    flexible_since: int
    messages: list[Struct]
    structs: dict[str, Struct] = field(default_factory=dict)


@dataclass(kw_only=True)
class Api(Schema):
    key: int
    name: str
    module: str

    @property
    def request(self) -> Struct:
        return self.messages[0]

    @property
    def response(self) -> Struct:
        return self.messages[1]


def parse_versions(text: str | None, whole: range) -> range:
    """`3+`, `3-12` or `3`, as far as they lie in the whole; without a text, the whole."""
    if not text:
        return whole
    first, plus, last = re.fullmatch(r"(\d+)(\+?)-?(\d*)", text).groups()  # type: ignore[union-attr]
    stop = whole.stop if plus else int(last or first) + 1
    return range(max(int(first), whole.start), min(stop, whole.stop))


def parse_flexible(text: str) -> int:
    """The first version of `4+`; `never` is one that will not come."""
    return NEVER if text == "never" else int(text.removesuffix("+"))


def parse_field(line: str, whole: range) -> Field:
    found = LINE.fullmatch(line)
    if found is None:
        raise ValueError(f"not a field: {line!r}")
    versions = parse_versions(found["versions"], whole)
    return Field(
        name=found["name"],
        kind=found["kind"],
        array=bool(found["array"]),
        versions=versions,
        nullable=parse_versions(found["nullable"], versions) if found["null"] else range(0),
        tag=int(found["tag"]) if found["tag"] else None,
        default=found["default"],
        ignorable=bool(found["ignorable"]),
    )


def parse_fields(
    schema: Schema, message: Struct, lines: list[str], shared: set[str], ignorable: bool = False
) -> None:
    """Fills a message with the fields in these lines, and the schema with the structs among them.

    Structs that are used more than once are shared: they have all versions.
    """
    open_structs: list[tuple[int, Struct]] = [(0, message)]
    for line in lines:
        indent = len(line) - len(line.lstrip())
        while open_structs[-1][0] >= indent:
            open_structs.pop()
        parent = open_structs[-1][1]
        declared = parse_field(line, parent.versions)
        declared.ignorable |= ignorable
        parent.fields.append(declared)
        if declared.kind in FIXED or declared.kind in SIZED:
            continue
        if declared.kind not in schema.structs:
            versions = schema.versions if declared.kind in shared else declared.versions
            schema.structs[declared.kind] = Struct(declared.kind, versions)
        declared.struct = schema.structs[declared.kind]
        open_structs.append((indent, declared.struct))


def parse_lines(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line.strip()]


def used_twice(lines: list[str]) -> set[str]:
    """The types that more than one of these fields has."""
    uses = Counter(found["kind"] for line in lines if (found := LINE.fullmatch(line)))
    return {kind for kind, count in uses.items() if count > 1}


def parse(path: Path) -> Api:
    """An API. What its response has to say and the version cannot is dropped: the client is older,
    that is all."""
    lines = parse_lines(path)
    _, key, name = lines[0].split()
    versions = parse_versions(lines[1].removeprefix("versions "), range(NEVER))
    api = Api(
        key=int(key),
        name=name,
        module=path.stem,
        versions=versions,
        flexible_since=parse_flexible(lines[2].removeprefix("flexible ")),
        messages=[Struct(f"{name}Request", versions), Struct(f"{name}Response", versions)],
    )
    middle = lines.index("response")
    shared = used_twice(lines[3:])
    parse_fields(api, api.request, lines[lines.index("request") + 1 : middle], shared)
    parse_fields(api, api.response, lines[middle + 1 :], shared, ignorable=True)
    return api


def every_api() -> list[Api]:
    return [parse(path) for path in sorted(FOLDER.glob("k*.txt"))]
