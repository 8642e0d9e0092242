"""Rounds of group commit: one sync for all that was appended since the last one began."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Callable, Sequence

from penstock.log.partition_log import PartitionLog
from penstock.log.syncing import SyncToken
from penstock.replication.replica import Replica
from penstock.server.announcing import announce
from penstock.world.ports import Disk, File

log = logging.getLogger(__name__)

RETRY_MS = 100
SOON_MS = 5
"""For which a log that nobody waits for has no round of its own. Most often something else is
appended to it before that."""
AT_ONCE = 250
"""Logs, between two pauses: a millisecond or two. A round may be of ten thousand."""
NOTES_AT_ONCE = 20
"""Small files, between two pauses: a few milliseconds."""


class Syncer:
    """At most one round runs at a time; what is appended meanwhile belongs to the next one."""

    def __init__(self, disk: Disk, on_failure: Callable[[Exception], None]) -> None:
        self._disk = disk
        self._on_failure = on_failure
        self._wanted: dict[Replica, None] = {}
        self._wanted_soon: dict[Replica, None] = {}
        self._rounds: asyncio.Task[None] | None = None
        self._failure: Exception | None = None

    def want(self, leader: Replica) -> None:
        self._wanted[leader] = None
        if self._rounds is None:
            self._rounds = asyncio.get_running_loop().create_task(self._run())

    def want_soon(self, replica: Replica) -> None:
        """Nobody waits for it yet. A round that is wanted of the same log covers it, too."""
        if not self._wanted_soon:
            asyncio.get_running_loop().call_later(SOON_MS / 1000, self._want_now)
        self._wanted_soon[replica] = None

    def _want_now(self) -> None:
        replicas, self._wanted_soon = self._wanted_soon, {}
        for replica in replicas:
            if replica.over is None and replica.log.synced_end < replica.log.end_offset:
                self.want(replica)

    async def _run(self) -> None:
        while self._wanted:
            leaders, self._wanted = list(self._wanted), {}
            try:
                await self._round(leaders)
            except Exception as error:
                self._fail(error)
                return
        self._rounds = None

    def _fail(self, error: Exception) -> None:
        is_bug = not isinstance(error, OSError)
        reason = "syncing to disk failed, what is on it is unknown: %s"
        log.critical(reason, error, exc_info=is_bug)
        self._failure = self._failure or error
        self._on_failure(error)

    async def sync(self, files: Sequence[File], folders: Sequence[str]) -> None:
        """Beside the rounds, and as fatal if it fails: the kernel tells of a failed writeback only
        once, and whose it was may not be known."""
        try:
            await self._sync(files, folders)
        except Exception as error:
            self._fail(error)
            raise

    async def _round(self, leaders: list[Replica]) -> None:
        if begun := [leader.log for leader in leaders if leader.log.begun]:
            await self._note_begun(begun)
        tokens: list[tuple[Replica, SyncToken]] = []
        for number, leader in enumerate(leaders, 1):
            if leader.over is None:
                tokens.append((leader, leader.log.begin_sync()))
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
        files = [file for _, token in tokens for file in token.files]
        folders = [folder for _, token in tokens for folder in token.folders]
        await self._sync(files, folders)
        for number, (leader, token) in enumerate(tokens, 1):
            self._end_sync(leader, token)
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)

    def _end_sync(self, leader: Replica, token: SyncToken) -> None:
        leader.log.end_sync(token)
        if leader.log.synced_end < min(token.end_offset, leader.log.end_offset):
            self._wanted[leader] = None  # the log was cut meanwhile: the token does not count
        if leader.advance():
            announce(leader)

    async def _note_begun(self, logs: Sequence[PartitionLog]) -> None:
        """Epochs that began without a record. After a failover there may be thousands."""
        for number, each in enumerate(logs, 1):
            try:
                each.note_begun()
            except OSError as problem:
                log.error("%s: its epoch cannot be noted: %s", each.folder, problem)
            if number % NOTES_AT_ONCE == 0:
                await asyncio.sleep(0)

    async def _sync(self, files: Sequence[File], folders: Sequence[str]) -> None:
        """Without a descriptor left nothing was tried, and so nothing has failed yet."""
        while True:
            try:
                await self._disk.sync_all(files, folders)
                return
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE):
                    raise
                log.error("no file handle is left to sync with; trying again")
                await asyncio.sleep(RETRY_MS / 1000)

    async def drain(self) -> None:
        """Wait until nothing that was wanted is left to sync.

        Raises what has made a round fail, now or before: the kernel tells of a failed writeback
        only once, so a later sync that goes well says nothing.
        """
        self._want_now()
        if self._rounds is not None:
            await self._rounds
        if self._failure is not None:
            raise self._failure
