"""`penstock group describe` of a share group: where it begins, and who has which partition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.output import counted, emit_json, emit_table, plain

if TYPE_CHECKING:
    from penstock.client.group_members import Member
    from penstock.client.groups import GroupDescription
    from penstock.client.share_offsets import ShareStart

Place = tuple[str, int]

_HEADS = ("topic", "partition", "start", "lag", "member", "client", "host")


def show_share_group(
    described: GroupDescription, starts: Mapping[Place, ShareStart], *, as_json: bool
) -> None:
    holders = _holders(described)
    if as_json:
        emit_json(_document(described, holders, starts))
        return
    click.echo(facts_text(described))
    if not holders:
        has_members = bool(described.members)
        what = "none of its members has a partition yet" if has_members else "it has no members"
        click.echo(what, err=True)
    if holders or starts:
        emit_table(_HEADS, list(_rows(holders, starts)))


def _rows(
    holders: Mapping[Place, Sequence[Member]], starts: Mapping[Place, ShareStart]
) -> Iterator[list[object]]:
    """One for each member that has a partition; a dash is what is not known."""
    for place in sorted({*holders, *starts}):
        start = starts.get(place)
        where = [*place, start and start.offset, start and start.lag]
        for each in holders.get(place, ()):
            yield [*where, each.id, each.client_id, each.host]
        if place not in holders:
            yield [*where, None, None, None]


def facts_text(described: GroupDescription) -> str:
    """The first line of what is shown of a group of any kind."""
    facts = [
        f"group {described.name}",
        f"type {described.kind}",
        f"state {described.state}",
        f"assignor {described.assignor or '-'}",
        f"coordinator {described.coordinator}",
        counted(len(described.members), "member"),
    ]
    return plain("  ".join(facts))


def _holders(described: GroupDescription) -> dict[tuple[str, int], list[Member]]:
    found: dict[tuple[str, int], list[Member]] = {}
    for member in described.members:
        for topic, indexes in member.assigned.items():
            for index in indexes:
                found.setdefault((topic, index), []).append(member)
    return found


def _document(
    described: GroupDescription,
    holders: Mapping[Place, Sequence[Member]],
    starts: Mapping[Place, ShareStart],
) -> dict[str, Any]:
    lags = [each.lag for each in starts.values() if each.lag is not None]
    return {
        "group": described.name,
        "type": described.kind,
        "state": described.state,
        "assignor": described.assignor or None,
        "coordinator": described.coordinator,
        "members": len(described.members),
        "lag": sum(lags) if lags else None,
        "lag_unknown": len(starts) - len(lags),
        "partitions": [
            {
                "topic": place[0],
                "partition": place[1],
                "start": starts[place].offset if place in starts else None,
                "lag": starts[place].lag if place in starts else None,
                "members": [
                    {"id": each.id, "client_id": each.client_id, "host": each.host}
                    for each in holders.get(place, ())
                ],
            }
            for place in sorted({*holders, *starts})
        ],
    }
