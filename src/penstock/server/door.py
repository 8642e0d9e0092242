"""Lets connections in, up to the limits, and shows out those that have gone quiet."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

from penstock.api.broker import Broker
from penstock.metadata.keeper import Keeper
from penstock.replication.replica import Replica
from penstock.server.announcing import announce
from penstock.server.deadlines import Deadlines
from penstock.server.decoding import Decoding
from penstock.server.memory import Budget, Buffers
from penstock.server.rota import Rota, Round
from penstock.server.session import Session
from penstock.server.syncer import Syncer
from penstock.world.ports import Connection, World

log = logging.getLogger(__name__)

BUFFER_SIZE = 2 << 20
"""One receive buffer serves all connections: a pass is over before the next one begins."""


class Door:
    def __init__(self, world: World, broker: Broker, keeper: Keeper, syncer: Syncer) -> None:
        self.loop = asyncio.get_running_loop()
        self.clock = world.clock
        self.config = broker.config
        self.broker = broker
        self.change: Callable[[Any], Any] = keeper.change
        self.budget = Budget(broker.config.queued_max_bytes)
        self.deadlines = Deadlines(self.loop)
        self.decoding = Decoding(world.disk)
        self.buffers = Buffers()
        self.kept = 0
        """Bytes of requests whose beginning has arrived, and which are not in the budget."""
        self.buffer = memoryview(bytearray(BUFFER_SIZE))
        self.round = Round(self.loop, self.clock)
        self.requests = Rota(self.loop, self.clock, has_two_ends=True)
        """Connections that have more to be received or handled than there was time for."""
        self.answers = Rota(self.loop, self.clock)
        """Answers that have become ready, to be encoded and sent."""
        self._syncer = syncer
        self._numbers = count(1)
        self._sessions: dict[Session, None] = {}
        self._from: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._sending: set[Session] = set()
        self._full = False

    @property
    def connections(self) -> int:
        return len(self._sessions)

    def take_number(self) -> int:
        """For a new connection."""
        return next(self._numbers)

    def admit(self, connection: Connection) -> None:
        host = connection.peer.rpartition(":")[0]
        if len(self._sessions) >= self.config.max_connections:
            self._turn_away(connection, f"max.connections={self.config.max_connections}")
        elif self._from[host] >= self.config.max_connections_per_ip:
            limit = self.config.max_connections_per_ip
            self._turn_away(connection, f"max.connections.per.ip={limit}")
        else:
            self._full = False
            self._from[host] += 1
            self._sessions[Session(self, connection)] = None

    def _turn_away(self, connection: Connection, limit: str) -> None:
        if not self._full:
            log.warning("turning connections away, %s is the first: %s", connection.peer, limit)
        self._full = True
        connection.close()

    def forget(self, session: Session) -> None:
        self._sessions.pop(session, None)
        self.broker.shared.connection_lost(session.number)
        host = session.peer.rpartition(":")[0]
        self._from[host] -= 1
        if not self._from[host]:
            del self._from[host]

    def keep(self, task: asyncio.Task[None]) -> None:
        """The loop itself holds tasks only weakly."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def send_soon(self, session: Session) -> None:
        """Many answers become ready at once, when a sync ends: each connection sends its own
        together."""
        if session not in self._sending:
            self._sending.add(session)
            self.answers.add(partial(self._send, session))

    def _send(self, session: Session) -> None:
        self._sending.discard(session)
        session.send()

    def write_out(self, patient: Replica | None = None) -> list[Replica]:
        """End a pass: everything appended goes to the log files. Returns what became committed.
        Nobody waits for what was appended to `patient`.

        A log that cannot be written is as it was before the pass, the others are written and
        announced all the same, and then OSError is raised: no answer of this pass may be sent.
        """
        moved: list[Replica] = [*self.broker.take_moved()]
        failure = None
        for replica in self.broker.take_dirty():
            try:
                replica.log.write_out()
            except OSError as error:
                failure = error
                continue
            replica.grown.fire()
            partition, config = replica.log, replica.log.config
            is_due = partition.has_enough_to_flush or partition.rolled or partition.begun
            if is_due or (config.flush_on_acks_all and replica is not patient):
                self._syncer.want(replica)
            elif config.flush_on_acks_all:
                self._syncer.want_soon(replica)
            if not config.flush_on_acks_all and replica.advance():
                moved.append(replica)
        if failure is not None:
            for replica in moved:
                announce(replica)
            raise failure
        return moved

    def settle(self, patient: Replica | None = None) -> None:
        """End a pass that no connection waits for."""
        try:
            moved = self.write_out(patient)
        except OSError as error:
            log.error("the log could not be written: %s", error)
            self.disk_failed(error)
            return
        for leader in moved:
            announce(leader)

    def disk_failed(self, error: OSError) -> None:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            self.broker.disk_is_full = True  # upkeep says when there is room again

    def close_idle(self) -> None:
        """Connections without a request for too long, and requests that never finish arriving."""
        now_ms = self.clock.monotonic_ms()
        idle_since = now_ms - self.config.connections_max_idle_ms
        started_by = now_ms - self.config.request_receive_timeout_ms
        for session in list(self._sessions):
            since_ms = session.request_since_ms
            if since_ms is not None and since_ms < started_by:
                log.warning("closing the connection from %s: a request never ended", session.peer)
                session.close()
            elif session.active_ms < idle_since and not session.is_waiting:
                session.close()

    def close(self) -> None:
        for session in list(self._sessions):
            session.close()
