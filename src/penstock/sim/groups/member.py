"""A simulated member of a group: joins, asks where the group is, commits, and never gives up.

It keeps its partitions while it cannot reach the coordinator, as clients do, until it is told that
they are not its own any more. Now and then it leaves, or vanishes and comes back as somebody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from penstock.errors import ErrorCode
from penstock.sim.client import RETRY_S, SimClient, Unreached
from penstock.sim.groups.asking import BEHIND, OUT, Asking, Behind, Out
from penstock.sim.groups.history import Commit, Found, GroupHistory, Term
from penstock.wire.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

COMMIT_VERSION = 9
PAUSE_S = (0.1, 0.7)
GOES = 0.06
"""How often a member goes, for a while or for good, at each turn."""
BEATS = 0.5
"""How often it looks for news before it commits."""
STEP_MAX = 5
SESSION_MS = 4000
NOT_IN = -1


class Member(Asking):
    def __init__(
        self, client: SimClient, history: GroupHistory, group: str, topic: str, partitions: int
    ) -> None:
        super().__init__(client, group)
        self.topic = topic
        self.partitions = partitions
        self.id = ""
        self.epoch = NOT_IN
        """Its own, or the group's generation, as the protocol has it."""
        self.terms: dict[int, Term] = {}
        self.is_steady = False
        """It goes no more by itself."""
        self._history = history
        self._positions: dict[int, int] = {}
        """Of the partitions in which it knows where to go on."""
        self._stopping = False
        self.tasks = [client.loop.create_task(self._run())]

    @property
    def is_done(self) -> bool:
        return all(task.done() for task in self.tasks)

    def stop(self) -> None:
        self._stopping = True

    async def _run(self) -> None:
        random = self.client.random
        while not self._stopping:
            try:
                await self._turn()
                await asyncio.sleep(random.uniform(*PAUSE_S))
                continue
            except Out:
                self.forget()
            except Behind:
                self.fall_behind()
            except Unreached:
                pass
            await asyncio.sleep(RETRY_S * (1 + random.random()))

    async def _turn(self) -> None:
        random = self.client.random
        if not self.is_steady and random.random() < GOES:
            await random.choice([self._nap, self.leave, self._vanish])()
        if self.epoch == NOT_IN or random.random() < BEATS:
            await self.beat()
        new = sorted(self.terms.keys() - self._positions.keys())
        if new:
            found = await self.find_places(new)
            self._history.found += found
            self._positions.update((each.partition, max(each.offset, 0)) for each in found)
        if self._positions:
            await self._commit(random.choice(sorted(self._positions)))

    async def _nap(self) -> None:
        """For longer than its session may last. It knows nothing of that, and goes on."""
        await asyncio.sleep(self.client.random.uniform(1, 2) * SESSION_MS / 1000)

    async def _vanish(self) -> None:
        """Without a word: its session has to end before others get what it had."""
        self.id = ""
        raise Out

    # What the protocols differ in

    async def beat(self) -> None:
        """Be a member, and learn what is its own."""
        raise NotImplementedError

    async def leave(self) -> None:
        """Say that it goes; it comes back as somebody else."""
        raise NotImplementedError

    async def find_places(self, partitions: list[int]) -> list[Found]:
        return await self.places(self.topic, partitions)

    def fall_behind(self) -> None:
        """What is to be done before the next beat."""

    def forget(self) -> None:
        self.epoch = NOT_IN
        self.own(())

    # Partitions

    def own(self, partitions: Iterable[int]) -> None:
        """These and no others; those that stay go on in their term."""
        wanted = set(partitions)
        for gone in self.terms.keys() - wanted:
            del self.terms[gone]
            self._positions.pop(gone, None)
        for each in sorted(wanted - self.terms.keys()):
            self.client.note(f"{each} is its own as of {self.epoch}")
            self.terms[each] = Term(self.client.name, each, self.epoch)

    async def read_on(self, partition: int, offset: int) -> int:
        """Where it is after it has read some more. Of the usual group, commits are all that
        counts."""
        return offset + self.client.random.randint(1, STEP_MAX)

    async def _commit(self, partition: int) -> None:
        offset = await self.read_on(partition, self._positions[partition])
        commit = self._history.commit(self.terms[partition], offset, self.client.loop.time())
        part = OffsetCommitRequestPartition(
            partition, offset, committed_metadata=str(commit.number)
        )
        request = OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=self.epoch,
            member_id=self.id,
            topics=[OffsetCommitRequestTopic(self.topic, partitions=[part])],
        )
        answer = await self.ask(request, COMMIT_VERSION, OffsetCommitResponse)
        self._take(commit, answer.topics[0].partitions[0].error_code)

    def _take(self, commit: Commit, error_code: int) -> None:
        code = ErrorCode(error_code)
        self.client.note(f"commit {commit} got {code.name}")
        commit.is_refused = code in OUT | BEHIND
        self.judge(code)
        commit.answered_s = self.client.loop.time()
        self._positions[commit.term.partition] = commit.offset
