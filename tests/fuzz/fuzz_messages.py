"""Feeds the message decoders with whatever atheris comes up with.

Run it by hand: `python tests/fuzz/fuzz_messages.py -atheris_runs=100000`. The first byte chooses
the API, the second the direction, the third the version; the rest is the message.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["penstock.wire"]):
    from penstock.errors import Malformed
    from penstock.wire.codec import request_header
    from penstock.wire.messages import APIS, message_types

    KINDS = [message_types(key) for key in sorted(APIS)]


def try_message(data: bytes) -> None:
    if len(data) < 3:
        return
    kind = KINDS[data[0] % len(KINDS)][data[1] % 2]
    versions = range(kind.MIN_VERSION, kind.MAX_VERSION + 1)
    version = versions[data[2] % len(versions)]
    try:
        message = kind.decode(data, version, 3)
    except Malformed:
        return
    again = message.encode(version)
    if kind.decode(again, version).encode(version) != again:
        raise AssertionError(f"{kind.__name__} version {version} does not survive: {data.hex()}")


def try_header(data: bytes) -> None:
    try:
        request_header(data)
    except Malformed:
        return


def one(data: bytes) -> None:
    try_message(data)
    try_header(data)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
