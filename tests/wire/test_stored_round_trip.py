"""Every record in every version, with values made from the definitions, there and back."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import Malformed
from penstock.metadata.internal_topics import OFFSETS
from penstock.wire.definitions.notation import Field, Schema, Struct
from penstock.wire.definitions.stored_notation import Stored, everything_stored
from penstock.wire.stored import RECORDS, key_types
from penstock.wire.stored_codec import (
    StoredKey,
    Versioned,
    decode_embedded,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)

BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
EVERYTHING = everything_stored()

every_version = pytest.mark.parametrize(
    ("stored", "version"),
    [
        pytest.param(stored, version, id=f"{stored.module} {version}")
        for stored in EVERYTHING
        for version in stored.value.versions
    ],
)
few = settings(max_examples=25)  # in each version of each record


def plain(kind: str) -> st.SearchStrategy[Any]:
    if kind in BITS:
        half = 1 << BITS[kind] - 1
        return st.integers(-half, half - 1)
    return {
        "string": st.text(max_size=200),
        "bytes": st.binary(max_size=200),
        "uuid": st.binary(min_size=16, max_size=16),
    }[kind]


def field_values(module: Any, field: Field, version: int) -> st.SearchStrategy[Any]:
    inner = field.struct
    values = struct_values(module, inner, version) if inner else plain(field.kind)
    if field.array:
        values = st.lists(values, max_size=4)
    return st.none() | values if version in field.nullable else values


def struct_values(module: Any, struct: Struct, version: int) -> st.SearchStrategy[Any]:
    """Fields that the version lacks stay at their defaults."""
    return st.builds(
        getattr(module, struct.name),
        **{
            field.name: field_values(module, field, version)
            for field in struct.fields
            if version in field.versions
        },
    )


def messages(stored: Stored, schema: Schema, version: int) -> st.SearchStrategy[Any]:
    module = importlib.import_module(f"penstock.wire.stored.{stored.module}")
    return struct_values(module, schema.messages[0], version)


def pair(
    data: st.DataObject, stored: Stored, version: int
) -> tuple[StoredKey | None, Versioned, bytes]:
    """A key, unless it is a client format; and a value with its bytes."""
    key = data.draw(messages(stored, stored.key, 0)) if stored.key else None
    value = data.draw(messages(stored, stored.value, version))
    return key, value, encode_value(value, version)


def decoded(key: StoredKey | None, kind: type[Versioned], raw: bytes) -> Versioned:
    return decode_value(key, raw) if key else decode_embedded(kind, raw)


@every_version
@few
@given(data=st.data())
def test_what_is_written_is_read_back(stored: Stored, version: int, data: st.DataObject) -> None:
    key, value, raw = pair(data, stored, version)
    assert decoded(key, type(value), raw) == value
    if key:
        assert decode_key(encode_key(key), stored.topic) == key


@every_version
@few
@given(data=st.data())
def test_a_value_cut_short_at_any_byte_is_malformed(
    stored: Stored, version: int, data: st.DataObject
) -> None:
    key, value, raw = pair(data, stored, version)
    for size in range(max(0, len(raw) - 300), len(raw)):
        with pytest.raises(Malformed):
            decoded(key, type(value), raw[:size])


@every_version
@few
@given(data=st.data())
def test_a_spoilt_byte_is_malformed_or_something_else(
    stored: Stored, version: int, data: st.DataObject
) -> None:
    key, value, raw = pair(data, stored, version)
    spoilt = bytearray(raw)
    spoilt[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        other = decoded(key, type(value), bytes(spoilt))
    except Malformed:
        return
    assert isinstance(other, type(value))


@every_version
@few
@given(garbage=st.binary(max_size=200))
def test_garbage_is_malformed_or_can_be_written_again(
    stored: Stored, version: int, garbage: bytes
) -> None:
    module = importlib.import_module(f"penstock.wire.stored.{stored.module}")
    kind = getattr(module, stored.value.messages[0].name)
    key = getattr(module, stored.key.messages[0].name)() if stored.key else None
    try:
        value = decoded(key, kind, version.to_bytes(2, "big") + garbage)
    except Malformed:
        return
    assert decoded(key, kind, encode_value(value, version)) == value


@given(number=st.sampled_from(sorted(RECORDS[OFFSETS])), garbage=st.binary(max_size=50))
def test_a_key_of_garbage_is_malformed_or_can_be_written_again(number: int, garbage: bytes) -> None:
    try:
        key = decode_key(number.to_bytes(2, "big") + garbage, OFFSETS)
    except Malformed:
        return
    assert key is not None
    assert type(key) is key_types(OFFSETS)[number]
    assert encode_key(key)[2:] == garbage
