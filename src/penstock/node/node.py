"""One broker, put together from its settings and a world, and taken apart again.

To start: take the data folder, learn what the cluster is, bring the logs into order, listen, and
only then tell the cluster (and so the clients) where. To stop: the same backwards.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import TypeVar

from penstock.api.broker import Broker
from penstock.api.sealing import take_over_logs
from penstock.api.table import answered
from penstock.errors import Refused, Unusable
from penstock.log.log_dir import LogDir
from penstock.metadata.cluster import Changed, Topic
from penstock.metadata.election import Place
from penstock.metadata.image import Image
from penstock.metadata.keeper import Keeper
from penstock.metadata.store import Session, SessionLost, Unavailable
from penstock.metadata.topic_settings import shared, unheeded
from penstock.node.marking import Marking
from penstock.node.membership import Membership
from penstock.node.recovering import Recovering
from penstock.node.rejoining import Rejoining
from penstock.node.settings import NodeSettings, host_and_port
from penstock.node.stores import OpenStore, opened_store
from penstock.node.unsynced import Unsynced
from penstock.server.archive_hold import ArchiveHold
from penstock.server.carrying import Carrying
from penstock.server.controlling import Controlling
from penstock.server.delivering import Delivering
from penstock.server.door import Door
from penstock.server.fetchers import Fetchers
from penstock.server.group_upkeep import GroupUpkeep
from penstock.server.insync import InSync
from penstock.server.leaving import Leaving
from penstock.server.offering import Offering
from penstock.server.opener import Opener
from penstock.server.reducing import Reducing
from penstock.server.reserve import Reserve
from penstock.server.share_upkeep import ShareUpkeep
from penstock.server.sharing import Sharing
from penstock.server.steps import carry_out, wait_on
from penstock.server.syncer import Syncer
from penstock.server.transaction_upkeep import TransactionUpkeep
from penstock.server.trimming import Trimming
from penstock.server.upkeep import Upkeep
from penstock.server.view_upkeep import ViewUpkeep
from penstock.world.ports import File, Listener, World

log = logging.getLogger(__name__)

T = TypeVar("T")


class Node:
    def __init__(
        self, world: World, settings: NodeSettings, open_store: OpenStore = opened_store
    ) -> None:
        self.world = world
        self._open_store = open_store
        self.settings = settings
        self.config = settings.broker
        self.failed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Gets a reason when the broker cannot go on and must be stopped."""
        self.host, self.port = "", 0
        self.controlling: Controlling | None = None

    async def start(self) -> None:
        disk, config = self.world.disk, self.config
        if not disk.exists(config.data_dir):
            disk.make_folder(config.data_dir)
            disk.sync_folder(config.data_dir.rstrip("/").rpartition("/")[0])
        self.reserve = Reserve(disk, config.data_dir)
        if self.reserve.give_up_if_needed():
            log.error("the disk is full; the broker starts with what it had in reserve")
        self.store = await self._open_store(config, self.world.chance)
        self.image = Image(config.node_id, self.settings.texts)
        self.keeper = Keeper(self.store, self.image)
        chance = self.world.chance
        secret = chance.uuid() + chance.uuid()
        texts = self.settings.texts
        await self.keeper.start(_text(chance.uuid()), secret, shared(texts))
        for line in unheeded(texts, self.image.settings.cluster_configs):
            log.warning(line)
        self.log_dir = LogDir(
            disk,
            config.data_dir,
            cluster_id=self.image.cluster_id,
            node_id=config.node_id,
            directory_id=_text(self.world.chance.uuid()),
        )
        recovering = Recovering(self.image, self.log_dir, disk)
        await recovering.run()
        self._unsynced = Unsynced(self.image, self.log_dir.unsynced_topics)
        self._build()
        with suppress(OSError):  # no room for the reserve: then none for records either
            await self.upkeep.keep_room()
        self._listen()
        self._marking = Marking(self.log_dir, self.keeper, disk)
        await self._join(recovering.lost)
        recovering.note()
        await self._begin_controlling()
        self.upkeep.start()
        self.leaving.look_at(self._places())
        self.group_upkeep.start()
        self.transaction_upkeep.start()
        self.share_upkeep.start()
        self.sharing.start()
        self.trimming.start()
        self.insync.start()
        self.reducing.start()
        self.view_upkeep.start()
        self.delivering.start()
        self.offering.start()
        self.offering.look_at(self._places())
        self.fetchers.look_at(self._places())
        self._watches = [
            asyncio.create_task(self.membership.stay_registered()),
            asyncio.create_task(self._watch_keeper()),
            asyncio.create_task(self._marking.run()),
        ]

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
        self.broker.reconfigure_all()
        self.door = Door(world, self.broker, self.keeper, self.syncer)
        hold = ArchiveHold(world.network, self.door)
        self.upkeep = Upkeep(
            world.clock, world.disk, self.broker, self.door, self.syncer, self.reserve, hold
        )
        self.group_upkeep = GroupUpkeep(world.disk, self.door)
        self.transaction_upkeep = TransactionUpkeep(world, self.door)
        self.share_upkeep = ShareUpkeep(world, self.door)
        self.sharing = Sharing(world.network, self.door)
        self.trimming = Trimming(world.network, self.door)
        self.fetchers = Fetchers(world.network, self.door)
        self.leaving = Leaving(world.network, self.door, self.upkeep.remove_doomed)
        self.insync = InSync(self.door, self.keeper)
        self.offering = Offering(self.broker, self.keeper)
        self.reducing = Reducing(world.network, self.door, self.keeper, self._is_controller)
        self.view_upkeep = ViewUpkeep(world.chance, self.door, self.keeper, self._is_controller)
        self.delivering = Delivering(self.door)
        self.upkeep.make_way = Carrying(self.door).make_way
        self.broker.has_lease = self._has_lease
        self.broker.is_registered = False
        self.opener = Opener(self.broker.opening)
        self.broker.opening.soon, self.broker.opening.ended = self.opener.soon, self.opener.ended
        self.keeper.on_change = self._follow
        self.keeper.make_room = self._make_room
        for topic in self.image.topics.values():  # some may be new since the logs were recovered
            take_over_logs(self.log_dir, topic)

    def _listen(self) -> None:
        host, port = host_and_port(self.config.listen, "listeners")
        self.listener: Listener = self.world.network.listen(host, port, self.door.admit)
        self.host, self.port = host, self.listener.port

    async def _join(self, lost: Collection[Place]) -> None:
        """`lost`: partitions whose records were there, and are not at this start."""
        listening = self.host, self.port
        self.membership = membership = Membership(
            self.world, self.config, self.store, self.keeper, self.log_dir, listening, self._fail
        )
        await membership.wait_until_free()
        await Rejoining(self.image, self.log_dir, lost).run(membership.change)
        self._unsynced.begin_anew()
        await membership.register()
        self.broker.is_registered = True

    @property
    def session(self) -> Session:
        return self.membership.session

    async def _begin_controlling(self) -> None:
        """Where this broker is the only one, what it leads is settled before clients come."""
        self.controlling = Controlling(
            self.keeper, self.config.node_id, lambda: self.session, lambda: self.broker.config
        )
        with suppress(Refused, SessionLost, Unavailable):  # then it is tried again
            await self.controlling.work()
        self.controlling.start()

    def _follow(self, changed: Changed) -> None:
        """Keep the partitions that are open in step with the image."""
        is_registered = self.broker.is_registered
        self._unsynced.follow(changed)
        if changed.brokers and is_registered:
            self.membership.give_way()
        for topic in changed.deleted.values():
            self.broker.remove_topic(topic)
            self.upkeep.delete_logs(topic)
        for topic in changed.altered.values():
            self.broker.reconfigure(topic)
        gone = [(each, index) for each, rest in changed.reduced.items() for index in rest]
        for place in gone:
            self.broker.drop_partition(place)
        for topic in changed.created.values():
            take_over_logs(self.log_dir, topic)
        for topic_id, index in changed.partitions:
            self.broker.follow_partition(topic_id, index)
        self.leaving.look_at(changed.partitions)
        if is_registered:
            self.fetchers.look_at(
                [*_places_of(changed.deleted.values()), *gone, *changed.partitions]
            )
            is_back = self.config.node_id in changed.brokers
            self.offering.look_at(self._places() if is_back else changed.partitions)
        if changed.partitions:
            self.door.settle()  # with fewer in sync, more may be committed
        if changed.broker_configs:
            self.broker.reconfigure_all()
        if is_registered:
            self.delivering.follow(changed)
        self.group_upkeep.follow(changed)
        self.transaction_upkeep.follow()
        self.share_upkeep.follow(changed)
        self.sharing.follow(changed)
        if self.controlling is not None:
            self.controlling.follow(changed)

    def _places(self) -> Iterator[Place]:
        """All partitions that there are."""
        return _places_of(self.image.topics.values())

    def _is_controller(self) -> bool:
        return self.controlling is not None and self.controlling.is_controller

    def _has_lease(self) -> bool:
        return self.membership.has_lease

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
        await self.membership.hand_over()
        for watch in self._watches:
            watch.cancel()
        self.listener.close()
        self.door.close()
        await self.group_upkeep.stop()
        await self.transaction_upkeep.stop()
        await self.trimming.stop()
        await self.sharing.stop()
        await self.share_upkeep.stop()
        await self.fetchers.stop()
        await self.leaving.stop()
        await self.insync.stop()
        await self.reducing.stop()
        await self.view_upkeep.stop()
        await self.delivering.stop()
        await self.offering.stop()
        if self.controlling is not None:
            await self.controlling.stop()
        await self.upkeep.stop()
        await self.opener.stop()
        try:
            await self._close_logs()
        finally:
            await self.membership.leave()
            await self.keeper.close()
            await self.store.close()

    async def _written_down(self) -> tuple[list[File], list[str]]:
        """What a clean start needs of all logs; the lease is kept meanwhile."""
        steps = self.log_dir.close_logs_in_steps()
        while True:
            try:
                next(steps)
            except StopIteration as done:
                files, folders = done.value
                return files, folders
            await asyncio.sleep(0)

    async def _close_logs(self) -> None:
        member = self.image.brokers.get(self.config.node_id)
        try:
            self.reserve.give_up_if_needed()
            await self.syncer.drain()
            await self.world.disk.sync_all(*await self._written_down())
            await self._marking.stop()
            self.log_dir.finish(member.epoch if member else -1)
        except Exception as problem:
            self.log_dir.abandon()
            if not isinstance(problem, OSError):
                raise
            raise Unusable(
                f"the stop was not clean, because the disk failed ({problem}); the next start "
                "looks through the logs"
            ) from problem


def _places_of(topics: Iterable[Topic]) -> Iterator[Place]:
    for topic in topics:
        yield from ((topic.id, index) for index in range(topic.record.partitions))


def _text(uuid: bytes) -> str:
    """As Kafka writes its ids."""
    return base64.urlsafe_b64encode(uuid).decode().rstrip("=")
