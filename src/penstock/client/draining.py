"""Replicas moved off a broker that is to go, some at a time.

What has begun goes on by itself, whatever becomes of who began it: called again, this finds out how
far things are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from penstock.client.cluster import WireClient
from penstock.client.errors import ClientError
from penstock.client.replicas import Member, Move, Named, disks, members, moves, reassign
from penstock.errors import ErrorCode
from penstock.metadata.balancing import off_broker

LOOK_S = 0.5

Plan = dict[Named, tuple[int, ...]]


class Progress(NamedTuple):
    """Partitions that are yet to be moved and that are on the move, and bytes of the latter."""

    left: int
    moving: int
    copied_bytes: int
    whole_bytes: int


Tell = Callable[[Progress], None]


class Held(NamedTuple):
    replicas: tuple[int, ...]
    leader: int
    is_internal: bool


def drain(client: WireClient, broker: int, at_once: int, tell: Tell) -> None:
    """Until the broker holds nothing that anybody leads."""
    while True:
        held = [named for named, each in held_by(client, broker).items() if each.leader >= 0]
        if not held:
            return
        moving = len(moves(client))
        if moving < at_once:
            plan = drain_plan(client, broker, members(client)[0])
            led = ((named, plan[named]) for named in held if named in plan)
            reassign(client, dict(islice(led, at_once - moving)))
        tell(progress_of(client, len(held)))
        client.sleep(LOOK_S)


def drain_plan(client: WireClient, broker: int, known: Mapping[int, Member]) -> Plan:
    """New replicas for what the broker holds, and is not about to give away already. Raises
    ClientError if there is no room for it elsewhere."""
    partitions, targets = current_targets(client)
    plan: Plan = {}
    stuck: list[Named] = []
    for named, replicas in off_broker(targets, broker, open_racks(known)).items():
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
        raise _no_room(broker, {name for name, _ in stuck}, down)
    return plan


def _down(replicas: Iterable[int], known: Mapping[int, Member]) -> list[int]:
    return [each for each in replicas if each not in known or not known[each].is_alive]


def _no_room(broker: int, topics: Collection[str], down: Collection[int]) -> ClientError:
    names = ", ".join(sorted(topics)[:5])
    down_too = f", or start broker {' and '.join(map(str, sorted(down)))}" if down else ""
    return ClientError(
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        f"no other broker can take what broker {broker} holds of {names}: all that are alive "
        f"and not draining have a replica already; add a broker first{down_too}",
    )


def held_by(client: WireClient, broker: int) -> dict[Named, Held]:
    partitions, _ = current_targets(client)
    return {named: each for named, each in partitions.items() if broker in each.replicas}


def cancel_moves(client: WireClient, broker: int) -> int:
    """Those away from a broker; how many there were."""
    away = [named for named, move in moves(client).items() if broker in move.removing]
    reassign(client, dict.fromkeys(away))
    return len(away)


def progress_of(client: WireClient, left: int) -> Progress:
    moving, found = moves(client), disks(client)
    copied = whole = 0
    for named, move in moving.items():
        size = max((disk.sizes.get(named, 0) for disk in found.values()), default=0)
        here = [found[each].sizes.get(named, 0) for each in move.adding if each in found]
        whole += size * len(move.adding)
        copied += sum(min(each, size) for each in here)
    return Progress(left, len(moving), copied, whole)


def open_racks(known: Mapping[int, Member]) -> dict[int, str]:
    """Brokers that may be given replicas, with the rack each stands in."""
    return {
        node: each.place for node, each in known.items() if each.is_alive and not each.is_draining
    }


def current_targets(client: WireClient) -> tuple[dict[Named, Held], Plan]:
    """Who holds each partition, and who will once it has moved."""
    moving: Mapping[Named, Move] = moves(client)
    told = client.retry(lambda deadline: client.metadata(deadline=deadline))
    held, targets = {}, {}
    for name, topic in sorted(told.stored.items()):
        for index, each in topic.partitions.items():
            held[name, index] = Held(each.replicas, each.leader, topic.is_internal)
            removing = moving[name, index].removing if (name, index) in moving else ()
            targets[name, index] = tuple(node for node in each.replicas if node not in removing)
    return held, targets
