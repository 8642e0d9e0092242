"""Counting the elements of a request, held against the messages that have them."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import Malformed
from penstock.wire.codec import Message
from penstock.wire.definitions.notation import Api, Field, Struct, every_api
from penstock.wire.elements import check_elements
from penstock.wire.messages import message_types

REQUESTS = [(api, version) for api in every_api() for version in api.versions]
FLEXIBLE = [(api, version) for api, version in REQUESTS if version >= api.flexible_since]
NUMBERS = st.integers(0, 100)
TEXTS = st.text("abcd", max_size=200)
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "float64": st.just(0.5),
    "uuid": st.binary(min_size=16, max_size=16),
    "string": TEXTS,
    "bytes": st.binary(max_size=200),
    "records": st.binary(max_size=200),
}


def values(module: Any, field: Field, version: int) -> st.SearchStrategy[Any]:
    struct = field.struct
    one = structs(module, struct, version) if struct else KINDS.get(field.kind, NUMBERS)
    whole = st.lists(one, max_size=3) if field.array else one
    return st.none() | whole if version in field.nullable else whole


def structs(module: Any, struct: Struct, version: int) -> st.SearchStrategy[Any]:
    fields = {
        field.name: values(module, field, version)
        for field in struct.fields
        if version in field.versions and field.tag is None
    }
    return st.builds(getattr(module, struct.name), **fields)


def elements(value: Any) -> int:
    """What is in lists, at any depth."""
    if isinstance(value, list):
        return len(value) + sum(elements(each) for each in value)
    if isinstance(value, msgspec.Struct):
        return sum(elements(getattr(value, name)) for name in value.__struct_fields__)
    return 0


def module_of(api: Api) -> Any:
    return import_module(f"penstock.wire.messages.{api.module}")


def a_request(data: st.DataObject) -> tuple[Api, int, Message]:
    api, version = data.draw(st.sampled_from(REQUESTS))
    return api, version, data.draw(structs(module_of(api), api.request, version))


@given(data=st.data())
def test_all_elements_of_all_lists_count_in_every_request_and_version(data: st.DataObject) -> None:
    api, version, request = a_request(data)
    kind = message_types(api.key)[0]
    body = memoryview(b"head" + request.encode(version))
    count = elements(request)
    check_elements(kind, body, 4, version, count)
    if count:
        with pytest.raises(Malformed, match=f"{count - 1} are the limit"):
            check_elements(kind, body, 4, version, count - 1)


@given(data=st.data())
def test_what_is_cut_off_has_no_more_elements_than_it_had(data: st.DataObject) -> None:
    api, version, request = a_request(data)
    body = request.encode(version)
    cut = memoryview(body)[: data.draw(st.integers(0, len(body)))]
    kind = message_types(api.key)[0]
    with suppress(Malformed):  # as decoding says
        check_elements(kind, cut, 0, version, elements(request))
        return
    with pytest.raises(Malformed):
        kind.decode(cut, version)


@given(data=st.data(), tags=st.integers(1, 100))
def test_tagged_fields_count_as_well(data: st.DataObject, tags: int) -> None:
    api, version = data.draw(st.sampled_from(FLEXIBLE))
    request = data.draw(structs(module_of(api), api.request, version))
    body = request.encode(version)
    assert body[-1] == 0  # no tags
    unknown = bytes([0xFF, 0x7F, 3]) + b"abc"
    tagged = memoryview(body[:-1] + bytes([tags]) + unknown * tags)
    kind = message_types(api.key)[0]
    count = elements(request) + tags
    check_elements(kind, tagged, 0, version, count)
    with pytest.raises(Malformed, match="are the limit"):
        check_elements(kind, tagged, 0, version, count - 1)
