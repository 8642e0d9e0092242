"""How a broker becomes the controller: it takes the lease, and then a term of its own.

The lease comes and goes. The term's record stays, and is compared in all that a controller writes,
so one that was held up finds itself deposed.
"""

from __future__ import annotations

from penstock.metadata.changes import Commit
from penstock.metadata.image import Image
from penstock.metadata.records import (
    CONTROLLER,
    TERM,
    ControllerRecord,
    TermRecord,
    encode,
)


def take_lease(image: Image, node_id: int, session: str) -> Commit[bool]:
    """Whether it is ours. What a broker held before it crashed it takes over from itself."""
    holder = image.single(ControllerRecord)
    if holder is not None and holder.record.node_id != node_id:
        return Commit(answer=False)
    if holder is not None and holder.session == session:
        return Commit(answer=True)
    return Commit(
        answer=True,
        checks=[(CONTROLLER, holder.revision if holder else 0)],
        puts=[(CONTROLLER, encode(ControllerRecord(node_id=node_id)))],
        session=session,
    )


def begin_term(image: Image, node_id: int, session: str) -> Commit[bool]:
    """Only for who has the lease. The answer is whether there is a term of ours now."""
    holder = image.single(ControllerRecord)
    if holder is None or holder.session != session:
        return Commit(answer=False)
    before = image.single(TermRecord)
    record = TermRecord(node_id=node_id, epoch=before.record.epoch + 1 if before else 1)
    return Commit(
        answer=True,
        checks=[(TERM, before.revision if before else 0)],
        puts=[(TERM, encode(record))],
    )
