"""A record as a line: its value, a template filled in, or a JSON object."""

from __future__ import annotations

import string
from collections.abc import Callable
from functools import partial
from typing import Any

import click
import msgspec

from penstock.cli.output import plain, time_text
from penstock.client.reader import Arrived
from penstock.wire.records import Headers, Record

Show = Callable[[Arrived, Record], bytes]

_Field = Callable[[str, Arrived, Record], bytes]

FIELDS: dict[str, _Field] = {
    "key": lambda topic, arrived, record: record.key or b"",
    "value": lambda topic, arrived, record: record.value or b"",
    "topic": lambda topic, arrived, record: topic.encode(),
    "partition": lambda topic, arrived, record: b"%d" % arrived.partition,
    "offset": lambda topic, arrived, record: b"%d" % record.offset,
    "timestamp": lambda topic, arrived, record: b"%d" % record.timestamp,
    "time": lambda topic, arrived, record: time_text(record.timestamp).encode(),
    "headers": lambda topic, arrived, record: _headers_text(record),
    "size": lambda topic, arrived, record: b"%d" % size_of(record),
    "crc": lambda topic, arrived, record: b"%d" % arrived.header.crc,
}


def formatter(topic: str, as_json: bool, template: str | None) -> Show:
    if as_json:
        return partial(_json_line, topic)
    if template is None:
        return lambda arrived, record: (record.value or b"") + b"\n"
    return partial(_fill, topic, parse_template(template))


def for_eyes(show: Show) -> Show:
    """What a terminal would obey is spelt out; a pipe or a file gets what the producer gave."""

    def shown(arrived: Arrived, record: Record) -> bytes:
        text = show(arrived, record).decode(errors="backslashreplace")
        return plain(text, but_for="\t\n").encode()

    return shown


def parse_template(template: str) -> list[bytes | _Field]:
    """Texts and fields in turn. Only plain names are fields: a template reaches nothing else."""
    parts: list[bytes | _Field] = []
    try:
        pieces = list(string.Formatter().parse(template))
    except ValueError as error:
        raise click.BadParameter(f"{error}; a brace itself is written twice") from None
    for text, name, spec, conversion in pieces:
        if text:
            unescaped = text.replace("\\t", "\t").replace("\\n", "\n")
            parts.append(unescaped.encode(errors="surrogateescape"))
        if name is None:
            continue
        if name not in FIELDS or spec or conversion:
            raise click.BadParameter(f"{{{name}}} is none of {', '.join(FIELDS)}")
        parts.append(FIELDS[name])
    return parts


def size_of(record: Record) -> int:
    """Key, value and headers as the producer gave them."""
    size = len(record.key or b"") + len(record.value or b"")
    return size + sum(len(name) + len(content or b"") for name, content in record.headers)


def _fill(topic: str, parts: list[bytes | _Field], arrived: Arrived, record: Record) -> bytes:
    filled = [part if isinstance(part, bytes) else part(topic, arrived, record) for part in parts]
    return b"".join(filled) + b"\n"


def _headers_text(record: Record) -> bytes:
    return b",".join(name + b"=" + (content or b"") for name, content in record.headers)


def _json_line(topic: str, arrived: Arrived, record: Record) -> bytes:
    line: dict[str, Any] = {
        "topic": topic,
        "partition": arrived.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        **as_json_fields("key", record.key),
        **as_json_fields("value", record.value),
        "headers": headers_json(record.headers),
        "size": size_of(record),
        "batch_size": arrived.header.size,
        "crc": arrived.header.crc,
    }
    return msgspec.json.encode(line) + b"\n"


def headers_json(headers: Headers) -> list[dict[str, Any]]:
    return [
        {**as_json_fields("key", name), **as_json_fields("value", content)}
        for name, content in headers
    ]


def as_json_fields(name: str, content: bytes | None) -> dict[str, Any]:
    """As text if it is text; msgspec writes bytes as base64."""
    if content is None:
        return {name: None}
    try:
        return {name: content.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": content}
