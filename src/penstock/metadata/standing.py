"""Whether a process may be a broker of the cluster: it joined, and nothing has come between.

A start joins, and registers then. A process that was held up for longer than its lease registers
again by itself, and much may have become of its place meanwhile. Where it has, only a start can
find out what the broker has, and say so.
"""

from __future__ import annotations

from penstock.errors import ErrorCode, Refused
from penstock.metadata.image import Image
from penstock.metadata.records import MemberRecord, member_key
from penstock.metadata.store import Check


def checked_member(image: Image, node_id: int, owner: bytes, mark: int) -> Check:
    """For the commit of the registration: what came between looking and writing is not missed."""
    known = image.members.get(node_id)
    reason = _objection(known.record if known else None, owner, mark)
    if known is None or reason:
        raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, f"broker {node_id} {reason}")
    return member_key(node_id), known.revision


def _objection(member: MemberRecord | None, owner: bytes, mark: int) -> str:
    """What has happened to the broker that it was, and what to do; empty if nothing has."""
    if member is None:
        return (
            "is not in the metadata store, which was put back from a backup that is older: start "
            "it again, so that it joins"
        )
    if member.is_gone:
        return "was removed while it was not heard of: start it again if it is to join anew"
    if member.owner != owner:
        return (
            "has another data folder since it was not heard of: another process has taken its "
            "place; do not start this one again"
        )
    if member.is_restored:
        return (
            "was not heard of while the metadata store was put back from a backup: start it "
            "again, so that it says what it has"
        )
    if member.mark > mark:
        return (
            "has run elsewhere, with a copy of this data folder, since it was not heard of: start "
            "it with the newer one of the two"
        )
    return ""
