"""Writes the modules in `messages` from the definitions: `python -m penstock.wire.generate`.

With `--check` nothing is written, and the exit code says whether anything would change.

The generated code is straight-line, because it runs for every request: neighbouring fields of
fixed size are packed together, and a version is compared with a number where it matters.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

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
from penstock.wire.definitions.notation import Api, Struct, every_api
from penstock.wire.definitions.reading import Reading
from penstock.wire.definitions.writing import Writing

FOLDER = Path(__file__).parent / "messages"

STANDARD = {
    "Packed": "from struct import Struct as Packed",
    "ClassVar": "from typing import ClassVar",
}
FOREIGN = {"field": "from msgspec import Struct, field", "Struct": "from msgspec import Struct"}
OURS = {"Part": "from penstock.world.ports import Part"}

INDEX = '''"""Generated from the definitions; do not edit. A module is imported when needed."""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from penstock.wire.codec import Message


class ApiKey(IntEnum):
{keys}


class Api(NamedTuple):
    name: str
    module: str
    min_version: int
    max_version: int
    flexible_since: int


APIS = {{
{table}
}}


@cache
def message_types(key: int) -> tuple[type[Message], type[Message]]:
    """The classes of an API's request and response."""
    api = APIS[key]
    module = import_module(f"{{__name__}}.{{api.module}}")
    return getattr(module, f"{{api.name}}Request"), getattr(module, f"{{api.name}}Response")
'''


def index(apis: list[Api]) -> str:
    """The package itself: the table from which a message is found."""
    keys = (f"    {api.module.partition('_')[2].upper()} = {api.key}" for api in apis)
    table = (
        f'    {api.key}: Api("{api.name}", "{api.module}", {api.versions[0]}, '
        f"{api.versions[-1]}, {api.flexible_since}),"
        for api in apis
    )
    return INDEX.format(keys="\n".join(keys), table="\n".join(table))


def module(api: Api) -> str:
    """The module of one API."""
    formats = Formats()
    body = "\n".join(
        line
        for struct in inner_first(api)
        for line in declared(api, struct, Reading(api, formats), Writing(api, formats))
    )
    packed = "\n".join(f'{name} = Packed(">{codes}")' for codes, name in formats.names.items())
    head = f'"""Generated from definitions/{api.module}.txt; do not edit."""'
    imported = imports(f"{packed}\n{body}")
    return "\n".join([head, "", "from __future__ import annotations", "", *imported, packed, body])


def imports(text: str) -> Lines:
    """What a module's text makes use of."""
    code = re.sub(r'"[^"]*"', "", text)
    used = set(re.findall(r"\b(?:(?:read|write|check|skip)_\w+|required|absent)(?=\()", code))
    used |= {"Sink"} | ({"NULL_UUID"} & set(code.split()))

    def needed(lines: dict[str, str]) -> Lines:
        return [line for name, line in lines.items() if re.search(rf"\b{name}\b[^:]", code)]

    return [
        *needed(STANDARD),
        "",
        *needed(FOREIGN)[:1],
        *[""][: len(needed(FOREIGN))],
        "from penstock.wire.codec import Message",
        "from penstock.wire.primitives import (",
        *indented(f"{name}," for name in sorted(used)),
        ")",
        *needed(OURS),
        "",
    ]


def declared(api: Api, struct: Struct, reading: Reading, writing: Writing) -> Lines:
    """A struct's class, and the one instance that is the default of tagged fields, if it is."""
    frozen = is_shared_default(api, struct)
    message = struct in (api.request, api.response)
    base = "Message" if message else "Struct, frozen=True" if frozen else "Struct"
    lines = ["", "", f"class {struct.name}({base}):", *indented(facts(api) if message else [])]
    for field in struct.fields:
        value = default(field)
        if value == f"{field.kind}()":
            value = f"field(default_factory={field.kind})"
        lines.append(f"    {field.name}: {python_type(field)} = {value}")
    lines += [
        "",
        "    @staticmethod",
        f"    def read(buf: memoryview, at: int, version: int) -> tuple[{struct.name}, int]:",
        *indented(reading.body(struct), 2),
        "",
        "    def write(self, out: Sink, version: int) -> None:",
        *indented(writing.body(struct), 2),
    ]
    if frozen:
        lines += ["", "", f"{constant(struct.name)} = {struct.name}()"]
    return lines


def facts(api: Api) -> Lines:
    return [
        f"KEY: ClassVar[int] = {api.key}",
        f"MIN_VERSION: ClassVar[int] = {api.versions[0]}",
        f"MAX_VERSION: ClassVar[int] = {api.versions[-1]}",
        f"FLEXIBLE_SINCE: ClassVar[int] = {api.flexible_since}",
    ]


def generated() -> dict[str, str]:
    """The content of every file in the folder."""
    apis = every_api()
    files = {f"{api.module}.py": module(api) + "\n" for api in apis}
    return {"__init__.py": index(apis), **files}


def main(arguments: list[str]) -> int:
    wanted = generated()
    there = {path.name: path.read_text() for path in FOLDER.glob("*.py")}
    stale = [name for name in {**wanted, **there} if wanted.get(name) != there.get(name)]
    if "--check" in arguments:
        sys.stderr.writelines(f"messages/{name} is not what is generated\n" for name in stale)
        return 1 if stale else 0
    FOLDER.mkdir(exist_ok=True)
    for name in stale:
        if name in wanted:
            (FOLDER / name).write_text(wanted[name])
        else:
            (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
