"""`penstock broker drain` and `rebalance`: replicas moved between brokers, some at a time.

What has begun goes on by itself, whatever becomes of this command: started again, it finds out how
far things are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

import click

from penstock.cli.options import cluster_options, confirm, connect, json_option, yes_option
from penstock.cli.output import counted, emit_json, emit_table, size_text

if TYPE_CHECKING:
    from penstock.client.cluster import WireClient
    from penstock.client.metadata import Partition
    from penstock.client.replicas import Member, Named

LOOK_S = 0.5

Plan = dict["Named", tuple[int, ...]]

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
    from penstock.client.admin import alter_broker  # noqa: PLC0415
    from penstock.client.replicas import DRAINING, members, unknown_broker  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        known, _ = members(client)
        if broker not in known:
            raise unknown_broker(broker, known)
        if cancel:
            alter_broker(client, broker, {DRAINING: None})
            click.echo(f"broker {broker} is not draining; {_cancel_moves(client, broker)}")
            return
        _drain_plan(client, broker, known)  # which says so if there is no room for it elsewhere
        alter_broker(client, broker, {DRAINING: "true"})
        _drain(client, broker, at_once)
        if abandon:
            _abandon(client, broker, yes)
        elif count := len(_held_by(client, broker)):
            raise click.ClickException(
                f"nobody leads {counted(count, 'partition')} that broker {broker} holds, so nobody "
                f"can copy from it: start broker {broker} again; if its records are lost for good, "
                "give them up with --abandon"
            )
    click.echo(
        f"broker {broker} holds nothing any more; stop it, and forget it with "
        f"`penstock broker remove {broker}`"
    )


def _cancel_moves(client: WireClient, broker: int) -> str:
    from penstock.client.replicas import moves, reassign  # noqa: PLC0415

    away = [named for named, move in moves(client).items() if broker in move.removing]
    reassign(client, dict.fromkeys(away))
    return f"{counted(len(away), 'move')} cancelled"


def _drain_plan(client: WireClient, broker: int, known: Mapping[int, Member]) -> Plan:
    """New replicas for what the broker holds, and is not about to give away already."""
    from penstock.metadata.balancing import off_broker  # noqa: PLC0415

    partitions, targets = _targets(client)
    plan: Plan = {}
    stuck: list[Named] = []
    for named, replicas in off_broker(targets, broker, _open_racks(known)).items():
        if replicas is not None:
            plan[named] = replicas
            continue
        rest = tuple(each for each in targets[named] if each != broker)
        if partitions[named].is_internal and rest and not _down(rest, known):
            plan[named] = rest  # it has as many replicas as there are brokers
        else:
            stuck.append(named)
    if stuck:
        down = {each for named in stuck for each in _down(targets[named], known)} - {broker}
        raise click.ClickException(_no_room(broker, {name for name, _ in stuck}, down))
    return plan


def _down(replicas: Iterable[int], known: Mapping[int, Member]) -> list[int]:
    return [each for each in replicas if each not in known or not known[each].is_alive]


def _no_room(broker: int, topics: Collection[str], down: Collection[int]) -> str:
    names = ", ".join(sorted(topics)[:5])
    down_too = f", or start broker {' and '.join(map(str, sorted(down)))}" if down else ""
    return (
        f"no other broker can take what broker {broker} holds of {names}: all that are alive "
        f"and not draining have a replica already; add a broker first{down_too}"
    )


def _drain(client: WireClient, broker: int, at_once: int) -> None:
    from penstock.client.replicas import members, reassign  # noqa: PLC0415

    told = _Told()
    while True:
        held = [named for named, each in _held_by(client, broker).items() if each.leader >= 0]
        if not held:
            return
        moving = told.tell(client, len(held))
        if moving < at_once:
            plan = _drain_plan(client, broker, members(client)[0])
            led = ((named, plan[named]) for named in held if named in plan)
            reassign(client, dict(islice(led, at_once - moving)))
        client.sleep(LOOK_S)


def _held_by(client: WireClient, broker: int) -> dict[Named, _Held]:
    partitions, _ = _targets(client)
    return {named: each for named, each in partitions.items() if broker in each.replicas}


def _abandon(client: WireClient, broker: int, yes: bool) -> None:
    """What nobody leads goes to others without its records."""
    from penstock.client.replicas import elect_leaders, members, reassign  # noqa: PLC0415

    held = _held_by(client, broker)
    if not held:
        return
    confirm(f"Give up the records of {counted(len(held), 'partition')}?", yes)
    reassign(client, _drain_plan(client, broker, members(client)[0]))
    elect_leaders(client, held, unclean=True)
    _drain(client, broker, len(held))


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
    from penstock.client.replicas import elect_leaders, members  # noqa: PLC0415
    from penstock.metadata.balancing import evened  # noqa: PLC0415

    with connect(bootstrap, timeout_s) as client:
        _, targets = _targets(client)
        plan = evened(targets, _open_racks(members(client)[0]))
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
    from penstock.client.replicas import moves, reassign  # noqa: PLC0415

    told = _Told()
    begun: set[Named] = set()
    while True:
        moving = moves(client)
        begun = {named for named in begun if named in moving}
        if not plan and not begun:
            return
        told.tell(client, len(plan) + len(begun))
        batch = dict(islice(plan.items(), max(at_once - len(begun), 0)))
        reassign(client, batch)
        begun.update(batch)
        for named in batch:
            del plan[named]
        client.sleep(LOOK_S)


class _Told:
    """Says how far things are, on standard error, whenever that has changed."""

    def __init__(self) -> None:
        self._last = ""

    def tell(self, client: WireClient, left: int) -> int:
        """How many partitions are on the move."""
        from penstock.client.replicas import disks, moves  # noqa: PLC0415

        moving, found = moves(client), disks(client)
        copied = whole = 0
        for named, move in moving.items():
            size = max((disk.sizes.get(named, 0) for disk in found.values()), default=0)
            here = [found[each].sizes.get(named, 0) for each in move.adding if each in found]
            whole += size * len(move.adding)
            copied += sum(min(each, size) for each in here)
        words = f"{counted(left, 'partition')} left, {len(moving)} on the move"
        if whole:
            words += f", {size_text(copied)} of {size_text(whole)} copied"
        if words != self._last:
            click.echo(words, err=True)
        self._last = words
        return len(moving)


def _open_racks(known: Mapping[int, Member]) -> dict[int, str]:
    """Brokers that may be given replicas, with the rack each stands in."""
    return {
        node: each.place for node, each in known.items() if each.is_alive and not each.is_draining
    }


class _Held:
    """A partition, and whether its topic is internal."""

    __slots__ = ("is_internal", "leader", "replicas")

    def __init__(self, partition: Partition, is_internal: bool) -> None:
        self.replicas = partition.replicas
        self.leader = partition.leader
        self.is_internal = is_internal


def _targets(client: WireClient) -> tuple[dict[Named, _Held], Plan]:
    """Who holds each partition, and who will once it has moved."""
    from penstock.client.replicas import moves  # noqa: PLC0415

    moving = moves(client)
    told = client.retry(lambda deadline: client.metadata(deadline=deadline))
    held, targets = {}, {}
    for name, topic in sorted(told.topics.items()):
        for index, each in topic.partitions.items():
            held[name, index] = _Held(each, topic.is_internal)
            removing = moving[name, index].removing if (name, index) in moving else ()
            targets[name, index] = tuple(node for node in each.replicas if node not in removing)
    return held, targets
