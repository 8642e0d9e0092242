"""The formats of clients that a record holds, against kio, and as newer clients write them."""

from __future__ import annotations

import importlib
import io
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from penstock.errors import Malformed
from penstock.wire.stored import consumer_protocol_assignment as assignment
from penstock.wire.stored import consumer_protocol_subscription as subscription
from penstock.wire.stored.consumer_protocol_assignment import ConsumerProtocolAssignment
from penstock.wire.stored.consumer_protocol_subscription import ConsumerProtocolSubscription
from penstock.wire.stored_codec import Versioned, decode_embedded, encode_value

VERSIONS = range(4)
NEWEST = ConsumerProtocolSubscription(
    ["orders"], b"\x07", [subscription.TopicPartition("orders", [0, 1])], 5, "r1"
)
NEWEST_RAW = bytes.fromhex(
    "0003 00000001 0006 6f7264657273 00000001 07"
    "00000001 0006 6f7264657273 00000002 00000000 00000001 00000005 0002 7231"
)

names = st.text(max_size=50)
user_data = st.none() | st.binary(max_size=200)
places = st.lists(st.tuples(names, st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4)))


def theirs(name: str, version: int) -> Any:
    """The class of kio's, and that of the partitions in it, if this version has them."""
    path, _, class_name = schema_name_map[name][version][EntityType.data].partition(":")
    module = importlib.import_module(path)
    return getattr(module, class_name), getattr(module, "TopicPartition", None)


def written_by_kio(entity: Any, version: int) -> bytes:
    out = io.BytesIO()
    entity_writer(type(entity))(out, entity)
    return struct.pack(">h", version) + out.getvalue()


def assert_the_same_to_both(ours: Versioned, entity: Any, version: int) -> None:
    raw = written_by_kio(entity, version)
    assert encode_value(ours, version) == raw
    assert decode_embedded(type(ours), raw) == ours
    assert entity_reader(type(entity))(raw[2:], 0) == (entity, len(raw) - 2)


def test_the_versions_are_those_that_kio_has() -> None:
    for kind, name in (
        (ConsumerProtocolSubscription, "consumer_protocol_subscription"),
        (ConsumerProtocolAssignment, "consumer_protocol_assignment"),
    ):
        assert (VERSIONS[0], VERSIONS[-1]) == (kind.MIN_VERSION, kind.MAX_VERSION)
        assert sorted(schema_name_map[name]) == list(VERSIONS)


@given(
    version=st.sampled_from(VERSIONS),
    topics=st.lists(names),
    user_data=user_data,
    owned=places,
    generation=st.integers(-(2**31), 2**31 - 1),
    rack=st.none() | names,
)
def test_kio_and_we_agree_on_a_subscription(
    version: int,
    topics: list[str],
    user_data: bytes | None,
    owned: list[tuple[str, list[int]]],
    generation: int,
    rack: str | None,
) -> None:
    kind, partition_kind = theirs("consumer_protocol_subscription", version)
    ours = ConsumerProtocolSubscription(topics, user_data)
    more: dict[str, Any] = {}
    if version >= 1:
        ours.owned_partitions = [subscription.TopicPartition(*place) for place in owned]
        more["owned_partitions"] = tuple(
            partition_kind(topic=topic, partitions=tuple(partitions)) for topic, partitions in owned
        )
    if version >= 2:
        ours.generation_id = more["generation_id"] = generation
    if version >= 3:
        ours.rack_id = more["rack_id"] = rack
    entity = kind(topics=tuple(topics), user_data=user_data, **more)
    assert_the_same_to_both(ours, entity, version)


@given(version=st.sampled_from(VERSIONS), assigned=places, user_data=user_data)
def test_kio_and_we_agree_on_an_assignment(
    version: int, assigned: list[tuple[str, list[int]]], user_data: bytes | None
) -> None:
    kind, partition_kind = theirs("consumer_protocol_assignment", version)
    entity = kind(
        assigned_partitions=tuple(
            partition_kind(topic=topic, partitions=tuple(partitions))
            for topic, partitions in assigned
        ),
        user_data=user_data,
    )
    ours = ConsumerProtocolAssignment(
        [assignment.TopicPartition(*place) for place in assigned], user_data
    )
    assert_the_same_to_both(ours, entity, version)


def test_what_is_written_by_hand_is_read_and_written() -> None:
    assert encode_value(NEWEST) == NEWEST_RAW
    assert decode_embedded(ConsumerProtocolSubscription, NEWEST_RAW) == NEWEST


@pytest.mark.parametrize("version", [4, 32767])
def test_a_newer_version_is_read_as_the_last_one_we_know(version: int) -> None:
    newer = struct.pack(">h", version) + NEWEST_RAW[2:] + b"and what is new"
    assert decode_embedded(ConsumerProtocolSubscription, newer) == NEWEST


def test_bytes_after_a_client_format_are_ignored() -> None:
    assert decode_embedded(ConsumerProtocolSubscription, NEWEST_RAW + b"\x00") == NEWEST


def test_a_negative_version_is_malformed() -> None:
    with pytest.raises(Malformed, match="no version -1"):
        decode_embedded(ConsumerProtocolSubscription, b"\xff\xff" + NEWEST_RAW[2:])


def test_a_client_format_cut_short_at_any_byte_is_malformed() -> None:
    for size in range(len(NEWEST_RAW)):
        with pytest.raises(Malformed):
            decode_embedded(ConsumerProtocolSubscription, memoryview(NEWEST_RAW)[:size])


def test_what_an_old_version_cannot_say_is_dropped() -> None:
    oldest = decode_embedded(ConsumerProtocolSubscription, encode_value(NEWEST, 0))
    assert oldest == ConsumerProtocolSubscription(["orders"], b"\x07")
