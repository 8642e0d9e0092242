"""One broker, put together from its settings and a world, and taken apart again.

To start: take the data folder, learn what the cluster is, bring the logs into order, listen, and
only then tell the cluster (and so the clients) where. To stop: the same backwards.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TypeVar

from penstock.api.broker import Broker
from penstock.api.sealing import take_over_logs
from penstock.api.table import answered
from penstock.errors import ErrorCode, Refused, Unusable
from penstock.log.log_dir import LogDir
from penstock.metadata.changes import Commit
from penstock.metadata.cluster import Changed, Topic
from penstock.metadata.cluster_changes import announce_leaving, register_broker
from penstock.metadata.election import Place, leads_for_others
from penstock.metadata.features import SUPPORTED
from penstock.metadata.image import Image
from penstock.metadata.keeper import Keeper
from penstock.metadata.records import BrokerRecord
from penstock.metadata.store import Session, SessionLost, Unavailable, Unknown
from penstock.node.marking import Marking
from penstock.node.rejoining import Rejoining
from penstock.node.settings import NodeSettings, host_and_port
from penstock.node.stores import OpenStore, opened_store
from penstock.server.controlling import Controlling
from penstock.server.coordinating import Coordinating
from penstock.server.door import Door
from penstock.server.fetchers import Fetchers
from penstock.server.insync import InSync
from penstock.server.opener import Opener
from penstock.server.reducing import Reducing
from penstock.server.reserve import Reserve
from penstock.server.steps import carry_out, wait_on
from penstock.server.syncer import Syncer
from penstock.server.upkeep import Upkeep
from penstock.world.ports import File, Listener, World

log = logging.getLogger(__name__)

T = TypeVar("T")

RETRY_MS = 500
HAND_OVER_CHECK_MS = 20
REGISTRATIONS_KEPT = 10
LEASES_WAITED_FOR = 2
TAKEN_CHECK_MS = 100
EVERYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104


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
        self._incarnations: deque[bytes] = deque(maxlen=REGISTRATIONS_KEPT)
        """Of this process's own registrations."""
        self.controlling: Controlling | None = None
        self._lost: set[Place] = set()
        """Partitions whose records were there, and are not at this start."""

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
        await self.keeper.start(_text(chance.uuid()), chance.uuid() + chance.uuid())
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
        await self._wait_until_free()
        self._marking = Marking(self.log_dir, self.keeper, disk)
        await Rejoining(self.image, self.log_dir, self._lost).run(self._change_at_start)
        await self._register()
        await self._begin_controlling()
        self.upkeep.start()
        self.upkeep.delete_left(self._places())
        self.coordinating.start()
        self.insync.start()
        self.reducing.start()
        self.fetchers.look_at(self._places())
        self._watches = [
            asyncio.create_task(self._stay_registered()),
            asyncio.create_task(self._watch_keeper()),
            asyncio.create_task(self._marking.run()),
        ]

    async def _stay_registered(self) -> None:
        """A broker that was held up for longer than its lease comes back by itself."""
        while True:
            await self.session.wait_lost()
            log.warning("the lease of broker %d ended; registering again", self.config.node_id)
            while self.session.lost:
                try:
                    await self._register()
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
        self.broker.reconfigure_all()
        self.door = Door(world, self.broker, self.keeper, self.syncer)
        self.upkeep = Upkeep(
            world.clock, world.disk, self.broker, self.door, self.syncer, self.reserve
        )
        self.coordinating = Coordinating(world.disk, self.door)
        self.fetchers = Fetchers(world.network, self.door)
        self.insync = InSync(self.door, self.keeper)
        self.reducing = Reducing(world.network, self.door, self.keeper, self._is_controller)
        self.broker.has_lease = self._has_lease
        self.broker.is_registered = False
        self.opener = Opener(self.broker.opening)
        self.broker.opening.soon, self.broker.opening.ended = self.opener.soon, self.opener.ended
        self.keeper.on_change = self._follow
        self.keeper.make_room = self._make_room
        for topic in self.image.topics.values():  # some may be new since the logs were recovered
            take_over_logs(self.log_dir, topic)

    async def _recover_logs(self) -> None:
        """Bring the logs into order, and move what belongs to no partition of ours aside."""
        log_dir, image = self.log_dir, self.image
        log_dir.deleted = image.deleted.keys()
        log_dir.doom_deleted()
        for topic in image.topics.values():
            take_over_logs(log_dir, topic)
        for topic in image.topics.values():
            for index in range(topic.record.partitions):
                if log_dir.is_missing(topic.name, index, topic.log_id(index)):
                    self._take_missing(topic, index)
                elif log_dir.has_folder(topic.name, index) and self._is_held(topic, index):
                    self._claim(topic, index)
        for problem in log_dir.problems:
            log.error("%s; the logs are looked through instead", problem)
        self._set_aside_strays()
        for _ in log_dir.recover_all():
            await asyncio.sleep(0)
        for (name, index), reason in log_dir.unrecoverable.items():
            log.error("%s-%d is left out until the next start: %s", name, index, reason)
        await self._sync_recovered()
        self._note_recovered()
        for each in log_dir.logs.values():
            for damage in each.damage:
                log.error("%s is damaged: %s; reads of it are refused", each.folder, damage)

    def _set_aside_strays(self) -> None:
        """None is deleted but of topics that were, for all the store says: it may have lost others.
        An SQLite file without its log, or with a part of it, is a store as it was some time ago,
        and says nothing of that."""
        strays = self.log_dir.set_aside_unclaimed()
        for folder in strays:
            log.error("%s: the metadata store knows no such partition, so it was set aside", folder)
        if strays:
            text = (
                "%d folders were set aside, and stay: if their topics were not deleted, the store "
            )
            text += "has lost them. Stop the broker, put the store back from a backup, give the "
            text += "folders their names back, start again (docs/ARCHITECTURE.md, Strays)"
            log.error(text, len(strays))

    def _take_missing(self, topic: Topic, index: int) -> None:
        """The folder of a partition is gone. What others have is copied again, from its beginning;
        where there are no others its offsets are not used again."""
        record, node_id = topic.partition(index), self.config.node_id
        self._claim(topic, index)
        if record is not None and record.replicas != (node_id,):
            self.log_dir.delete_log(topic.name, index, *topic.log_ids)
            self._lost.add((topic.id, index))
        if record is None or node_id in record.replicas:
            log.error("the folder of %s-%d is gone, with its records", topic.name, index)

    def _is_held(self, topic: Topic, index: int) -> bool:
        """At the first start after the store was put back, what it says that others hold is set
        aside and not deleted: it may have been moved here since the backup was made."""
        known, record = self.image.members.get(self.config.node_id), topic.partition(index)
        if record is None or (known is not None and not known.record.is_restored):
            return True
        return self.config.node_id in record.replicas

    def _claim(self, topic: Topic, index: int) -> None:
        try:
            log_id = topic.log_id(index)
            self.log_dir.log_for(topic.name, index, log_id, self.image.config(topic))
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

    def _note_recovered(self) -> None:
        """So that the next start need not look at it again; and a new folder has checkpoints from
        the beginning, so that if there are none they were lost."""
        if not self.log_dir.was_clean:
            try:
                self.log_dir.checkpoint()
            except OSError as problem:
                log.warning("no checkpoint could be written at the start: %s", problem)

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

    async def _wait_until_free(self) -> None:
        """A broker that was lost together with its disk may have its lease for a while yet. Where
        nobody else is up, it ends only if somebody waits for that."""
        node_id, clock = self.config.node_id, self.world.clock
        give_up_ms = clock.monotonic_ms() + LEASES_WAITED_FOR * self.config.session_timeout_ms
        is_told = False
        while self._is_taken() and clock.monotonic_ms() < give_up_ms:
            if not is_told:
                log.warning("there is a broker %d; waiting for its lease to end", node_id)
            is_told = True
            await asyncio.sleep(TAKEN_CHECK_MS / 1000)

    def _is_taken(self) -> bool:
        known = self.image.brokers.get(self.config.node_id)
        return known is not None and known.record.owner != self._owner

    async def _begin_controlling(self) -> None:
        """Where this broker is the only one, what it leads is settled before clients come."""
        self.controlling = Controlling(
            self.keeper, self.config.node_id, lambda: self.session, lambda: self.broker.config
        )
        with suppress(Refused, SessionLost, Unavailable):  # then it is tried again
            await self.controlling.work()
        self.controlling.start()

    @property
    def _owner(self) -> bytes:
        return self.log_dir.meta.directory_id.encode()

    async def _register(self) -> None:
        """All or nothing: a lease without a broker would look like one that is well."""
        session = await self.store.session(self.config.session_timeout_ms)
        try:
            await self._announce(session.id)
        except BaseException:
            await self._let_go(session)
            raise
        self.session: Session = session

    async def _let_go(self, session: Session) -> None:
        """Where the store cannot be told, the lease ends by itself."""
        with suppress(Unavailable, Unknown, Unusable):
            await session.close()

    async def _announce(self, session_id: str) -> None:
        host, port = self._advertised()
        incarnation = self.world.chance.uuid()
        record = BrokerRecord(
            node_id=self.config.node_id,
            host=host,
            port=port,
            rack=self.config.rack,
            owner=self._owner,
            incarnation=incarnation,
            features=dict(SUPPORTED),
            clean=self.log_dir.was_clean,
        )
        self._incarnations.append(incarnation)
        await self._change_at_start(lambda image: register_broker(image, record, session_id))
        self.broker.is_registered = True

    async def _change_at_start(self, decide: Callable[[Image], Commit[T]]) -> T:
        try:
            return await self.keeper.change(decide)
        except SessionLost as lost:
            raise Unavailable(
                f"the metadata store ended the lease before the broker was registered: {lost}"
            ) from lost
        except Refused as refused:
            if refused.code is ErrorCode.REQUEST_TIMED_OUT:  # the store was busy, which passes
                raise Unavailable(refused.message) from refused
            raise Unusable(refused.message) from refused

    def _follow(self, changed: Changed) -> None:
        """Keep the partitions that are open in step with the image."""
        is_registered = self.broker.is_registered
        if changed.brokers and is_registered:
            self._give_way()
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
        self.upkeep.delete_left(changed.partitions)
        if is_registered:
            self.fetchers.look_at([*gone, *changed.partitions])
        if changed.partitions:
            self.door.settle()  # with fewer in sync, more may be committed
        if changed.broker_configs:
            self.broker.reconfigure_all()
        self.coordinating.follow(changed)
        if self.controlling is not None:
            self.controlling.follow(changed)

    def _give_way(self) -> None:
        """To another process that has taken over: two could not both be this broker."""
        now = self.image.brokers.get(self.config.node_id)
        if now is not None and now.record.incarnation not in self._incarnations:
            self._fail(
                f"another process has registered as broker {self.config.node_id}, at "
                f"{now.record.host}:{now.record.port}, with a copy of this data folder"
            )

    def _places(self) -> Iterator[Place]:
        """All partitions that there are."""
        for topic in self.image.topics.values():
            yield from ((topic.id, index) for index in range(topic.record.partitions))

    def _is_controller(self) -> bool:
        return self.controlling is not None and self.controlling.is_controller

    def _has_lease(self) -> bool:
        return not self.session.suspended

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
        await self._hand_over()
        for watch in self._watches:
            watch.cancel()
        self.listener.close()
        self.door.close()
        await self.coordinating.stop()
        await self.fetchers.stop()
        await self.insync.stop()
        await self.reducing.stop()
        if self.controlling is not None:
            await self.controlling.stop()
        await self.upkeep.stop()
        await self.opener.stop()
        try:
            await self._close_logs()
        finally:
            await self._let_go(self.session)
            await self.keeper.close()
            await self.store.close()

    async def _hand_over(self) -> None:
        """What this broker leads and others can lead is theirs before it stops."""
        node_id, session = self.config.node_id, self.session
        if self.image.brokers.keys() <= {node_id} or session.lost:
            return
        try:
            await self.keeper.change(lambda image: announce_leaving(image, node_id, session.id))
            async with asyncio.timeout(self.config.controlled_shutdown_timeout_ms / 1000):
                while leads_for_others(self.image, node_id):
                    await asyncio.sleep(HAND_OVER_CHECK_MS / 1000)
        except (Refused, SessionLost, TimeoutError) as problem:
            log.warning("stopping without having handed over what this broker leads: %s", problem)

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


def _text(uuid: bytes) -> str:
    """As Kafka writes its ids."""
    return base64.urlsafe_b64encode(uuid).decode().rstrip("=")
