"""`penstock group describe` of a share group: who has which partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from penstock.cli.output import counted, emit_json, emit_table, plain

if TYPE_CHECKING:
    from penstock.client.group_members import Member
    from penstock.client.groups import GroupDescription

_HEADS = ("topic", "partition", "member", "client", "host")


def show_share_group(described: GroupDescription, *, as_json: bool) -> None:
    holders = _holders(described)
    if as_json:
        emit_json(_document(described, holders))
        return
    click.echo(facts_text(described))
    if not holders:
        has_members = bool(described.members)
        what = "none of its members has a partition yet" if has_members else "it has no members"
        click.echo(what, err=True)
        return
    emit_table(
        _HEADS,
        [
            (*place, each.id, each.client_id, each.host)
            for place, members in sorted(holders.items())
            for each in members
        ],
    )


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
    described: GroupDescription, holders: dict[tuple[str, int], list[Member]]
) -> dict[str, Any]:
    return {
        "group": described.name,
        "type": described.kind,
        "state": described.state,
        "assignor": described.assignor or None,
        "coordinator": described.coordinator,
        "members": len(described.members),
        "partitions": [
            {
                "topic": topic,
                "partition": index,
                "members": [
                    {"id": each.id, "client_id": each.client_id, "host": each.host}
                    for each in members
                ],
            }
            for (topic, index), members in sorted(holders.items())
        ],
    }
