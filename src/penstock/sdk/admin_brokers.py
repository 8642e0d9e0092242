"""Brokers: what each holds, its settings, and how it goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from penstock.client import admin as wire
from penstock.client import draining
from penstock.client.cluster import WireClient
from penstock.client.holdings import Holding, all_partitions, holding_of
from penstock.client.replicas import DRAINING, Member, disks, members, unknown_broker, unregister
from penstock.sdk.admin_line import Line, Value, as_settings, texts
from penstock.sdk.admin_values import Broker, DrainProgress, Setting
from penstock.sdk.errors import BrokerRefused, TimedOut


class Brokers:
    def __init__(self, line: Line) -> None:
        self._line = line

    def list(self) -> tuple[Broker, ...]:
        """Alive or not, by number."""
        with self._line.open() as client:
            known, controller = members(client)
            partitions, found = all_partitions(client), disks(client)
        return tuple(
            _broker(each, controller, holding_of(node, partitions.values(), found.get(node)))
            for node, each in sorted(known.items())
        )

    def describe(self, node: int) -> Broker:
        found = {each.id: each for each in self.list()}
        if node in found:
            return found[node]
        with self._line.open():
            raise unknown_broker(node, found)

    def drain(
        self,
        node: int,
        *,
        at_once: int = 20,
        timeout_s: float = 3600.0,
        on_progress: Callable[[DrainProgress], None] | None = None,
    ) -> None:
        """Moves all that a broker holds to others, so many partitions at a time, and gives it
        nothing more. Returns when that is done; `on_progress` is told how far it is about twice a
        second. TimedOut: it goes on by itself as far as it was begun; call it again."""
        give_up_s = time.monotonic() + timeout_s

        def tell(progress: draining.Progress) -> None:
            if on_progress is not None:
                on_progress(DrainProgress(*progress))
            if time.monotonic() > give_up_s:
                raise TimedOut(
                    f"broker {node} still holds {progress.left} partitions after {timeout_s:g} s; "
                    "what was begun goes on by itself: call drain() again for the rest"
                )

        with self._line.open() as client:
            known = _known(client, node)
            draining.drain_plan(client, node, known)  # which says so if there is no room for it
            wire.alter_broker(client, node, {DRAINING: "true"})
            draining.drain(client, node, at_once, tell)
            if stuck := draining.held_by(client, node):
                raise BrokerRefused(
                    f"nobody leads {len(stuck)} partitions that broker {node} holds, so nobody can "
                    f"copy from it: start broker {node} again, or give their records up with "
                    f"`penstock broker drain {node} --abandon`"
                )

    def cancel_drain(self, node: int) -> None:
        """It may have replicas again, and what was on the move stays."""
        with self._line.open() as client:
            _known(client, node)
            wire.alter_broker(client, node, {DRAINING: None})
            draining.cancel_moves(client, node)

    def remove(self, node: int) -> None:
        """Forgets one that is stopped, and holds nothing any more."""
        with self._line.open() as client:
            _known(client, node)
            unregister(client, node)

    def get_configs(self, node: int | None = None) -> dict[str, Setting]:
        """Of one; without a number, what was set for all of them together while they ran."""
        with self._line.open() as client:
            if node is None:
                return as_settings(wire.all_broker_configs(client))
            wire.check_registered(client, node)
            return as_settings(wire.broker_configs(client, node))

    def set_configs(self, node: int | None, configs: Mapping[str, Value]) -> None:
        """While it runs; None: of all of them."""
        with self._line.open() as client:
            if node is not None:
                _known(client, node)
            wire.alter_broker(client, node, texts(configs))

    def unset_configs(self, node: int | None, *settings: str) -> None:
        with self._line.open() as client:
            if node is not None:
                _known(client, node)
            wire.alter_broker(client, node, dict.fromkeys(settings))


def _known(client: WireClient, node: int) -> dict[int, Member]:
    known, _ = members(client)
    if node not in known:
        raise unknown_broker(node, known)
    return known


def _broker(member: Member, controller: int, holding: Holding) -> Broker:
    return Broker(
        id=member.node_id,
        host=member.host,
        port=member.port,
        rack=member.rack,
        is_alive=member.is_alive,
        is_draining=member.is_draining,
        is_controller=member.node_id == controller,
        replicas=holding.replicas,
        leads=holding.leads,
        behind=holding.behind,
        data_bytes=holding.data_bytes,
        free_bytes=holding.free_bytes,
    )
