"""Whether a process may be a broker of the cluster: it joined, and nothing has come between.

A start joins, and registers then. A process that was held up for longer than its lease registers
again by itself, and much may have become of its place meanwhile. Where it has, only a start can
find out what the broker has, and say so.

A data folder that was replaced may take its place again, as one that lacks what came since. But not
while the one that replaced it is the last that has all of a partition.
"""

from __future__ import annotations

from penstock.errors import ErrorCode, Refused
from penstock.metadata.image import Image
from penstock.metadata.records import MemberRecord, member_key
from penstock.metadata.store import Check

REPLACED_REMEMBERED = 16
PARTITIONS_NAMED = 3


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


def replaced(member: MemberRecord | None, owner: bytes) -> tuple[bytes, ...]:
    """The data folders that a member has had before this one."""
    if member is None:
        return ()
    before = [*member.replaced, member.owner]
    return tuple(each for each in before if each != owner)[-REPLACED_REMEMBERED:]


def refuse_replaced(image: Image, node_id: int, owner: bytes) -> None:
    """The folder of a host that was given up, started by a supervisor maybe, while its successor is
    down for a moment."""
    known = image.members.get(node_id)
    if known is None or known.record.is_gone or owner not in known.record.replaced:
        return
    if alone := _last_in_sync(image, node_id):
        raise Refused(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            f"broker {node_id} has run with another data folder since, which alone has all of "
            f"{_named(alone)}: start it with that one. If it is lost, remove the line "
            "directory.id from meta.properties in this one, and start again",
        )


def _last_in_sync(image: Image, node_id: int) -> list[str]:
    return [
        f"{topic.name}-{index}"
        for topic in image.topics.values()
        for index, record in enumerate(topic.partitions)
        if record is not None
        and len(record.replicas) > 1
        and {*record.isr, *record.eligible} == {node_id}
    ]


def _named(partitions: list[str]) -> str:
    rest = len(partitions) - PARTITIONS_NAMED
    named = ", ".join(partitions[:PARTITIONS_NAMED])
    return f"{named} and {rest} more" if rest > 0 else named
