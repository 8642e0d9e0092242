"""Writes `messages` and `stored` from the definitions: `python -m penstock.wire.generate`.

With `--check` nothing is written, and the exit code says whether anything would change.

The generated code is straight-line, because it runs for every request: neighbouring fields of
fixed size are packed together, and a version is compared with a number where it matters.
"""

from __future__ import annotations

import sys
from pathlib import Path

from penstock.wire.definitions.layout import Lines
from penstock.wire.definitions.module import Section, module
from penstock.wire.definitions.notation import Api, Schema, every_api
from penstock.wire.definitions.stored_notation import Stored, everything_stored

FOLDER = Path(__file__).parent
PACKAGES = ("messages", "stored")

MESSAGES = '''"""Generated from the definitions; do not edit. A module is imported when needed."""

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

STORED = '''"""Generated from the definitions; do not edit. The modules are imported when needed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.wire.stored_codec import StoredKey

RECORDS = {{
{table}
}}


@cache
def key_types(topic: str) -> dict[int, type[StoredKey]]:
    """The classes of a topic's keys, by the type that a key begins with."""
    return {{
        number: getattr(import_module(f"{{__name__}}.{{module}}"), f"{{name}}Key")
        for number, (module, name) in RECORDS[topic].items()
    }}
'''


def messages_index(apis: list[Api]) -> str:
    """The package itself: the table from which a message is found."""
    keys = (f"    {api.module.partition('_')[2].upper()} = {api.key}" for api in apis)
    table = (
        f'    {api.key}: Api("{api.name}", "{api.module}", {api.versions[0]}, '
        f"{api.versions[-1]}, {api.flexible_since}),"
        for api in apis
    )
    return MESSAGES.format(keys="\n".join(keys), table="\n".join(table))


def stored_index(everything: list[Stored]) -> str:
    """The package itself: the table from which the class of a key is found."""
    lines: Lines = []
    for topic in sorted({stored.topic for stored in everything if stored.key}):
        types = {
            each: stored for stored in everything if stored.topic == topic for each in stored.types
        }
        lines.append(f'    "{topic}": {{')
        lines += [
            f'        {number}: ("{types[number].module}", "{types[number].name}"),'
            for number in sorted(types)
        ]
        lines.append("    },")
    return STORED.format(table="\n".join(lines))


def message_module(api: Api) -> str:
    facts = [
        f"KEY: ClassVar[int] = {api.key}",
        *version_facts(api),
        f"FLEXIBLE_SINCE: ClassVar[int] = {api.flexible_since}",
    ]
    return module(f"{api.module}.txt", [Section(api, "Message", facts)])


def stored_module(stored: Stored) -> str:
    """The value comes first, because its key refers to it. Of several types we write the last."""
    sections = [Section(stored.value, "Versioned", version_facts(stored.value))]
    if stored.key:
        value = stored.value.messages[0].name
        facts = [
            f"TYPE: ClassVar[int] = {stored.types[-1]}",
            f"VALUE: ClassVar[type[{value}]] = {value}",
        ]
        sections.append(Section(stored.key, "StoredKey", facts))
    return module(f"stored/{stored.module}.txt", sections)


def version_facts(schema: Schema) -> Lines:
    return [
        f"MIN_VERSION: ClassVar[int] = {schema.versions[0]}",
        f"MAX_VERSION: ClassVar[int] = {schema.versions[-1]}",
    ]


def generated() -> dict[str, str]:
    """The content of every file in the packages."""
    apis = every_api()
    everything = everything_stored()
    return {
        "messages/__init__.py": messages_index(apis),
        **{f"messages/{api.module}.py": message_module(api) for api in apis},
        "stored/__init__.py": stored_index(everything),
        **{f"stored/{stored.module}.py": stored_module(stored) for stored in everything},
    }


def present() -> dict[str, str]:
    """The content of every file that is there."""
    return {
        f"{package}/{path.name}": path.read_text()
        for package in PACKAGES
        for path in (FOLDER / package).glob("*.py")
    }


def main(arguments: list[str]) -> int:
    wanted, there = generated(), present()
    stale = [name for name in {**wanted, **there} if wanted.get(name) != there.get(name)]
    if "--check" in arguments:
        sys.stderr.writelines(f"{name} is not what is generated\n" for name in stale)
        return 1 if stale else 0
    for package in PACKAGES:
        (FOLDER / package).mkdir(exist_ok=True)
    for name in stale:
        if name in wanted:
            (FOLDER / name).write_text(wanted[name])
        else:
            (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
