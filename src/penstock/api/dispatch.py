"""From the bytes of a request to what is to be called."""

from __future__ import annotations

from penstock.api.call import Call, Unanswerable
from penstock.api.table import APIS
from penstock.wire.codec import request_header
from penstock.wire.messages import ApiKey
from penstock.wire.produce_count import check_partition_count

LISTS_BYTES_MAX = 1 << 20
"""For every request but Produce: those are lists of names and numbers, at some microseconds for
each few bytes, and at 4 MiB one of them could hold the loop for a second."""
PRODUCE_PARTITIONS_MAX = 20_000
"""In a Produce request that is larger than that."""


def read_call(frame: memoryview, peer: str, now_ms: int) -> Call:
    """Raises Malformed or Unanswerable when the connection cannot go on."""
    header, body = request_header(frame)
    key, version = header.api_key, header.api_version
    api = APIS.get(key)
    if api is None:
        raise Unanswerable(f"API {key} is not answered here")
    if api.versions.min <= version <= api.versions.max:
        if len(frame) > LISTS_BYTES_MAX:
            _check_lists(frame, key, version, body)
        request = api.request.decode(frame, version, body)
        return Call(api, version, header.correlation_id, header.client_id, peer, now_ms, request)
    if key != ApiKey.API_VERSIONS:
        raise Unanswerable(f"{api.name} version {version} is not supported")
    # A client that is newer than we are learns what we have from an answer that all can read.
    call = Call(api, 0, header.correlation_id, header.client_id, peer, now_ms, api.request())
    call.asked_version = version
    return call


def _check_lists(frame: memoryview, key: int, version: int, body: int) -> None:
    if key != ApiKey.PRODUCE:
        raise Unanswerable(f"a request of {len(frame)} bytes that is not Produce")
    check_partition_count(frame, version, body, PRODUCE_PARTITIONS_MAX)
