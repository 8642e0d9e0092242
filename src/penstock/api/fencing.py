"""How a producer that has been shut out is told so: older versions have no word of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.api.call import Call
from penstock.errors import ErrorCode, Refused


@contextmanager
def fenced_as(call: Call, since: int) -> Iterator[None]:
    """PRODUCER_FENCED from this version on, and INVALID_PRODUCER_EPOCH before."""
    try:
        yield
    except Refused as refused:
        if refused.code is ErrorCode.PRODUCER_FENCED and call.version < since:
            raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH, refused.message) from refused
        raise
