"""Every message, in every version, against kio: another implementation of the same protocol."""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import io
import random
import types
import typing
import uuid
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.index import PayloadEntityType, schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from penstock.errors import Malformed
from penstock.wire.codec import Message
from penstock.wire.definitions.notation import every_api
from penstock.wire.messages import APIS, message_types

INSTANCES = 5
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
TEXTS = ("", "a", "orders", "größe", "x" * 130)
BLOBS = (b"", b"\x00", b"\xff" * 9, bytes(200))
KINDS: dict[str, PayloadEntityType] = {
    "request": EntityType.request,
    "response": EntityType.response,
}
DIRECTIONS = list(KINDS)
OUR_TAGS_FROM = 10_000
"""Tagged fields from here on are our own. kio does not know them; at their defaults, as in all that
comes from kio, they are not sent."""

both_ways = pytest.mark.parametrize(
    ("key", "direction"), [(key, direction) for key in APIS for direction in DIRECTIONS]
)


def random_value(chance: random.Random, kind: str) -> object:
    if kind in BITS:
        half = 1 << BITS[kind] - 1
        return chance.choice((0, 1, -1, half - 1, -half, chance.randrange(-half, half)))
    match kind:
        case "bool":
            return chance.random() < 0.5
        case "uint16":
            return chance.randrange(1 << 16)
        case "float64":
            return chance.choice((0.0, -1.5, 1e300))
        case "string":
            return chance.choice(TEXTS)
        case "bytes" | "records":
            return chance.choice(BLOBS)
        case "uuid":
            return uuid.UUID(int=chance.randrange(1, 1 << 128))
        case "error_code":
            return chance.choice(list(ErrorCode))
        case "timedelta_i32" | "timedelta_i64":
            return datetime.timedelta(milliseconds=chance.randrange(-1, 1 << 31))
        case "datetime_i64":
            seconds = chance.randrange(1 << 31)
            return datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC)
    raise AssertionError(f"no idea how to make a {kind}")


@cache
def fields_of(kind: Any) -> list[tuple[str, bool, bool, Any]]:
    """Each field's name, whether it may be None, whether it is a tuple, and what it holds."""
    hints = typing.get_type_hints(kind)
    described = []
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        nullable = typing.get_origin(hint) in (typing.Union, types.UnionType)
        if nullable:
            hint = next(arm for arm in typing.get_args(hint) if arm is not type(None))
        array = typing.get_origin(hint) is tuple
        if array:
            hint = typing.get_args(hint)[0]
        described.append((field.name, nullable, array, field.metadata.get("kafka_type", hint)))
    return described


def random_entity(chance: random.Random, kind: type) -> Any:
    def one(inner: Any) -> object:
        return (
            random_value(chance, inner) if isinstance(inner, str) else random_entity(chance, inner)
        )

    values: dict[str, object] = {}
    for name, nullable, array, inner in fields_of(kind):
        if nullable and chance.random() < 0.3:
            values[name] = None
        elif array:
            values[name] = tuple(one(inner) for _ in range(chance.choice((0, 1, 1, 2))))
        else:
            values[name] = one(inner)
    return kind(**values)


def entities(key: int, direction: str) -> Iterator[tuple[type[Message], int, Any]]:
    """Our class, a version, and a random message of kio's for it."""
    ours = message_types(key)[DIRECTIONS.index(direction)]
    module = APIS[key].module.partition("_")[2]
    chance = random.Random(f"{module} {direction}")
    for version in range(ours.MIN_VERSION, ours.MAX_VERSION + 1):
        path, _, name = schema_name_map[module][version][KINDS[direction]].partition(":")
        kind = getattr(importlib.import_module(path), name)
        for _ in range(INSTANCES):
            yield ours, version, random_entity(chance, kind)


def encoded(entity: Any) -> bytes:
    out = io.BytesIO()
    entity_writer(type(entity))(out, entity)
    return out.getvalue()


def plain(value: object) -> object:
    """A value of kio's as one of ours."""
    match value:
        case datetime.timedelta():
            return round(value / datetime.timedelta(milliseconds=1))
        case datetime.datetime():
            return round(value.timestamp() * 1000)
        case uuid.UUID():
            return value.bytes
    return value


def assert_same(ours: Any, theirs: Any) -> None:
    """They have the same values under the same names, but that kio drops `_ms` from some."""
    kind: Any = type(theirs)
    for name, *_ in fields_of(kind):
        value = getattr(theirs, name)
        mine = getattr(ours, name if hasattr(ours, name) else f"{name}_ms")
        pairs = zip(mine, value, strict=True) if isinstance(value, tuple) else [(mine, value)]
        for left, right in pairs:
            if dataclasses.is_dataclass(right):
                assert_same(left, right)
            elif right is None:
                assert left in (None, bytes(16), -1)
            else:
                assert left == plain(right), name


def test_every_version_is_one_that_kio_has() -> None:
    for api in APIS.values():
        versions = schema_name_map[api.module.partition("_")[2]]
        assert (api.min_version, api.max_version) == (min(versions), max(versions))


def tags_of_kio(key: int) -> set[int]:
    """All tags in any version of an API."""
    module = APIS[key].module.partition("_")[2]
    tags = set()
    for version in schema_name_map[module].values():
        for kind in KINDS.values():
            path = version[kind].partition(":")[0]
            for entity in vars(importlib.import_module(path)).values():
                if dataclasses.is_dataclass(entity):
                    tags |= {each.metadata.get("tag", -1) for each in dataclasses.fields(entity)}
    return tags


def test_tagged_fields_are_kafkas_or_in_the_range_of_our_own() -> None:
    for api in every_api():
        theirs = tags_of_kio(api.key)
        declared = {
            each.tag if each.tag is not None else -1
            for struct in (*api.messages, *api.structs.values())
            for each in struct.fields
        }
        assert max(theirs) < OUR_TAGS_FROM
        assert {tag for tag in declared if tag < OUR_TAGS_FROM} <= theirs, api.name


@both_ways
def test_what_kio_encodes_we_decode_and_encode_to_the_same_bytes(key: int, direction: str) -> None:
    for ours, version, entity in entities(key, direction):
        data = encoded(entity)
        message = ours.decode(data, version)
        assert_same(message, entity)
        assert message.encode(version) == data


@both_ways
def test_what_we_encode_kio_decodes(key: int, direction: str) -> None:
    for ours, version, entity in entities(key, direction):
        data = ours.decode(encoded(entity), version).encode(version)
        decoded, size = entity_reader(type(entity))(data, 0)
        assert size == len(data)
        assert encoded(decoded) == data


@both_ways
def test_a_message_cut_short_at_any_byte_is_malformed(key: int, direction: str) -> None:
    for ours, version, entity in entities(key, direction):
        data = encoded(entity)
        for size in range(max(0, len(data) - 300), len(data)):
            with pytest.raises(Malformed):
                ours.decode(data[:size], version)


@both_ways
def test_a_spoilt_byte_is_malformed_or_something_else(key: int, direction: str) -> None:
    chance = random.Random(key)
    for ours, version, entity in entities(key, direction):
        data = bytearray(encoded(entity))
        for _ in range(20 if data else 0):
            spoilt = bytearray(data)
            spoilt[chance.randrange(len(data))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
            try:
                message = ours.decode(spoilt, version)
            except Malformed:
                continue
            assert isinstance(message, ours)
