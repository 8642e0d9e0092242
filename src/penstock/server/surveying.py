"""What is in partitions that a topic is to lose, and how far groups have read them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from penstock.api.sharing.states import ShareStates
from penstock.coordination.share.names import ShareKey
from penstock.errors import ErrorCode, Refused
from penstock.metadata.cluster import Topic
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import OFFSETS
from penstock.server.asking import Asking
from penstock.wire.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from penstock.wire.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from penstock.wire.messages.k16_list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

LATEST, EARLIEST = -1, -2
DEBUGGING = -2
READ_COMMITTED = 1
LIST_OFFSETS, LIST_GROUPS, OFFSET_FETCH = 10, 5, 9
"""Versions that are asked in."""
PARTITIONS_A_REQUEST = 1000
PLACES_A_REQUEST = 2000
"""Groups times partitions."""
SHARE = "Share"
"""The type of groups whose shares say where they are."""
NEAR = 10_000
"""Offsets before the end: who is farther from it has records to read."""

Place = tuple[int, int]
"""A partition and an offset."""


class Ends(NamedTuple):
    """Of a partition."""

    start: int
    stable: int
    """Up to where all is committed, and no transaction undecided."""
    end: int


class Reader(NamedTuple):
    """A group that reads the topic, or has done so."""

    is_reading: bool
    """Whether it has members that do now."""
    committed: Mapping[int, int]


class Survey(NamedTuple):
    ends: Mapping[int, Ends]
    groups: Mapping[str, Reader]
    done: Collection[Place] = frozenset()
    """Offsets from which on there is nothing for a consumer: markers of transactions, say."""

    def is_settled(self) -> bool:
        """Whether nothing is under way in any of the partitions."""
        return all(each.stable == each.end for each in self.ends.values())

    def is_empty(self) -> bool:
        return all(each.start == each.end for each in self.ends.values())

    def marks(self) -> dict[int, int]:
        return {index: each.end for index, each in self.ends.items()}

    def behind(self, marks: Mapping[int, int], *, with_idle: bool) -> dict[str, int]:
        """Groups that have not read up to these offsets, and how many messages they lack.

        `with_idle`: also those without members.
        """
        found = {}
        for name, group in self.groups.items():
            lag = sum(self._lag(index, mark, group) for index, mark in marks.items())
            if lag and (with_idle or group.is_reading):
                found[name] = lag
        return found

    def _lag(self, index: int, mark: int, group: Reader) -> int:
        """What retention has removed is not waited for."""
        start = self.ends[index].start if index in self.ends else 0
        first = max(start, group.committed.get(index, -1))
        return 0 if (index, first) in self.done else max(0, mark - first)


class Surveyor:
    """Asks leaders and coordinators. Raises what `Asking` does, and Refused where anything is not
    known: a group that nobody looks after for the moment would be missed."""

    def __init__(self, image: Image, asking: Asking, shares: Callable[[], ShareStates]) -> None:
        self._image = image
        self._asking = asking
        self._shares = shares

    async def survey(self, topic: Topic, indexes: Sequence[int]) -> Survey:
        ends, groups = await self.ends(topic, indexes), await self._groups(topic, indexes)
        return Survey(ends, groups, await self._done(topic, ends, groups))

    async def _done(
        self, topic: Topic, ends: Mapping[int, Ends], groups: Mapping[str, Reader]
    ) -> set[Place]:
        """Of where groups are, near the end: from where on there is nothing to read."""
        near = {
            (index, max(each.start, reader.committed.get(index, -1)))
            for reader in groups.values()
            for index, each in ends.items()
        }
        near = {place for place in near if 0 < ends[place[0]].end - place[1] <= NEAR}
        done: set[Place] = set()
        for leader, parts in _by_leader(topic, {index for index, _ in near}):
            epochs = dict(parts)
            wanted = [
                ListOffsetsPartition(index, epochs[index], LATEST, lag_of=offset)
                for index, offset in sorted(near)
                if index in epochs
            ]
            for start in range(0, len(wanted), PARTITIONS_A_REQUEST):
                share = wanted[start : start + PARTITIONS_A_REQUEST]
                request = ListOffsetsRequest(-1, topics=[ListOffsetsTopic(topic.name, share)])
                take = partial(_take_done, done, share)
                await self._asking.ask(leader, request, LIST_OFFSETS, ListOffsetsResponse, take)
        return done

    async def ends(self, topic: Topic, indexes: Iterable[int]) -> dict[int, Ends]:
        """By leaders that know the term which the partition's record is in."""
        starts: dict[int, int] = {}
        stable: dict[int, int] = {}
        ends: dict[int, int] = {}
        for leader, parts in _by_leader(topic, indexes):
            if leader not in self._image.brokers:
                raise _unknown(f"{topic.name} has partitions without a leader")
            committed = ListOffsetsRequest(-1, READ_COMMITTED)
            await self._offsets(leader, topic, parts, EARLIEST, committed, starts)
            await self._offsets(leader, topic, parts, LATEST, committed, stable)
            await self._offsets(leader, topic, parts, LATEST, ListOffsetsRequest(DEBUGGING), ends)
        return {index: Ends(starts[index], stable[index], ends[index]) for index in ends}

    async def _offsets(
        self,
        leader: int,
        topic: Topic,
        parts: Sequence[tuple[int, int]],
        question: int,
        request: ListOffsetsRequest,
        found: dict[int, int],
    ) -> None:
        wanted = [ListOffsetsPartition(index, epoch, question) for index, epoch in parts]
        request.topics = [ListOffsetsTopic(topic.name, wanted)]
        take = partial(_take_offsets, found)
        await self._asking.ask(leader, request, LIST_OFFSETS, ListOffsetsResponse, take)

    async def _groups(self, topic: Topic, indexes: Sequence[int]) -> dict[str, Reader]:
        covered: set[int] = set()
        readers: dict[str, Reader] = {}
        for node_id in list(self._image.brokers):
            listed = await self._listed(node_id, topic.name, covered)
            shares = [name for name, each in listed.items() if each.group_type == SHARE]
            others = [name for name in listed if name not in shares]
            committed = await self.committed(node_id, topic.name, indexes, others)
            committed |= await self._begun(topic, indexes, shares)
            for name, each in listed.items():
                readers[name] = Reader(each.is_reading, committed.get(name, {}))
        self._check_covered(covered)
        return readers

    async def share_groups(self, topic: str) -> dict[str, bool]:
        """Share groups that read a topic, or have begun to: whether they have members that do."""
        covered: set[int] = set()
        found: dict[str, bool] = {}
        for node_id in list(self._image.brokers):
            for name, each in (await self._listed(node_id, topic, covered)).items():
                if each.group_type == SHARE:
                    found[name] = each.is_reading
        self._check_covered(covered)
        return found

    async def _listed(self, node_id: int, topic: str, covered: set[int]) -> dict[str, ListedGroup]:
        """Groups of a broker that read a topic, or have done so; and which it knows all of."""
        listed: dict[str, ListedGroup] = {}
        request = ListGroupsRequest(reads_topic=topic)
        take = partial(_take_groups, listed, covered)
        await self._asking.ask(node_id, request, LIST_GROUPS, ListGroupsResponse, take)
        return listed

    async def _begun(
        self, topic: Topic, indexes: Sequence[int], groups: Sequence[str]
    ) -> dict[str, dict[int, int]]:
        """Where the shares of share groups begin: what lies before that they have done with."""
        found: dict[str, dict[int, int]] = {}
        for group in groups:
            keys = [ShareKey(group, topic.id, index) for index in indexes]
            states = await self._shares().summaries(keys)
            found[group] = {}
            for key, state in states.items():
                if isinstance(state, Refused):
                    raise _unknown(f"where share group {group} is is not known: {state.message}")
                found[group][key.partition] = state.start_offset
        return found

    def _check_covered(self, covered: set[int]) -> None:
        offsets = self._image.topic(OFFSETS)
        if offsets is not None and not covered >= set(range(offsets.record.partitions)):
            raise _unknown("some groups have no coordinator")

    async def committed(
        self, node_id: int, topic: str, indexes: Sequence[int], groups: Sequence[str]
    ) -> dict[str, dict[int, int]]:
        """Where groups are that a broker looks after; -1 is nowhere."""
        found: dict[str, dict[int, int]] = {}
        step = max(1, PLACES_A_REQUEST // max(len(indexes), 1))
        for start in range(0, len(groups), step):
            wanted = [
                OffsetFetchRequestGroup(
                    group, topics=[OffsetFetchRequestTopics(topic, partition_indexes=list(indexes))]
                )
                for group in groups[start : start + step]
            ]
            request = OffsetFetchRequest(groups=wanted)
            take = partial(_take_committed, found)
            await self._asking.ask(node_id, request, OFFSET_FETCH, OffsetFetchResponse, take)
        return found


def _by_leader(
    topic: Topic, indexes: Iterable[int]
) -> Iterator[tuple[int, Sequence[tuple[int, int]]]]:
    """Partitions with their leaders' terms, as many as go into a request."""
    shares: dict[int, list[tuple[int, int]]] = {}
    for index in indexes:
        record = topic.partition(index)
        if record is not None:
            shares.setdefault(record.leader, []).append((index, record.leader_epoch))
    for leader, parts in shares.items():
        for start in range(0, len(parts), PARTITIONS_A_REQUEST):
            yield leader, parts[start : start + PARTITIONS_A_REQUEST]


def _take_offsets(found: dict[int, int], answer: ListOffsetsResponse) -> None:
    for topic in answer.topics:
        for part in topic.partitions:
            if part.error_code:
                code = ErrorCode(part.error_code)
                raise _unknown(f"{topic.name}-{part.partition_index} says {code.name}")
            found[part.partition_index] = part.offset


def _take_done(
    done: set[Place], asked: Sequence[ListOffsetsPartition], answer: ListOffsetsResponse
) -> None:
    told = [part for topic in answer.topics for part in topic.partitions]
    done.update(
        (each.partition_index, each.lag_of)
        for each, part in zip(asked, told, strict=True)
        if not part.error_code and part.lag == 0
    )


def _take_groups(
    found: dict[str, ListedGroup], covered: set[int], answer: ListGroupsResponse
) -> None:
    if answer.error_code:
        raise _unknown(f"groups are not known: {ErrorCode(answer.error_code).name}")
    covered.update(answer.coordinated)
    found.update((group.group_id, group) for group in answer.groups)


def _take_committed(found: dict[str, dict[int, int]], answer: OffsetFetchResponse) -> None:
    for group in answer.groups:
        if group.error_code:
            code = ErrorCode(group.error_code)
            raise _unknown(f"where group {group.group_id} is is not known: {code.name}")
        found[group.group_id] = {
            part.partition_index: part.committed_offset
            for topic in group.topics
            for part in topic.partitions
        }


def _unknown(problem: str) -> Refused:
    return Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, problem)
