"""From the bytes of a request to what is to be called."""

from __future__ import annotations

from penstock.api.call import Api, Call, Unanswerable
from penstock.api.table import APIS
from penstock.wire.codec import Message, request_header
from penstock.wire.elements import check_elements, has_more
from penstock.wire.fetch_answer import encode_fetched
from penstock.wire.messages import ApiKey
from penstock.wire.messages.k00_produce import ProduceResponse
from penstock.wire.messages.k01_fetch import FetchResponse
from penstock.wire.short_fetch import read_fetch
from penstock.world.ports import Part

FETCH = APIS[ApiKey.FETCH]
LISTS_BYTES_MAX = 1 << 20
"""For every request but Produce, whose batches stay bytes: of others all is decoded."""
COUNTED_FROM_BYTES = 32 << 10
"""What is smaller cannot have elements enough to hold the loop for long."""
ELEMENTS_MAX = 22_000
"""In all lists of a request that is larger: some 20 ms of decoding, and 10 of counting them before.
Ten thousand partitions, each in a topic of its own, are 20,000."""
ELEMENTS_AT_ONCE_MAX = 5_000
"""Of a request that is decoded on the loop: some milliseconds."""
PARTITIONS_AT_ONCE_MAX = 2_000
"""Of an answer that is encoded on the loop."""
COPIED_BYTES_MAX = 4 << 20
"""Of a produce request that is decoded off the loop. Batches stay in the receive buffer else, and
copying them would take as long as decoding."""


class Large(Exception):
    """A request that takes long to decode: `read_large` does it, off the loop."""


class FetchCall(Call):
    """Its answer is written by hand, unless there is something unusual in it."""

    __slots__ = ()

    def encode(self, answer: Message) -> list[Part]:
        assert isinstance(answer, FetchResponse)
        parts = encode_fetched(answer, self.version, self.correlation_id)
        return super().encode(answer) if parts is None else parts

    def is_long(self, answer: Message) -> bool:
        assert isinstance(answer, FetchResponse)
        count = sum(len(topic.partitions) for topic in answer.responses)
        return count > PARTITIONS_AT_ONCE_MAX


class ProduceCall(Call):
    __slots__ = ()

    def is_long(self, answer: Message) -> bool:
        assert isinstance(answer, ProduceResponse)
        count = sum(len(topic.partition_responses) for topic in answer.responses)
        return count > PARTITIONS_AT_ONCE_MAX


KINDS: dict[int, type[Call]] = {ApiKey.FETCH: FetchCall, ApiKey.PRODUCE: ProduceCall}


def read_call(frame: memoryview, peer: str, now_ms: int) -> Call:
    """Raises Malformed or Unanswerable when the connection cannot go on, or Large."""
    short = read_fetch(frame)
    if short is not None:
        version, correlation_id, client_id, fetching = short
        return FetchCall(FETCH, version, correlation_id, client_id, peer, now_ms, fetching)
    return _read(frame, peer, now_ms, may_be_large=False)


def read_large(frame: memoryview, peer: str, now_ms: int) -> Call:
    """The same on whatever thread, and with a frame that stays as it is for so long."""
    return _read(frame, peer, now_ms, may_be_large=True)


def _read(frame: memoryview, peer: str, now_ms: int, *, may_be_large: bool) -> Call:
    header, body = request_header(frame)
    key, version = header.api_key, header.api_version
    api = APIS.get(key)
    if api is None:
        raise Unanswerable(f"API {key} is not answered here")
    if api.versions.min <= version <= api.versions.max:
        if len(frame) > COUNTED_FROM_BYTES:
            _check_lists(api, frame, version, body, may_be_large)
        request = api.request.decode(frame, version, body)
        kind = KINDS.get(api.key, Call)
        return kind(api, version, header.correlation_id, header.client_id, peer, now_ms, request)
    if key != ApiKey.API_VERSIONS:
        raise Unanswerable(f"{api.name} version {version} is not supported")
    # A client that is newer than we are learns what we have from an answer that all can read.
    call = Call(api, 0, header.correlation_id, header.client_id, peer, now_ms, api.request())
    call.asked_version = version
    return call


def _check_lists(api: Api, frame: memoryview, version: int, body: int, may_be_large: bool) -> None:
    if api.key == ApiKey.PRODUCE:
        may_be_large = may_be_large or len(frame) > COPIED_BYTES_MAX
    elif len(frame) > LISTS_BYTES_MAX:
        raise Unanswerable(
            f"a request of {len(frame)} bytes that is not Produce; the limit is {LISTS_BYTES_MAX}"
        )
    if may_be_large:
        check_elements(api.request, frame, body, version, ELEMENTS_MAX)
    elif has_more(api.request, frame, body, version, ELEMENTS_AT_ONCE_MAX):
        raise Large
