"""`penstock broker drain` and `rebalance`: replicas moved between brokers, some at a time.

What has begun goes on by itself, whatever becomes of this command: started again, it finds out how
far things are.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import click

from penstock.cli.options import cluster_options, confirm, connect, json_option, yes_option
from penstock.cli.output import counted, emit_json, emit_table, size_text

if TYPE_CHECKING:
    from penstock.client.cluster import WireClient
    from penstock.client.draining import Plan, Progress
    from penstock.client.replicas import Named

at_once_option = click.option(
    "--at-once",
    metavar="N",
    type=click.IntRange(1, 10_000),
    default=20,
    show_default=True,
    help="Partitions that are on the move at a time.",
)


@click.command("drain")
@click.argument("broker", type=click.IntRange(min=0))
@at_once_option
@click.option("--cancel", is_flag=True, help="Stop draining, and let it have replicas again.")
@click.option(
    "--abandon", is_flag=True, help="Give up records that no broker has that is alive; asks first."
)
@yes_option
@cluster_options
def drain(
    broker: int,
    at_once: int,
    cancel: bool,
    abandon: bool,
    yes: bool,
    bootstrap: str,
    timeout_s: float,
) -> None:
    """Move all that BROKER holds to others, and give it nothing more.

    Waits until that is done. The broker may be down, if others have what it held. Copying is held
    back by the setting follower.replication.throttled.rate of the brokers that copy.
    """
    from penstock.client import draining  # noqa: PLC0415
    from penstock.client.admin import alter_broker  # noqa: PLC0415
    from penstock.client.replicas import DRAINING, members, unknown_broker  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        known, _ = members(client)
        if broker not in known:
            raise unknown_broker(broker, known)
        if cancel:
            alter_broker(client, broker, {DRAINING: None})
            cancelled = counted(draining.cancel_moves(client, broker), "move")
            click.echo(f"broker {broker} is not draining; {cancelled} cancelled")
            return
        draining.drain_plan(
            client, broker, known
        )  # which says so if there is no room for it elsewhere
        alter_broker(client, broker, {DRAINING: "true"})
        draining.drain(client, broker, at_once, _Told())
        if abandon:
            _abandon(client, broker, yes)
        elif count := len(draining.held_by(client, broker)):
            raise click.ClickException(
                f"nobody leads {counted(count, 'partition')} that broker {broker} holds, so nobody "
                f"can copy from it: start broker {broker} again; if its records are lost for good, "
                "give them up with --abandon"
            )
    click.echo(
        f"broker {broker} holds nothing any more; stop it, and forget it with "
        f"`penstock broker remove {broker}`"
    )


def _abandon(client: WireClient, broker: int, yes: bool) -> None:
    """What nobody leads goes to others without its records."""
    from penstock.client.draining import drain, drain_plan, held_by  # noqa: PLC0415
    from penstock.client.replicas import elect_leaders, members, reassign  # noqa: PLC0415

    held = held_by(client, broker)
    if not held:
        return
    confirm(f"Give up the records of {counted(len(held), 'partition')}?", yes)
    reassign(client, drain_plan(client, broker, members(client)[0]))
    elect_leaders(client, held, unclean=True)
    drain(client, broker, len(held), _Told())


@click.command("rebalance")
@click.option("--dry-run", is_flag=True, help="Only show what would be moved.")
@at_once_option
@json_option
@cluster_options
def rebalance(dry_run: bool, at_once: int, as_json: bool, bootstrap: str, timeout_s: float) -> None:
    """Move as few replicas as it takes for all brokers to hold as many: after one was added, say.

    Racks are kept apart. Brokers that are down or draining get nothing. Waits until that is done,
    and lets the preferred leaders lead then.
    """
    from penstock.client.draining import current_targets, open_racks  # noqa: PLC0415
    from penstock.client.replicas import elect_leaders, members  # noqa: PLC0415
    from penstock.metadata.balancing import evened  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        _, targets = current_targets(client)
        plan = evened(targets, open_racks(members(client)[0]))
        if dry_run or as_json:
            _show(plan, targets, as_json)
        if dry_run:
            return
        _carry_out(client, dict(plan), at_once)
        elected = elect_leaders(client, plan) if plan else 0
    if not as_json:
        click.echo(
            f"{counted(len(plan), 'partition')} moved or put in order, "
            f"{counted(elected, 'leader')} changed"
        )


def _show(plan: Plan, targets: Plan, as_json: bool) -> None:
    rows = [
        {"topic": name, "partition": index, "from": targets[name, index], "to": replicas}
        for (name, index), replicas in plan.items()
    ]
    if as_json:
        emit_json(rows)
    elif rows:
        emit_table(list(rows[0]), [list(row.values()) for row in rows])
    else:
        click.echo("all brokers hold as many already")


def _carry_out(client: WireClient, plan: Plan, at_once: int) -> None:
    from penstock.client.draining import LOOK_S, progress_of  # noqa: PLC0415
    from penstock.client.replicas import moves, reassign  # noqa: PLC0415

    tell = _Told()
    begun: set[Named] = set()
    while True:
        moving = moves(client)
        begun = {named for named in begun if named in moving}
        if not plan and not begun:
            return
        batch = dict(islice(plan.items(), max(at_once - len(begun), 0)))
        reassign(client, batch)
        begun.update(batch)
        for named in batch:
            del plan[named]
        tell(progress_of(client, len(plan) + len(begun)))
        client.sleep(LOOK_S)


class _Told:
    """Says how far things are, on standard error, whenever that has changed."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, progress: Progress) -> None:
        words = f"{counted(progress.left, 'partition')} left, {progress.moving} on the move"
        if progress.whole_bytes:
            copied, whole = size_text(progress.copied_bytes), size_text(progress.whole_bytes)
            words += f", {copied} of {whole} copied"
        if words != self._last:
            click.echo(words, err=True)
        self._last = words
