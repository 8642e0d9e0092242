"""`penstock group describe`: where a group is in its topics, and how far behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from penstock.cli.group_members import SHARE
from penstock.cli.group_shares import facts_text, show_share_group
from penstock.cli.options import cluster_options, connect, group_argument, json_option
from penstock.cli.output import counted, duration_text, emit_json, emit_table

if TYPE_CHECKING:
    from penstock.client.cluster import WireClient
    from penstock.client.group_members import Member
    from penstock.client.group_offsets import CommittedOffset, Place
    from penstock.client.groups import GroupDescription

Row = dict[str, Any]

_HEADS = (
    "topic",
    "partition",
    "committed",
    "end",
    "lag",
    "waiting",
    "metadata",
    "member",
    "client",
    "host",
)


@click.command("describe")
@group_argument
@json_option
@cluster_options
def describe(group: str, as_json: bool, bootstrap: str, timeout_s: float) -> None:
    """Show where GROUP is in each partition, and how far behind, whether it is running or not.

    The end is the high watermark, up to which consumers can read. Lag is in messages; what
    retention has removed does not count. Waiting is how long the first record that was not read has
    been there. A dash is what is not known, as the lag where nothing was committed. Past the end is
    an offset at which there has been no record yet: the lag counts as 0.

    Of a share group it is shown who has which partition: several members may have one. All records
    before the start are finished, and the lag is those behind it that are not.
    """
    from penstock.client.group_offsets import (  # noqa: PLC0415
        committed_offsets,
        with_known_lags,
    )
    from penstock.client.groups import describe_group  # noqa: PLC0415
    from penstock.client.share_offsets import share_starts  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        described = describe_group(client, group)
        if described.kind == SHARE:
            show_share_group(described, share_starts(client, group), as_json=as_json)
            return
        committed = with_known_lags(client, committed_offsets(client, group))
        rows = partition_rows(client, described, committed)
    if as_json:
        emit_json(_document(described, rows))
    else:
        _show(described, rows)


def partition_rows(
    client: WireClient, described: GroupDescription, committed: dict[Place, CommittedOffset]
) -> list[Row]:
    """Of every partition that has an offset or a member."""
    from penstock.client.locating import known_bounds  # noqa: PLC0415

    owners: dict[Place, Member] = {
        (topic, index): member
        for member in described.members
        for topic, indexes in member.assigned.items()
        for index in indexes
    }
    places = sorted({*committed, *owners})
    bounds = known_bounds(client, places)
    return [
        _row(place, committed.get(place), bounds.get(place), owners.get(place)) for place in places
    ]


def _row(
    place: Place,
    committed: CommittedOffset | None,
    bounds: tuple[int, int] | None,
    member: Member | None,
) -> Row:
    from penstock.client.group_offsets import end_and_lag  # noqa: PLC0415

    end, lag = end_and_lag(committed, bounds)
    return {
        "topic": place[0],
        "partition": place[1],
        "committed": committed.offset if committed else None,
        "end": end,
        "lag": lag,
        "past_end": bool(committed and bounds and committed.offset > bounds[1]),
        "lag_ms": committed.lag_ms if committed else None,
        "metadata": committed.metadata if committed else None,
        "member": {"id": member.id, "client_id": member.client_id, "host": member.host}
        if member
        else None,
    }


def _show(described: GroupDescription, rows: list[Row]) -> None:
    click.echo(facts_text(described))
    if not rows:
        click.echo("it has committed no offsets, and has no partitions", err=True)
        return
    emit_table(_HEADS, [_cells(row) for row in rows])
    click.echo(_total_text(rows))


def _cells(row: Row) -> list[object]:
    member = row["member"] or {}
    waiting = None if row["lag_ms"] is None else duration_text(row["lag_ms"])
    places = [row[name] for name in ("topic", "partition", "committed", "end")]
    lag = "past the end" if row["past_end"] else row["lag"]
    owner = [member.get(name) for name in ("id", "client_id", "host")]
    return [*places, lag, waiting, row["metadata"] or None, *owner]


def _total_text(rows: list[Row]) -> str:
    lag, lag_ms = _totals(rows)
    text = f"total lag {'-' if lag is None else counted(lag, 'message')}"
    if lag_ms is not None:
        text += f", the longest wait {duration_text(lag_ms)}"
    lags, waits = _unknown(rows)
    if lags:
        text += f"; {counted(lags, 'partition')} without a known lag"
    if waits > lags:
        text += f"; {counted(waits, 'partition')} without a known wait"
    if past_end := sum(row["past_end"] for row in rows):
        text += f"; {counted(past_end, 'partition')} past the end"
    return text


def _unknown(rows: list[Row]) -> tuple[int, int]:
    """Partitions that the totals leave out: of messages, and of waits."""
    return sum(row["lag"] is None for row in rows), sum(row["lag_ms"] is None for row in rows)


def _totals(rows: list[Row]) -> tuple[int | None, int | None]:
    """All messages, and the longest wait, of those that are known."""
    lags = [row["lag"] for row in rows if row["lag"] is not None]
    waits = [row["lag_ms"] for row in rows if row["lag_ms"] is not None]
    return sum(lags) if lags else None, max(waits, default=None)


def _document(described: GroupDescription, rows: list[Row]) -> dict[str, Any]:
    lag, lag_ms = _totals(rows)
    lag_unknown, lag_ms_unknown = _unknown(rows)
    return {
        "group": described.name,
        "type": described.kind,
        "state": described.state,
        "assignor": described.assignor or None,
        "coordinator": described.coordinator,
        "members": len(described.members),
        "lag": lag,
        "lag_ms": lag_ms,
        "lag_unknown": lag_unknown,
        "lag_ms_unknown": lag_ms_unknown,
        "partitions": rows,
    }
