"""The client's side of how brokers prove to each other that they belong to one cluster."""

from __future__ import annotations

import asyncio
import hmac

from penstock.api import trust
from penstock.api.broker import Broker
from penstock.errors import ErrorCode, Refused
from penstock.metadata.records import SecretRecord
from penstock.server.door import Door
from penstock.server.peer import Peer
from penstock.wire.messages.k17_sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from penstock.wire.messages.k36_sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from penstock.world.ports import Network

CONNECT_MS_MAX = 5000


async def connect_to(network: Network, door: Door, node_id: int) -> Peer:
    """A connection to another broker, which knows by then that this is one too. Raises OSError,
    TimeoutError and Refused."""
    broker = door.broker
    known = broker.image.brokers.get(node_id)
    if known is None:
        raise ConnectionError("it is not registered")
    async with asyncio.timeout(CONNECT_MS_MAX / 1000):
        connection = await network.connect(known.record.host, known.record.port)
        peer = Peer(connection, door.buffer, door.buffers, f"broker-{broker.node_id}")
        await prove(peer, broker)
    return peer


async def prove(peer: Peer, broker: Broker) -> None:
    """Raises Refused when either of the two does not know the other's secret."""
    held = broker.image.single(SecretRecord)
    assert held is not None
    secret = held.record.secret
    request = SaslHandshakeRequest(trust.MECHANISM)
    await peer.ask(request, request.MAX_VERSION, SaslHandshakeResponse, _agreed)
    hello = trust.Hello(broker.node_id, broker.chance.uuid())
    challenge = trust.read_challenge(await _authenticate(peer, trust.encode(hello)))
    if not hmac.compare_digest(
        challenge.proof, trust.proof(secret, "server", hello, challenge.nonce)
    ):
        raise Refused(
            ErrorCode.SASL_AUTHENTICATION_FAILED, "it does not know the secret of our cluster"
        )
    await _authenticate(peer, trust.proof(secret, "client", hello, challenge.nonce))


async def _authenticate(peer: Peer, data: bytes) -> bytes:
    request = SaslAuthenticateRequest(data)
    version = request.MAX_VERSION
    return await peer.ask(request, version, SaslAuthenticateResponse, _answer_in)


def _agreed(answer: SaslHandshakeResponse) -> None:
    if answer.error_code:
        raise Refused(ErrorCode(answer.error_code), "it does not let brokers prove who they are")


def _answer_in(answer: SaslAuthenticateResponse) -> bytes:
    if answer.error_code:
        raise Refused(ErrorCode(answer.error_code), answer.error_message or "it refuses us")
    return bytes(answer.auth_bytes)
