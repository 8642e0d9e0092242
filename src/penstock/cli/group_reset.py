"""`penstock group reset`: move a group that is down to another place in its topics."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.group_members import running
from penstock.cli.group_places import TopicPart, topics_option
from penstock.cli.options import cluster_options, connect, group_argument, json_option
from penstock.cli.output import counted, emit_json, emit_table
from penstock.cli.times import DurationType, TimeType
from penstock.client.positions import BEGINNING, END, OFFSET_MAX, Position

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.client.cluster import WireClient
    from penstock.client.group_moves import Move

SHARE = "share"
_AIMS = ("to_earliest", "to_latest", "to_offset", "to_timestamp", "by_duration", "shift_by")


@click.command("reset")
@group_argument
@topics_option
@click.option("--all-topics", is_flag=True, help="Wherever the group has committed an offset.")
@click.option("--to-earliest", is_flag=True, help="To the first record that is there.")
@click.option("--to-latest", is_flag=True, help="Past the last one.")
@click.option("--to-offset", type=click.IntRange(0, OFFSET_MAX), metavar="N", help="To this one.")
@click.option(
    "--to-timestamp",
    type=TimeType(),
    metavar="TIME",
    help="To the first record since then: ISO 8601 (UTC unless it says so), or ms since 1970.",
)
@click.option(
    "--by-duration",
    type=DurationType(),
    metavar="DURATION",
    help="To the first record of the last 90s, 1h30m, 2d or PT1H30M.",
)
@click.option("--shift-by", type=int, metavar="N", help="By so many offsets on; back if negative.")
@click.option("--execute", is_flag=True, help="Do it; else it is only shown what would be done.")
@json_option
@cluster_options
def reset(
    group: str,
    topics: tuple[TopicPart, ...],
    all_topics: bool,
    execute: bool,
    as_json: bool,
    bootstrap: str,
    timeout_s: float,
    **aims: Any,
) -> None:
    """Move GROUP, which must have no members, to another place.

    Shows for each partition where the group is and where it would be, and changes nothing unless
    --execute is given. What lies before the start or past the end of a partition stands for these.
    A group that is not there yet can be given a place to begin at. Of a share group it is where it
    begins: all records before are finished, and none from there on.
    """
    from penstock.client.group_moves import plan  # noqa: PLC0415

    position = _position(aims)
    if bool(topics) == all_topics:
        raise click.UsageError("give either --topic or --all-topics")
    with connect(bootstrap, timeout_s) as client:
        kind = _kind_if_down(client, group)
        is_share = kind == SHARE
        moves = plan(client, group, topics, position, aims["shift_by"], is_share=is_share)
        if execute:
            _carry_out(client, group, moves, is_share=is_share)
    if as_json:
        emit_json(_document(group, moves, execute))
    else:
        _show(group, moves, execute, is_new=kind is None)


def _position(aims: Mapping[str, Any]) -> Position | None:
    """What the one option that was given asks for; None for a shift."""
    given = [name for name in _AIMS if aims[name] is not None and aims[name] is not False]
    if len(given) != 1:
        options = ", ".join("--" + name.replace("_", "-") for name in _AIMS)
        raise click.UsageError(f"give one of {options}")
    value = aims[given[0]]
    match given[0]:
        case "to_earliest":
            return BEGINNING
        case "to_latest":
            return END
        case "to_offset":
            return Position(offset=value)
        case "to_timestamp":
            return Position(timestamp_ms=value)
        case "by_duration":
            return Position(timestamp_ms=max(0, time.time_ns() // 1_000_000 - value))
    return None


def _kind_if_down(client: WireClient, group: str) -> str | None:
    """None for a new one. The broker refuses too, if members come in meanwhile."""
    from penstock.client.errors import ClientError  # noqa: PLC0415
    from penstock.client.groups import describe_group  # noqa: PLC0415
    from penstock.errors import ErrorCode  # noqa: PLC0415

    try:
        described = describe_group(client, group)
    except ClientError as error:
        if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        return None
    if described.members:
        raise running(described)
    return described.kind


def _carry_out(client: WireClient, group: str, moves: list[Move], *, is_share: bool) -> None:
    from penstock.client.errors import ClientError  # noqa: PLC0415
    from penstock.client.group_offsets import commit_offsets  # noqa: PLC0415
    from penstock.client.share_offsets import set_share_starts  # noqa: PLC0415
    from penstock.errors import ErrorCode  # noqa: PLC0415

    wanted = {(each.topic, each.partition): each.to for each in moves if each.to is not None}
    try:
        (set_share_starts if is_share else commit_offsets)(client, group, wanted)
    except ClientError as error:
        if error.code is ErrorCode.NON_EMPTY_GROUP:
            _kind_if_down(client, group)  # it tells who has come in meanwhile
        raise


def _show(group: str, moves: list[Move], executed: bool, *, is_new: bool) -> None:
    emit_table(("topic", "partition", "from", "to", "lag after", "note"), moves)
    count = counted(sum(each.to is not None for each in moves), "partition")
    if executed:
        click.echo(f"moved group {group} in {count}")
        return
    new = f"; there is no group {group} yet, and this would make it" if is_new else ""
    click.echo(f"nothing was changed: add --execute to move it in {count}{new}", err=True)


def _document(group: str, moves: list[Move], executed: bool) -> dict[str, Any]:
    return {
        "group": group,
        "executed": executed,
        "partitions": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "from": each.since,
                "to": each.to,
                "lag": each.lag,
                "note": each.note,
            }
            for each in moves
        ],
    }
