"""Feeds the decoders of stored records with whatever atheris comes up with.

Run it by hand: `python tests/fuzz/fuzz_stored.py -atheris_runs=100000`. The first byte chooses a
record or a client format; the rest is its value, and a key as well.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["penstock.wire"]):
    from penstock.errors import Malformed
    from penstock.wire.stored import RECORDS, key_types
    from penstock.wire.stored.consumer_protocol_assignment import ConsumerProtocolAssignment
    from penstock.wire.stored.consumer_protocol_subscription import ConsumerProtocolSubscription
    from penstock.wire.stored_codec import (
        Versioned,
        decode_embedded,
        decode_key,
        decode_value,
        encode_key,
        encode_value,
    )

    KEYS = [kind() for topic in RECORDS for kind in key_types(topic).values()]
    FORMATS: list[type[Versioned]] = [ConsumerProtocolAssignment, ConsumerProtocolSubscription]


def try_key(topic: str, data: bytes) -> None:
    try:
        key = decode_key(data, topic)
    except Malformed:
        return
    if key is not None and encode_key(key)[2:] != data[2:]:
        raise AssertionError(f"a key does not survive: {data.hex()}")


def try_value(choice: int, data: bytes) -> None:
    key = KEYS[choice % len(KEYS)]
    try:
        value = decode_value(key, data)
    except Malformed:
        return
    again = encode_value(value, int.from_bytes(data[:2], "big"))
    if decode_value(key, again) != value:
        raise AssertionError(f"{type(value).__name__} does not survive: {data.hex()}")


def try_format(choice: int, data: bytes) -> None:
    kind = FORMATS[choice % len(FORMATS)]
    try:
        value = decode_embedded(kind, data)
    except Malformed:
        return
    if decode_embedded(kind, encode_value(value)) != value:
        raise AssertionError(f"{kind.__name__} does not survive: {data.hex()}")


def one(data: bytes) -> None:
    if not data:
        return
    for topic in RECORDS:
        try_key(topic, data[1:])
    try_value(data[0], data[1:])
    try_format(data[0], data[1:])


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
