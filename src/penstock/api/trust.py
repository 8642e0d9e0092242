"""How brokers prove to each other that they belong to one cluster: both know its secret.

It goes by SASL, with a mechanism of our own. The first message names the broker and a number that
it made up; the answer has the other's number and proves that it knows the secret; the second
message proves the same of the first. Neither proof can be used again, or for the other's part.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from penstock.api.refused_batches import RefusedBatches
from penstock.errors import ErrorCode, Refused

M = TypeVar("M", "Hello", "Challenge")

MECHANISM = "PENSTOCK-BROKER"
NONCE_BYTES = 16


class Hello(msgspec.Struct, frozen=True):
    node_id: int
    nonce: bytes


class Challenge(msgspec.Struct, frozen=True):
    nonce: bytes
    proof: bytes


@dataclass(slots=True)
class Client:
    """Who is at the other end of a connection, as far as that is known."""

    peer: str
    mechanism: str = ""
    """The one that was agreed on."""
    hello: Hello | None = None
    expected: bytes = b""
    """The proof that is due."""
    broker_id: int = -1
    """Of a broker that has proved that it is one of the cluster's."""
    refused: RefusedBatches | None = None
    """What it has sent and is to send again."""
    number: int = 0
    """Of its connection: later ones have larger numbers."""


NOBODY = Client("")


def encode(message: Hello | Challenge) -> bytes:
    return msgspec.msgpack.encode(message)


def read_hello(data: bytes) -> Hello:
    return _read(data, Hello)


def read_challenge(data: bytes) -> Challenge:
    return _read(data, Challenge)


def answer_hello(client: Client, hello: Hello, nonce: bytes, secret: bytes) -> Challenge:
    client.hello = hello
    client.expected = proof(secret, "client", hello, nonce)
    return Challenge(nonce, proof(secret, "server", hello, nonce))


def check_proof(client: Client, given: bytes) -> None:
    """The connection is a broker's from here on, or Refused."""
    hello, expected = client.hello, client.expected
    client.hello, client.expected = None, b""
    if hello is None or not hmac.compare_digest(expected, given):
        raise Refused(
            ErrorCode.SASL_AUTHENTICATION_FAILED,
            "this is not the secret of the cluster; look whether both brokers use the same store",
        )
    client.broker_id = hello.node_id


def proof(secret: bytes, role: str, hello: Hello, nonce: bytes) -> bytes:
    text = f"{role} {hello.node_id} {hello.nonce.hex()} {nonce.hex()}"
    return hmac.digest(secret, text.encode(), "sha256")


def _read(data: bytes, kind: type[M]) -> M:
    try:
        message = msgspec.msgpack.decode(data, type=kind)
    except msgspec.DecodeError:
        raise Refused(ErrorCode.SASL_AUTHENTICATION_FAILED, "this is no broker's message") from None
    if len(message.nonce) != NONCE_BYTES:
        raise Refused(ErrorCode.SASL_AUTHENTICATION_FAILED, "this is no broker's message")
    return message
