"""One broker, put together from its settings and a world, and taken apart again.

To start: take the data folder, learn what the cluster is, bring the logs into order, listen, and
only then tell the cluster (and so the clients) where. To stop: the same backwards.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from contextlib import suppress
from functools import partial

from penstock.api.broker import Broker
from penstock.api.table import answered
from penstock.errors import ErrorCode, Refused, Unusable
from penstock.log.log_dir import LogDir
from penstock.metadata.cluster import Changed, Topic
from penstock.metadata.cluster_changes import bump_leader_epochs, register_broker
from penstock.metadata.features import SUPPORTED
from penstock.metadata.image import Image
from penstock.metadata.keeper import Keeper
from penstock.metadata.records import BrokerRecord
from penstock.metadata.store import Session, SessionLost, Store, Unavailable, Unknown
from penstock.metadata.stores.sqlite import SqliteStore
from penstock.node.settings import NodeSettings, host_and_port
from penstock.server.coordinating import Coordinating
from penstock.server.door import Door
from penstock.server.reserve import Reserve
from penstock.server.steps import carry_out, wait_on
from penstock.server.syncer import Syncer
from penstock.server.upkeep import Upkeep
from penstock.world.ports import Listener, World

log = logging.getLogger(__name__)

RETRY_MS = 500
EVERYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104


class Node:
    def __init__(self, world: World, settings: NodeSettings) -> None:
        self.world = world
        self.settings = settings
        self.config = settings.broker
        self.failed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Gets a reason when the broker cannot go on and must be stopped."""
        self.host, self.port = "", 0

    async def start(self) -> None:
        disk, config = self.world.disk, self.config
        disk.make_folder(config.data_dir)
        self.reserve = Reserve(disk, config.data_dir)
        if self.reserve.give_up_if_needed():
            log.error("the disk is full; the broker starts with what it had in reserve")
        self.store = await self._open_store()
        self.image = Image(config.node_id, self.settings.texts)
        self.keeper = Keeper(self.store, self.image)
        await self.keeper.start(_text(self.world.chance.uuid()))
        self.log_dir = LogDir(
            disk,
            config.data_dir,
            cluster_id=self.image.cluster_id,
            node_id=config.node_id,
            directory_id=_text(self.world.chance.uuid()),
        )
        await self._recover_logs()
        self._build()
        with suppress(OSError):  # no room for the reserve: then none for records either
            await self.upkeep.keep_room()
        self._listen()
        await self._register(bump=not self.log_dir.was_clean)
        self.upkeep.start()
        self.coordinating.start()
        self._watches = [
            asyncio.create_task(self._stay_registered()),
            asyncio.create_task(self._watch_keeper()),
        ]

    async def _stay_registered(self) -> None:
        """A broker that was held up for longer than its lease comes back by itself."""
        while True:
            await self.session.wait_lost()
            log.warning("the lease of broker %d ended; registering again", self.config.node_id)
            while self.session.lost:
                try:
                    await self._register(bump=False)
                except Unusable as problem:
                    self._fail(str(problem))
                    return
                except (SessionLost, Unavailable, Unknown) as problem:
                    log.error("the metadata store did not take the registration: %s", problem)
                    await asyncio.sleep(RETRY_MS / 1000)

    async def _watch_keeper(self) -> None:
        self._fail(f"the metadata store cannot be followed: {await self.keeper.wait_failed()}")

    def _build(self) -> None:
        world = self.world
        self.syncer = Syncer(world.disk, lambda error: self._fail(f"disk failure: {error}"))
        self.broker = Broker(
            self.config,
            self.image,
            self.log_dir,
            world.disk,
            world.chance,
            world.clock,
            answered(),
            in_steps=partial(carry_out, partial(wait_on, world.disk, syncer=self.syncer)),
        )
        self.broker.configured = dict(self.settings.texts)
        self.door = Door(world, self.broker, self.keeper, self.syncer)
        self.upkeep = Upkeep(
            world.clock, world.disk, self.broker, self.door, self.syncer, self.reserve
        )
        self.coordinating = Coordinating(world.disk, self.door)
        self.keeper.on_change = self._follow
        self.keeper.make_room = self._make_room

    async def _open_store(self) -> Store:
        url = self.config.store or f"sqlite:{self.config.data_dir}/metadata.sqlite"
        kind, _, rest = url.partition(":")
        if kind != "sqlite" or not rest:
            raise Unusable(f"metadata.store: {url!r} is not known; give sqlite:PATH")
        return await SqliteStore.open(rest)

    async def _recover_logs(self) -> None:
        """Bring the logs into order, and move what belongs to no partition of ours aside."""
        log_dir, image = self.log_dir, self.image
        for topic in image.topics.values():
            for index in range(topic.record.partitions):
                if log_dir.is_missing(topic.name, index, topic.id):
                    log.error("the folder of %s-%d is gone, with its records", topic.name, index)
                    self._claim(topic, index)
                elif log_dir.has_folder(topic.name, index):
                    self._claim(topic, index)
        for problem in log_dir.problems:
            log.error("%s; the logs are looked through instead", problem)
        for folder in log_dir.set_aside_unclaimed():
            log.warning("%s belongs to no topic of this cluster, and was moved aside", folder)
        for _ in log_dir.recover_all():
            await asyncio.sleep(0)
        for (name, index), reason in log_dir.unrecoverable.items():
            log.error("%s-%d is left out until the next start: %s", name, index, reason)
        await self._sync_recovered()
        for each in log_dir.logs.values():
            for damage in each.damage:
                log.error("%s is damaged: %s; reads of it are refused", each.folder, damage)

    def _claim(self, topic: Topic, index: int) -> None:
        try:
            self.log_dir.log_for(topic.name, index, topic.id, self.image.config(topic))
        except (OSError, Unusable) as problem:
            log.error("%s-%d is left out: %s", topic.name, index, problem)

    async def _sync_recovered(self) -> None:
        """What a crash left in the page cache counts once it is on disk, like anything else."""
        tokens = [
            (each, each.begin_sync())
            for each in self.log_dir.logs.values()
            if each.is_open and each.synced_end < each.end_offset
        ]
        files = [file for _, token in tokens for file in token.files]
        folders = [folder for _, token in tokens for folder in token.folders]
        await self.world.disk.sync_all(files, folders)
        for each, token in tokens:
            each.end_sync(token)

    def _listen(self) -> None:
        host, port = host_and_port(self.config.listen, "listeners")
        self.listener: Listener = self.world.network.listen(host, port, self.door.admit)
        self.host, self.port = host, self.listener.port

    def _advertised(self) -> tuple[str, int]:
        if self.config.advertise:
            host, port = host_and_port(self.config.advertise, "advertised.listeners")
            if host in EVERYWHERE:
                raise Unusable(
                    "advertised.listeners must be an address that clients can connect to"
                )
            return host, port or self.port
        host = self.world.network.host_name() if self.host in EVERYWHERE else self.host
        return host, self.port

    async def _register(self, *, bump: bool) -> None:
        """All or nothing: a lease without a broker would look like one that is well."""
        session = await self.store.session(self.config.session_timeout_ms)
        try:
            await self._announce(session.id, bump)
        except BaseException:
            await self._let_go(session)
            raise
        self.session: Session = session

    async def _let_go(self, session: Session) -> None:
        """Where the store cannot be told, the lease ends by itself."""
        with suppress(Unavailable, Unknown, Unusable):
            await session.close()

    async def _announce(self, session_id: str, bump: bool) -> None:
        host, port = self._advertised()
        record = BrokerRecord(
            node_id=self.config.node_id,
            host=host,
            port=port,
            rack=self.config.rack,
            owner=self.log_dir.meta.directory_id.encode(),
            incarnation=self.world.chance.uuid(),
            features=dict(SUPPORTED),
        )
        try:
            await self.keeper.change(lambda image: register_broker(image, record, session_id))
        except Refused as refused:
            if refused.code is ErrorCode.REQUEST_TIMED_OUT:  # the store was busy, which passes
                raise Unavailable(refused.message) from refused
            raise Unusable(refused.message) from refused
        if bump:
            node_id = self.config.node_id
            epoch = self.image.brokers[node_id].epoch
            await self.keeper.change(
                lambda image: bump_leader_epochs(image, node_id, broker_epoch=epoch)
            )

    def _follow(self, changed: Changed) -> None:
        """Keep the partitions that are open in step with the image."""
        for topic in changed.deleted.values():
            self.broker.remove_topic(topic)
            self.upkeep.delete_logs(topic)
        for topic in changed.altered.values():
            self.broker.reconfigure(topic)
        for topic_id, index in changed.partitions:
            self.broker.follow_partition(topic_id, index)
        if changed.broker_configs:
            self.broker.reconfigure_all()
        self.coordinating.follow(changed)

    def _make_room(self) -> bool:
        if not self.reserve.give_up():
            return False
        log.warning("the disk is full; what was held in reserve is given up to make room")
        self.broker.disk_is_full = True  # upkeep says when there is room again
        return True

    def _fail(self, reason: str) -> None:
        if not self.failed.done():
            self.failed.set_result(reason)

    async def stop(self) -> None:
        """Cleanly: everything that was acknowledged, and more, is on disk and marked so.

        Unusable, and no mark, if the disk did not take it.
        """
        for watch in self._watches:
            watch.cancel()
        self.listener.close()
        self.door.close()
        await self.coordinating.stop()
        await self.upkeep.stop()
        try:
            await self._close_logs()
        finally:
            await self._let_go(self.session)
            await self.keeper.close()
            await self.store.close()

    async def _close_logs(self) -> None:
        member = self.image.brokers.get(self.config.node_id)
        try:
            self.reserve.give_up_if_needed()
            await self.syncer.drain()
            await self.world.disk.sync_all(*self.log_dir.close_logs())
            self.log_dir.finish(member.epoch if member else -1)
        except Exception as problem:
            self.log_dir.abandon()
            if not isinstance(problem, OSError):
                raise
            raise Unusable(
                f"the stop was not clean, because the disk failed ({problem}); the next start "
                "looks through the logs"
            ) from problem


def _text(uuid: bytes) -> str:
    """As Kafka writes its ids."""
    return base64.urlsafe_b64encode(uuid).decode().rstrip("=")
