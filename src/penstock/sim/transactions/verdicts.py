"""What the answers to a transactional producer mean to it."""

from __future__ import annotations

from penstock.errors import ErrorCode
from penstock.sim.client import Unreached
from penstock.sim.groups.asking import NOBODY_KNOWS
from penstock.sim.producer import RETRIABLE
from penstock.sim.transactions.asking import Asking
from penstock.wire.codec import Message

AGAIN = NOBODY_KNOWS | RETRIABLE | {ErrorCode.CONCURRENT_TRANSACTIONS}
FENCED = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})


class Fenced(Exception):
    """Somebody else has its id, or its transaction took too long."""


class MustAbort(Exception):
    """The transaction cannot be committed any more."""


def judge(
    asking: Asking, error_code: int, request: Message, *, may_abort: bool = False, why: str = ""
) -> None:
    """Nothing if all is well; else Unreached, Fenced or MustAbort."""
    code = ErrorCode(error_code)
    if code is ErrorCode.NONE:
        return
    asking.client.note(f"{type(request).__name__} got {code.name} {why}")
    if code in FENCED:
        raise Fenced
    if code is ErrorCode.TRANSACTION_ABORTABLE:
        raise MustAbort(code.name)
    if code is ErrorCode.INVALID_TXN_STATE and may_abort:
        raise MustAbort(code.name)
    if code not in AGAIN:
        asking.client.complain(f"{code.name} ({why}) to {type(request).__name__}")
    asking.forget_coordinators()
    raise Unreached(code.name)
