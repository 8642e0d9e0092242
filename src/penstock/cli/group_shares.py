"""`penstock group describe` of a share group: who has which partition, and how far behind it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.output import counted, emit_json, emit_table, plain

if TYPE_CHECKING:
    from penstock.client.group_members import Member
    from penstock.client.group_shares import Begun, Place
    from penstock.client.groups import GroupDescription

Row = dict[str, Any]

_HEADS = ("topic", "partition", "start", "lag", "members", "member", "client", "host")


def show_share_group(
    described: GroupDescription, begun: Mapping[Place, Begun], *, as_json: bool
) -> None:
    rows = _rows(described, begun)
    if as_json:
        emit_json(_document(described, rows))
        return
    click.echo(facts_text(described))
    if not rows:
        has_members = bool(described.members)
        what = "none of its members has a partition yet" if has_members else "it has no members"
        click.echo(what, err=True)
        return
    emit_table(_HEADS, [cells for row in rows for cells in _cells(row)])
    lag = _total(rows)
    click.echo(f"total lag {'-' if lag is None else counted(lag, 'message')}")


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


def _rows(described: GroupDescription, begun: Mapping[Place, Begun]) -> list[Row]:
    """Of every partition that the group has begun with, or that a member has."""
    holders: dict[Place, list[Member]] = {place: [] for place in begun}
    for member in described.members:
        for topic, indexes in member.assigned.items():
            for index in indexes:
                holders.setdefault((topic, index), []).append(member)
    rows = []
    for place, members in sorted(holders.items(), key=lambda each: each[0]):
        known = begun.get(place)
        row = {"topic": place[0], "partition": place[1]}
        row |= {"start": known.start if known else None, "lag": known.lag if known else None}
        row["members"] = [
            {"id": each.id, "client_id": each.client_id, "host": each.host} for each in members
        ]
        rows.append(row)
    return rows


def _cells(row: Row) -> list[list[object]]:
    """A line for each member that has the partition."""
    members = row["members"]
    facts = [row[name] for name in ("topic", "partition", "start", "lag")]
    owners = [[each[name] for name in ("id", "client_id", "host")] for each in members]
    return [[*facts, len(members), *owner] for owner in owners or [[None] * 3]]


def _total(rows: list[Row]) -> int | None:
    """Of those that are known."""
    lags = [row["lag"] for row in rows if row["lag"] is not None]
    return sum(lags) if lags else None


def _document(described: GroupDescription, rows: list[Row]) -> dict[str, Any]:
    return {
        "group": described.name,
        "type": described.kind,
        "state": described.state,
        "assignor": described.assignor or None,
        "coordinator": described.coordinator,
        "members": len(described.members),
        "lag": _total(rows),
        "lag_unknown": sum(row["lag"] is None for row in rows),
        "partitions": rows,
    }
