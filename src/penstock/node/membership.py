"""A broker's place in the cluster: its lease, its registration, and how it takes its leave."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from penstock.config import BrokerConfig
from penstock.errors import ErrorCode, Refused, Unusable
from penstock.log.log_dir import LogDir
from penstock.metadata.changes import Commit
from penstock.metadata.cluster_changes import announce_leaving, register_broker
from penstock.metadata.election import leads_for_others
from penstock.metadata.features import SUPPORTED
from penstock.metadata.image import Image
from penstock.metadata.keeper import Keeper
from penstock.metadata.records import BrokerRecord
from penstock.metadata.store import Session, SessionLost, Store, Unavailable, Unknown
from penstock.node.settings import host_and_port
from penstock.world.ports import World

log = logging.getLogger(__name__)

T = TypeVar("T")

RETRY_MS = 500
HAND_OVER_CHECK_MS = 20
REGISTRATIONS_KEPT = 10
LEASES_WAITED_FOR = 2
TAKEN_CHECK_MS = 100
EVERYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104


class Membership:
    def __init__(
        self,
        world: World,
        config: BrokerConfig,
        store: Store,
        keeper: Keeper,
        log_dir: LogDir,
        listening: tuple[str, int],
        fail: Callable[[str], None],
    ) -> None:
        """`fail` is told why the broker cannot go on."""
        self._world = world
        self._config = config
        self._store = store
        self._keeper = keeper
        self._image = keeper.image
        self._log_dir = log_dir
        self._listening = listening
        self._fail = fail
        self._incarnations: deque[bytes] = deque(maxlen=REGISTRATIONS_KEPT)
        """Of this process's own registrations."""
        self._session: Session | None = None

    @property
    def session(self) -> Session:
        """Once it is registered."""
        assert self._session is not None
        return self._session

    @property
    def has_lease(self) -> bool:
        return self._session is not None and not self._session.suspended

    # -- coming

    async def wait_until_free(self) -> None:
        """A broker that was lost together with its disk may have its lease for a while yet. Where
        nobody else is up, it ends only if somebody waits for that."""
        node_id, clock = self._config.node_id, self._world.clock
        give_up_ms = clock.monotonic_ms() + LEASES_WAITED_FOR * self._config.session_timeout_ms
        is_told = False
        while self._is_taken() and clock.monotonic_ms() < give_up_ms:
            if not is_told:
                log.warning("there is a broker %d; waiting for its lease to end", node_id)
            is_told = True
            await asyncio.sleep(TAKEN_CHECK_MS / 1000)

    def _is_taken(self) -> bool:
        known = self._image.brokers.get(self._config.node_id)
        return known is not None and known.record.owner != self._owner

    def _advertised(self) -> tuple[str, int]:
        own_host, own_port = self._listening
        if not self._config.advertise:
            return self._world.network.host_name() if own_host in EVERYWHERE else own_host, own_port
        host, port = host_and_port(self._config.advertise, "advertised.listeners")
        if host in EVERYWHERE:
            raise Unusable("advertised.listeners must be an address that clients can connect to")
        return host, port or own_port

    @property
    def _owner(self) -> bytes:
        return self._log_dir.meta.directory_id.encode()

    async def register(self) -> None:
        """All or nothing: a lease without a broker would look like one that is well."""
        session = await self._store.session(self._config.session_timeout_ms)
        try:
            await self._announce(session.id)
        except BaseException:
            await _let_go(session)
            raise
        self._session = session

    async def _announce(self, session_id: str) -> None:
        host, port = self._advertised()
        incarnation = self._world.chance.uuid()
        record = BrokerRecord(
            node_id=self._config.node_id,
            host=host,
            port=port,
            rack=self._config.rack,
            owner=self._owner,
            incarnation=incarnation,
            features=dict(SUPPORTED),
            clean=self._log_dir.was_clean,
        )
        self._incarnations.append(incarnation)
        mark = self._log_dir.mark
        await self.change(lambda image: register_broker(image, record, session_id, mark))

    async def change(self, decide: Callable[[Image], Commit[T]]) -> T:
        try:
            return await self._keeper.change(decide)
        except SessionLost as lost:
            raise Unavailable(
                f"the metadata store ended the lease before the broker was registered: {lost}"
            ) from lost
        except Refused as refused:
            if refused.code is ErrorCode.REQUEST_TIMED_OUT:  # the store was busy, which passes
                raise Unavailable(refused.message) from refused
            raise Unusable(refused.message) from refused

    # -- staying

    async def stay_registered(self) -> None:
        """A broker that was held up for longer than its lease comes back by itself, if its place in
        the cluster is as it left it. Else it ends: a start finds out what it has."""
        while True:
            await self.session.wait_lost()
            log.warning("the lease of broker %d ended; registering again", self._config.node_id)
            while self.session.lost:
                try:
                    await self.register()
                except Unusable as problem:
                    self._fail(str(problem))
                    return
                except (SessionLost, Unavailable, Unknown) as problem:
                    log.error("the metadata store did not take the registration: %s", problem)
                    await asyncio.sleep(RETRY_MS / 1000)

    def give_way(self) -> None:
        """To another process that has taken over: two could not both be this broker."""
        now = self._image.brokers.get(self._config.node_id)
        if now is not None and now.record.incarnation not in self._incarnations:
            self._fail(
                f"another process has registered as broker {self._config.node_id}, at "
                f"{now.record.host}:{now.record.port}, with a copy of this data folder"
            )

    # -- leaving

    async def hand_over(self) -> None:
        """What this broker leads and others can lead is theirs before it stops."""
        node_id, session = self._config.node_id, self.session
        if self._image.brokers.keys() <= {node_id} or session.lost:
            return
        try:
            await self._keeper.change(lambda image: announce_leaving(image, node_id, session.id))
            async with asyncio.timeout(self._config.controlled_shutdown_timeout_ms / 1000):
                while leads_for_others(self._image, node_id):
                    await asyncio.sleep(HAND_OVER_CHECK_MS / 1000)
        except (Refused, SessionLost, TimeoutError) as problem:
            log.warning("stopping without having handed over what this broker leads: %s", problem)

    async def leave(self) -> None:
        await _let_go(self.session)


async def _let_go(session: Session) -> None:
    """Where the store cannot be told, the lease ends by itself."""
    with suppress(Unavailable, Unknown, Unusable):
        await session.close()
