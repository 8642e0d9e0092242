"""`penstock group members`: who is in a group; and why one that has members is left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import cluster_options, connect, group_argument, json_option
from penstock.cli.output import counted, emit_json, emit_table, plain

if TYPE_CHECKING:
    from penstock.client.group_members import Member, Share
    from penstock.client.groups import GroupDescription

_NAMED_MAX = 5
SHARE = "share"
"""The type of groups whose members have partitions together."""


@click.command("members")
@group_argument
@json_option
@cluster_options
def members(group: str, as_json: bool, bootstrap: str, timeout_s: float) -> None:
    """Show the members of GROUP and the partitions that each of them has.

    Epochs are those of the new protocol (KIP-848): a member whose epoch is not the group's is still
    giving up partitions, or waiting for some. In a share group several members may have one
    partition; one whose epoch is not the group's has yet to hear of the newest assignment.
    """
    from penstock.client.groups import describe_group  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        described = describe_group(client, group)
    if as_json:
        emit_json(_document(described))
    elif described.members:
        _show(described)
    else:
        told = f"group {group} has no members; its state is {described.state}"
        click.echo(plain(told), err=True)


def _show(described: GroupDescription) -> None:
    heads = ["member", "instance", "client", "host", "partitions", "assignment"]
    rows = [_cells(each) for each in described.members]
    if described.epoch is not None:
        click.echo(f"group epoch {described.epoch}  assignment epoch {described.assignment_epoch}")
        heads += ["epoch"] if described.kind == SHARE else ["epoch", "target"]
        for row, each in zip(rows, described.members, strict=True):
            row.append(each.epoch)
            if each.target is not None:
                row.append(share_text(each.target))
    emit_table(heads, rows)


def _cells(member: Member) -> list[object]:
    return [
        member.id,
        member.instance_id,
        member.client_id,
        member.host,
        member.partition_count,
        share_text(member.assigned),
    ]


def share_text(share: Share) -> str | None:
    """`orders:0,1 payments:2`"""
    parts = [f"{topic}:{','.join(map(str, indexes))}" for topic, indexes in sorted(share.items())]
    return " ".join(parts) or None


def _document(described: GroupDescription) -> dict[str, Any]:
    return {
        "group": described.name,
        "type": described.kind,
        "state": described.state,
        "epoch": described.epoch,
        "assignment_epoch": described.assignment_epoch,
        "members": [
            {
                "id": each.id,
                "instance_id": each.instance_id,
                "client_id": each.client_id,
                "host": each.host,
                "topics": each.topics,
                "regex": each.regex,
                "assignment": each.assigned,
                "epoch": each.epoch,
                "target": each.target,
            }
            for each in described.members
        ],
    }


def refuse_shares(described: GroupDescription) -> None:
    """What is about committed offsets."""
    if described.kind == SHARE:
        raise click.ClickException(
            f"{described.name} is a share group, which has no committed offsets: what has become "
            "of each record is known instead"
        )


def running(described: GroupDescription) -> click.ClickException:
    """Why nothing is done to a group that has members, and who they are."""
    count = len(described.members)
    named = [f"{each.id} at {each.host}" for each in described.members[:_NAMED_MAX]]
    if count > _NAMED_MAX:
        named.append(f"{count - _NAMED_MAX} more")
    return click.ClickException(
        f"group {described.name} is running: it has {counted(count, 'member')} "
        f"({', '.join(named)}); stop all its members first"
    )
