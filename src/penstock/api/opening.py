"""Logs are opened when somebody first asks for them, and most are open at once.

Where something of a log has to be made again that takes its time. It is done in the background,
and who asks meanwhile waits for it (`api/open_first.py`), or is refused and asks again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from penstock.errors import ErrorCode, Refused, Unusable
from penstock.log.log_dir import LogDir
from penstock.log.partition_log import PartitionLog
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image

lines = logging.getLogger(__name__)

TRY_AGAIN_MS = 5000
WAIT_MS_MAX = 5000
"""How long a request waits for its logs, whatever its own timeout: others wait behind it."""


class NotOpen(Refused):
    """A log that is being opened: ask again later, or when it has been waited for."""

    def __init__(self, name: str, log: PartitionLog) -> None:
        super().__init__(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{name} is being opened; try again")
        self.log = log


class Failed(NamedTuple):
    """Not the exception itself, which would keep all that it ever went through."""

    reason: str
    is_known: bool
    """Else it is a bug of ours."""
    until_ms: float
    """When it is tried again."""


class Opening:
    def __init__(self, log_dir: LogDir, image: Image, monotonic_ms: Callable[[], float]) -> None:
        self._log_dir = log_dir
        self._image = image
        self._monotonic_ms = monotonic_ms
        self.soon: Callable[[PartitionLog], bool] = _at_once
        """For a log that takes long to open; whether that is done."""
        self.ended: Callable[[Sequence[PartitionLog], float], Awaitable[None]] = _needs_no_wait
        """Whether or not the logs can be opened; it waits for so many milliseconds at most."""
        self._failed: dict[PartitionLog, Failed] = {}
        """Logs that could not be opened."""
        self._told: set[str] = set()
        """Partitions whose logs could not be opened, so that it is said once."""

    def log(self, topic: Topic, index: int, epoch: int | None = None) -> PartitionLog:
        """One log that cannot be read takes nothing else down with it. `epoch`: a leader's."""
        name = f"{topic.name}-{index}"
        try:
            log_id, config = topic.log_id(index), self._image.settings.of_topic(topic)
            log = self._log_dir.log_for(topic.name, index, log_id, config)
            self._check(log)
            if not (log.open_a_little() or self.soon(log)):
                raise NotOpen(name, log)
            if epoch is not None:
                _check_leads(log, epoch)
        except (OSError, Unusable) as problem:
            if name not in self._told:
                self._told.add(name)
                lines.error("%s cannot be read: %s", name, problem)
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, f"{name} cannot be read") from problem
        for damage in log.damage:
            lines.error("%s is damaged: %s; reads of it are refused", name, damage)
        return log

    def go_on(self, log: PartitionLog) -> bool:
        """One step; whether it was the last. Why the log cannot be opened, if so, its users are
        told for a while."""
        try:
            return log.open_a_little()
        except Exception as problem:
            now_ms = self._monotonic_ms()
            is_known = isinstance(problem, OSError | Unusable)
            failed = Failed(str(problem), is_known, now_ms + TRY_AGAIN_MS)
            still = {log: each for log, each in self._failed.items() if each.until_ms > now_ms}
            self._failed = {**still, log: failed}
            return True

    def _check(self, log: PartitionLog) -> None:
        failed = self._failed.get(log)
        if failed is None:
            return
        if self._monotonic_ms() < failed.until_ms:
            raise Unusable(failed.reason) if failed.is_known else RuntimeError(failed.reason)
        del self._failed[log]

    def waited_for(self, logs: Sequence[PartitionLog], wait_ms: float) -> Awaitable[None]:
        """For as long as a request allows, and others can do without what comes behind it."""
        return self.ended(logs, max(0, min(wait_ms, WAIT_MS_MAX)))


def _check_leads(log: PartitionLog, epoch: int) -> None:
    """A leader of an epoch that is over would write what nobody can tell from its successors'
    records. That happens with a store that was put back by other means than ours."""
    if log.latest_epoch > epoch:
        raise Unusable(
            f"it has records of leader epoch {log.latest_epoch}, and the metadata store says that "
            f"it is {epoch}: the store is older than the data; make a backup of it with `penstock "
            "backup create`, and put that back with `penstock backup restore`"
        )


def _at_once(log: PartitionLog) -> bool:
    log.open()
    return True


async def _needs_no_wait(logs: Sequence[PartitionLog], wait_ms: float) -> None:
    pass
