"""`penstock broker`: the brokers of a cluster, what they hold, and how they come and go."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.broker_moves import drain, rebalance
from penstock.cli.options import (
    changed_settings,
    cluster_options,
    confirm,
    connect,
    json_option,
    set_option,
    unset_option,
    yes_option,
)
from penstock.cli.output import changes_text, counted, emit_json, emit_table, size_text

if TYPE_CHECKING:
    from penstock.client.metadata import Partition
    from penstock.client.replicas import Disk, Member, Named

_LISTED = ("broker", "address", "rack", "state", "replicas", "leads", "behind", "data", "free")
_SIZES = ("data", "free")


@click.group("broker")
def command() -> None:
    """Work with the brokers of a cluster."""


command.add_command(drain)
command.add_command(rebalance)


@command.command("list")
@json_option
@cluster_options
def list_all(as_json: bool, bootstrap: str, timeout_s: float) -> None:
    """List the brokers, alive or not, and what each holds.

    A broker is behind with partitions that it has a replica of and is not in sync with.
    """
    from penstock.client.holdings import all_partitions  # noqa: PLC0415
    from penstock.client.replicas import disks, members  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        known, controller = members(client)
        partitions, found = all_partitions(client), disks(client)
    rows = [_row(each, controller, partitions, found.get(each.node_id)) for each in known.values()]
    if as_json:
        emit_json(rows)
    else:
        emit_table(_LISTED, [_cells(row) for row in rows])


def _row(
    member: Member, controller: int, partitions: dict[Named, Partition], disk: Disk | None
) -> dict[str, Any]:
    from penstock.client.holdings import holding_of  # noqa: PLC0415

    node = member.node_id
    holding = holding_of(node, partitions.values(), disk)
    return {
        "broker": node,
        "address": f"{member.host}:{member.port}" if member.is_alive else None,
        "rack": member.rack or None,
        "state": _state(member),
        "controller": node == controller,
        "replicas": holding.replicas,
        "leads": holding.leads,
        "behind": holding.behind,
        "data": holding.data_bytes,
        "free": holding.free_bytes,
    }


def _state(member: Member) -> str:
    words = ["alive" if member.is_alive else "down"]
    if member.is_draining:
        words.append("draining")
    return " ".join(words)


def _cells(row: dict[str, Any]) -> list[object]:
    cells = []
    for name in _LISTED:
        cell = row[name]
        if name in _SIZES and cell is not None:
            cell = size_text(cell)
        if name == "state" and row["controller"]:
            cell = f"{cell} (controller)"
        cells.append(cell)
    return cells


@command.command("describe")
@click.argument("broker", type=click.IntRange(min=0))
@json_option
@cluster_options
def describe(broker: int, as_json: bool, bootstrap: str, timeout_s: float) -> None:
    """Show what BROKER holds, and which of its partitions are not as they should be.

    Those are partitions that nobody leads, that it is not in sync with, or that are on the move:
    to it, or away from it, with how much of them has been copied.
    """
    from penstock.client.holdings import all_partitions  # noqa: PLC0415
    from penstock.client.replicas import disks, members, moves, unknown_broker  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        known, controller = members(client)
        if broker not in known:
            raise unknown_broker(broker, known)
        partitions, found, moving = all_partitions(client), disks(client), moves(client)
    summary = _row(known[broker], controller, partitions, found.get(broker))
    odd = [
        {
            "topic": named[0],
            "partition": named[1],
            "leader": each.leader if each.leader >= 0 else None,
            "replicas": each.replicas,
            "isr": each.in_sync,
            "adding": moving[named].adding if named in moving else (),
            "removing": moving[named].removing if named in moving else (),
            "copied": _copied(named, each, broker, found),
        }
        for named, each in partitions.items()
        if broker in each.replicas
        and (named in moving or broker not in each.in_sync or each.leader < 0)
    ]
    if as_json:
        emit_json({**summary, "partitions": odd})
        return
    emit_table(_LISTED, [_cells(summary)])
    topics = Counter(name for (name, _), each in partitions.items() if broker in each.replicas)
    emit_table(["topic", "replicas here"], sorted(topics.items()))
    if odd:
        emit_table(list(odd[0]), [list(row.values()) for row in odd])


def _copied(named: Named, partition: Partition, broker: int, found: dict[int, Disk]) -> str | None:
    """How much of what the leader has, of a partition that this broker is not in sync with."""
    if broker in partition.in_sync or broker not in found or partition.leader not in found:
        return None
    whole = found[partition.leader].sizes.get(named, 0)
    here = min(found[broker].sizes.get(named, 0), whole)
    return f"{100 * here // whole} %" if whole else None


@command.command("config")
@click.argument("broker", metavar="BROKER|all")
@set_option
@unset_option
@json_option
@cluster_options
def config(
    broker: str,
    settings: dict[str, str],
    unset: tuple[str, ...],
    as_json: bool,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """Change settings of BROKER, or of all brokers, while they run; without a change, show them.

    A broker's own settings count before those of all. Shown is what is not as by default.
    """
    from penstock.client.admin import (  # noqa: PLC0415
        DEFAULT,
        all_broker_configs,
        alter_broker,
        broker_configs,
        check_registered,
    )

    node = _broker_or_all(broker)
    changes = changed_settings(settings, unset)
    with connect(bootstrap, timeout_s) as client:
        if changes:
            alter_broker(client, node, changes)
        found = all_broker_configs(client) if node is None else {}
        if node is not None and not changes:
            check_registered(client, node)
            found = broker_configs(client, node)
    shown = {name: each for name, each in found.items() if each.source != DEFAULT}
    if as_json:
        emit_json({"broker": broker, "changed": changes} if changes else shown)
        return
    for line in changes_text(changes):
        click.echo(line)
    for name, each in sorted(shown.items() if not changes else ()):
        click.echo(f"{name}={each.value}  (set by {each.source})")


def _broker_or_all(given: str) -> int | None:
    if given == "all":
        return None
    if not given.isdecimal():
        raise click.UsageError(f"{given!r} is neither the number of a broker nor all")
    return int(given)


@command.command("remove")
@click.argument("broker", type=click.IntRange(min=0))
@yes_option
@cluster_options
def remove(broker: int, yes: bool, bootstrap: str, timeout_s: float) -> None:
    """Forget BROKER, which must be stopped and hold nothing any more.

    `penstock broker drain` moves what it holds to others.
    """
    from penstock.client.replicas import members, unknown_broker, unregister  # noqa: PLC0415

    confirm(f"Remove broker {broker} from the cluster for good?", yes)
    with connect(bootstrap, timeout_s) as client:
        known, _ = members(client)
        if broker not in known:
            raise unknown_broker(broker, known)
        unregister(client, broker)
        left = len(known) - 1
    click.echo(f"removed broker {broker}; {counted(left, 'broker')} left")
