"""Consumer groups: who is in them, how far behind they are, and where they begin again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from penstock.client import admin as wire
from penstock.client import groups as wire_groups
from penstock.client.group_listing import list_groups
from penstock.client.group_members import Member as KnownMember
from penstock.client.group_moves import Move, plan
from penstock.client.group_offsets import (
    CommittedOffset,
    commit_offsets,
    committed_offsets,
    delete_offsets,
    end_and_lag,
    with_known_lags,
)
from penstock.client.locating import existing_places, known_bounds
from penstock.client.positions import OFFSET_MAX
from penstock.sdk.admin_line import Line, Value, as_settings, texts
from penstock.sdk.admin_positions import To, position
from penstock.sdk.admin_values import (
    Group,
    GroupSummary,
    Lag,
    Member,
    OffsetMove,
    PartitionLag,
    Place,
    Setting,
)
from penstock.sdk.checks import check_whole
from penstock.sdk.errors import Misconfigured

Topics = str | Iterable[str] | Mapping[str, Collection[int]]
"""One topic, several, or some partitions of each."""


class Groups:
    def __init__(self, line: Line) -> None:
        self._line = line

    def list(self) -> tuple[GroupSummary, ...]:
        """By name."""
        with self._line.open() as client:
            found = list_groups(client)
        return tuple(
            GroupSummary(each.name, each.kind, each.state, each.coordinator) for each in found
        )

    def describe(self, name: str) -> Group:
        with self._line.open() as client:
            found = wire_groups.describe_group(client, name)
        return Group(
            name=name,
            kind=found.kind,
            state=found.state,
            coordinator=found.coordinator,
            assignor=found.assignor,
            members=tuple(map(_member, found.members)),
        )

    def members(self, name: str) -> tuple[Member, ...]:
        return self.describe(name).members

    def lag(self, name: str) -> Lag:
        """In messages and in seconds, whether the group is running or not."""
        with self._line.open() as client:
            committed = with_known_lags(client, committed_offsets(client, name))
            if not committed:
                wire_groups.describe_group(client, name)  # which says so if there is none
            bounds = known_bounds(client, committed)
        return _lag(
            [_partition_lag(place, each, bounds.get(place)) for place, each in committed.items()]
        )

    def delete(self, name: str) -> None:
        """With all its offsets. GroupRunning if it has members."""
        with self._line.open() as client:
            wire_groups.delete_group(client, name)

    def offsets(self, name: str) -> dict[Place, int]:
        """What the group has committed, by topic and partition; nothing if there is no group."""
        with self._line.open() as client:
            return {place: each.offset for place, each in committed_offsets(client, name).items()}

    def set_offsets(self, name: str, offsets: Mapping[Place, int]) -> None:
        """Just these, also if they are past the end. GroupRunning if it has members; a new group is
        made."""
        for (topic, index), offset in offsets.items():
            check_whole(f"offset of {topic}-{index}", offset, 0, OFFSET_MAX)
        with self._line.open() as client:
            existing_places(client, ((topic, (index,)) for topic, index in offsets))
            commit_offsets(client, name, offsets)

    def delete_offsets(self, name: str, *topics: str) -> None:
        """As if the group had never read these topics."""
        with self._line.open() as client:
            places = [each for each in committed_offsets(client, name) if each[0] in topics]
            if places:
                delete_offsets(client, name, places)
            else:
                wire_groups.describe_group(client, name)

    def reset_offsets(
        self,
        name: str,
        to: To | None = None,
        *,
        topics: Topics = (),
        shift: int | None = None,
        dry_run: bool = False,
    ) -> tuple[OffsetMove, ...]:
        """Moves a group without members, in these topics or wherever it has an offset, to another
        place: `to` one, or `shift` by so many offsets. What lies before the start or past the end
        of a partition stands for these. With `dry_run` it is only said what would be done."""
        if (to is None) == (shift is None):
            raise Misconfigured("give either to= or shift=")
        wanted = None if to is None else position(to)
        with self._line.open() as client:
            moves = plan(client, name, _parts(topics), wanted, shift)
            targets = {(each.topic, each.partition): each.to for each in moves}
            if not dry_run:
                commit_offsets(
                    client, name, {place: to for place, to in targets.items() if to is not None}
                )
        return tuple(map(_move, moves))

    def get_configs(self, name: str) -> dict[str, Setting]:
        with self._line.open() as client:
            return as_settings(wire.group_configs(client, name))

    def set_configs(self, name: str, configs: Mapping[str, Value]) -> None:
        """The group need not be there yet."""
        with self._line.open() as client:
            wire.alter_group(client, name, texts(configs))

    def unset_configs(self, name: str, *settings: str) -> None:
        with self._line.open() as client:
            wire.alter_group(client, name, dict.fromkeys(settings))


def _parts(topics: Topics) -> list[tuple[str, Collection[int]]]:
    if isinstance(topics, str):
        return [(topics, ())]
    if isinstance(topics, Mapping):
        return [(name, tuple(indexes)) for name, indexes in topics.items()]
    return [(name, ()) for name in topics]


def _member(known: KnownMember) -> Member:
    return Member(
        id=known.id,
        instance_id=known.instance_id,
        client_id=known.client_id,
        host=known.host,
        topics=tuple(known.topics),
        partitions={topic: tuple(indexes) for topic, indexes in known.assigned.items()},
    )


def _partition_lag(
    place: Place, committed: CommittedOffset, bounds: tuple[int, int] | None
) -> PartitionLag:
    end, messages = end_and_lag(committed, bounds)
    seconds = None if committed.lag_ms is None else committed.lag_ms / 1000
    return PartitionLag(*place, committed.offset, end, messages, seconds)


def _lag(partitions: list[PartitionLag]) -> Lag:
    return Lag(
        messages=sum(each.messages or 0 for each in partitions),
        seconds=max((each.seconds or 0.0 for each in partitions), default=0.0),
        partitions=tuple(partitions),
        is_complete=all(each.messages is not None for each in partitions),
    )


def _move(move: Move) -> OffsetMove:
    return OffsetMove(move.topic, move.partition, move.since, move.to, move.lag, move.note or "")
