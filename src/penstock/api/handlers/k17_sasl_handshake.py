"""SaslHandshake: which mechanism the client wants to prove itself by.

For brokers of the cluster alone so far (`api/trust.py`). Version 0 would have the proof follow
outside of the protocol, which nobody needs any more.
"""

from __future__ import annotations

from penstock.api.broker import Broker
from penstock.api.call import Call
from penstock.api.trust import MECHANISM
from penstock.errors import ErrorCode
from penstock.wire.messages.k17_sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def sasl_handshake(
    broker: Broker, request: SaslHandshakeRequest, call: Call
) -> SaslHandshakeResponse:
    if request.mechanism != MECHANISM:
        return SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, [MECHANISM])
    call.client.mechanism = MECHANISM
    return SaslHandshakeResponse(ErrorCode.NONE, [MECHANISM])
