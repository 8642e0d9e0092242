"""From the bytes of a request to what is to be called."""

from __future__ import annotations

from penstock.api.call import Call, Unanswerable
from penstock.api.table import APIS
from penstock.wire.codec import request_header
from penstock.wire.messages import ApiKey


def read_call(frame: memoryview, peer: str, now_ms: int) -> Call:
    """Raises Malformed or Unanswerable when the connection cannot go on."""
    header, body = request_header(frame)
    key, version = header.api_key, header.api_version
    api = APIS.get(key)
    if api is None:
        raise Unanswerable(f"API {key} is not answered here")
    if api.versions.min <= version <= api.versions.max:
        request = api.request.decode(frame, version, body)
        return Call(api, version, header.correlation_id, header.client_id, peer, now_ms, request)
    if key != ApiKey.API_VERSIONS:
        raise Unanswerable(f"{api.name} version {version} is not supported")
    # A client that is newer than we are learns what we have from an answer that all can read.
    call = Call(api, 0, header.correlation_id, header.client_id, peer, now_ms, api.request())
    call.asked_version = version
    return call
