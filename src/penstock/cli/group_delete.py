"""`penstock group delete`: groups that nobody needs any more, or their offsets of some topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from penstock.cli.group_members import refuse_shares, running
from penstock.cli.group_places import TopicPart, committed_places, topics_option
from penstock.cli.options import (
    cluster_options,
    complete_group,
    confirm,
    connect,
    json_option,
    yes_option,
)
from penstock.cli.output import emit_json

if TYPE_CHECKING:
    from penstock.client.cluster import WireClient


@click.command("delete")
@click.argument("groups", nargs=-1, required=True, shell_complete=complete_group)
@topics_option
@yes_option
@json_option
@cluster_options
def delete(
    groups: tuple[str, ...],
    topics: tuple[TopicPart, ...],
    yes: bool,
    as_json: bool,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """Delete GROUPS with all their offsets; with --topic, only their offsets there.

    A group that has members is not deleted, nor are offsets of topics that they are subscribed to.
    A share group goes with what is known of its records.
    """
    names = list(dict.fromkeys(groups))
    what = f"offsets in {', '.join(each.topic for each in topics)} of " if topics else ""
    confirm(f"Delete {what}group {', '.join(names)}?", yes)
    with connect(bootstrap, timeout_s) as client:
        failures = {name: _problem(client, name, topics) for name in names}
    if as_json:
        emit_json(
            [
                {"group": name, "deleted": problem is None, "error": problem}
                for name, problem in failures.items()
            ]
        )
    else:
        for name in (name for name in names if failures[name] is None):
            click.echo(f"deleted {what}group {name}")
    if problems := [problem for problem in failures.values() if problem is not None]:
        raise click.ClickException("; ".join(problems))


def _problem(client: WireClient, group: str, topics: tuple[TopicPart, ...]) -> str | None:
    """Why a group was not deleted. The others are, all the same."""
    from penstock.client.errors import ClientError, Unreachable  # noqa: PLC0415

    try:
        _delete(client, group, topics)
    except Unreachable:
        raise
    except (ClientError, click.ClickException) as problem:
        return str(problem)
    return None


def _delete(client: WireClient, group: str, topics: tuple[TopicPart, ...]) -> None:
    from penstock.client.errors import ClientError  # noqa: PLC0415
    from penstock.client.group_offsets import committed_offsets, delete_offsets  # noqa: PLC0415
    from penstock.client.groups import delete_group, describe_group  # noqa: PLC0415
    from penstock.errors import ErrorCode  # noqa: PLC0415

    try:
        if topics:
            committed = committed_offsets(client, group)
            if not committed:
                describe_group(client, group)  # which says so if there is no such group
            delete_offsets(client, group, committed_places(group, topics, committed))
        else:
            delete_group(client, group)
    except ClientError as error:
        if topics and error.code == ErrorCode.GROUP_ID_NOT_FOUND:
            refuse_shares(describe_group(client, group))
        if error.code not in {ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}:
            raise
        described = describe_group(client, group)
        if not described.members:  # they have left in this moment
            raise
        raise running(described) from None
