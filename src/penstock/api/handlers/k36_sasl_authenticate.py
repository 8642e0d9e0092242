"""SaslAuthenticate: the steps of the mechanism that SaslHandshake has agreed on."""

from __future__ import annotations

from penstock.api import trust
from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.errors import ErrorCode, Refused
from penstock.metadata.records import SecretRecord
from penstock.wire.messages.k36_sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)


def sasl_authenticate(
    broker: Broker, request: SaslAuthenticateRequest, call: Call
) -> SaslAuthenticateResponse:
    client, held = call.client, broker.image.single(SecretRecord)
    if client.mechanism != trust.MECHANISM or held is None:
        raise Refused(ErrorCode.ILLEGAL_SASL_STATE, "SaslHandshake comes first")
    data = bytes(request.auth_bytes)
    if client.hello is not None:
        trust.check_proof(client, data)
        return SaslAuthenticateResponse()
    hello = trust.read_hello(data)
    challenge = trust.answer_hello(client, hello, broker.chance.uuid(), held.record.secret)
    return SaslAuthenticateResponse(auth_bytes=trust.encode(challenge))
