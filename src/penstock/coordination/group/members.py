"""Names and identities of members, in both protocols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from penstock.coordination.turn import Turn
from penstock.errors import ErrorCode, Refused

CLIENT_ID_CHARS = 100
"""Of the client's own name in the id that its member gets."""
METADATA_BYTES_MAX = 8 << 20
"""Of what all members of a group say of themselves, in all of their protocols. The leader is told
of it, tools are, and it is stored with every plan."""
NAME_CHARS_MAX = 8000
"""Of whatever is stored under a length of 16 bits, in which a character takes up to four bytes."""


class Identified(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def instance_id(self) -> str | None: ...


def check_length(what: str, name: str, code: ErrorCode = ErrorCode.INVALID_REQUEST) -> None:
    if len(name) > NAME_CHARS_MAX:
        raise Refused(code, f"{what} has {len(name)} characters, {NAME_CHARS_MAX} are allowed")


def new_member_id(turn: Turn, name: str) -> str:
    number = turn.chance.uuid().hex()
    groups = (number[:8], number[8:12], number[12:16], number[16:20], number[20:])
    return f"{name[:CLIENT_ID_CHARS]}-{'-'.join(groups)}"


def metadata_bytes(protocols: Mapping[str, bytes]) -> int:
    return sum(map(len, protocols.values()))


def check_metadata(others: int, own: int) -> None:
    """Refuse a member that says so much that the group would be too large, in bytes."""
    if others + own > METADATA_BYTES_MAX:
        raise Refused(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"the member says {own} bytes of itself and the others {others}, together at most "
            f"{METADATA_BYTES_MAX} are allowed: subscribe to fewer topics, or in more groups",
        )


def unknown_member(member_id: str) -> Refused:
    return Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"the group has no member {member_id[:300]!r}")


def check_instance(
    static: Mapping[str, str], member: Identified | None, instance_id: str | None
) -> None:
    """Refuse a static member whose place another has taken. `static`: ids by instance ids."""
    if instance_id is None:
        return
    holder = static.get(instance_id)
    if holder is None:
        raise Refused(
            ErrorCode.UNKNOWN_MEMBER_ID, f"the group has no instance {instance_id[:300]!r}"
        )
    if member is None or member.id != holder:
        raise Refused(
            ErrorCode.FENCED_INSTANCE_ID,
            f"instance {instance_id[:300]!r} was started again: another member has its place",
        )
