"""Topics: made, looked at, given more or fewer partitions, cut and deleted."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Literal

from penstock.client import admin as wire
from penstock.client.closing import State, closing_state, set_partitions
from penstock.client.cluster import WireClient
from penstock.client.locating import chosen_partitions, cut_before
from penstock.client.metadata import Partition as KnownPartition
from penstock.client.metadata import Topic as KnownTopic
from penstock.client.offsets import delete_records, replica_sizes, survey_bounds
from penstock.sdk.admin_line import Line, Value, as_settings, texts
from penstock.sdk.admin_positions import To, position
from penstock.sdk.admin_values import Closing, Partition, Setting, Topic, TopicSummary
from penstock.sdk.checks import check_text, check_whole
from penstock.sdk.errors import TimedOut

LOOK_S = 0.2
REPLICAS_MAX = 2**15 - 1


class Topics:
    def __init__(self, line: Line) -> None:
        self._line = line

    def create(
        self,
        name: str,
        partitions: int | None = None,
        replicas: int | None = None,
        configs: Mapping[str, Value] | None = None,
    ) -> TopicSummary:
        """As many partitions and replicas as the cluster is set to, unless they are given."""
        check_text("name", name)
        if partitions is not None:
            check_whole("partitions", partitions, 1)
        if replicas is not None:
            check_whole("replicas", replicas, 1, REPLICAS_MAX)
        with self._line.open() as client:
            by_default = wire.BY_DEFAULT
            wire.create_topic(
                client,
                name,
                by_default if partitions is None else partitions,
                by_default if replicas is None else replicas,
                texts(configs or {}),
            )
            return _summary(client.retry(lambda deadline: client.topic(name, deadline=deadline)))

    def list(self, *, internal: bool = False) -> tuple[TopicSummary, ...]:
        """By name; with those that the cluster keeps for itself if `internal`."""
        with self._line.open() as client:
            found = client.retry(lambda deadline: client.metadata(deadline=deadline)).topics
        shown = [each for _, each in sorted(found.items()) if internal or not each.is_internal]
        return tuple(map(_summary, shown))

    def describe(self, name: str) -> Topic:
        with self._line.open() as client:
            known = _known(client, name)
            partitions = _partitions(client, known)
            configs = as_settings(wire.topic_configs(client, name))
            marks = {each.index: each.end or 0 for each in partitions}
            state, origin = closing_state(client, known, marks)
        return Topic(
            name=name,
            id=known.topic_id.hex(),
            is_internal=known.is_internal,
            partitions=partitions,
            configs={key: each for key, each in configs.items() if each.source != wire.DEFAULT},
            closing=_closing(state, len(partitions)) if state else None,
            sealed_from=origin or None,
        )

    def delete(self, name: str) -> None:
        """With all that is in it."""
        with self._line.open() as client:
            wire.delete_topic(client, name)

    def truncate(
        self, name: str, before: To = "latest", partitions: Collection[int] = ()
    ) -> dict[int, int]:
        """Drops the oldest records, of all partitions unless some are given; gives where each
        begins now. What is past a partition's end stands for the end."""
        wanted = position(before)
        with self._line.open() as client:
            chosen = chosen_partitions(client, name, partitions)
            starts, cuts = cut_before(client, name, chosen, wanted)
            return {**starts, **delete_records(client, name, cuts)} if cuts else starts

    def set_partitions(
        self,
        name: str,
        count: int,
        *,
        when: Literal["retention", "drained"] | None = None,
        max_pause_s: float | None = None,
    ) -> Closing | None:
        """How many there shall be in all. More: at once. Fewer: the others are closing first, and
        go once their records have expired (`retention`, the default) or every group has read them
        (`drained`). As many as there are: none of them goes any more."""
        check_whole("count", count, 1)
        max_pause_ms = None if max_pause_s is None else round(max_pause_s * 1000)
        with self._line.open() as client:
            set_partitions(client, name, count, when, max_pause_ms)
        return self.closing(name)

    def closing(self, name: str) -> Closing | None:
        """How far a topic is that is to have fewer partitions; None if it keeps those it has."""
        return self.describe(name).closing

    def wait_for_partitions(self, name: str, count: int, timeout_s: float = 60.0) -> None:
        """Until the topic has so many, and none is closing. TimedOut says what is waited for."""
        give_up_s = time.monotonic() + timeout_s
        while True:
            found = self.describe(name)
            if len(found.partitions) == count and found.closing is None:
                return
            if time.monotonic() + LOOK_S > give_up_s:
                raise TimedOut(_late(found, count, timeout_s))
            time.sleep(LOOK_S)

    def get_configs(self, name: str) -> dict[str, Setting]:
        """All of them, those by default included."""
        with self._line.open() as client:
            return as_settings(wire.topic_configs(client, name))

    def set_configs(self, name: str, configs: Mapping[str, Value]) -> None:
        """All of these or none; others stay as they are."""
        with self._line.open() as client:
            wire.alter_topic(client, name, texts(configs))

    def unset_configs(self, name: str, *settings: str) -> None:
        """Back to what the brokers have by default."""
        with self._line.open() as client:
            wire.alter_topic(client, name, dict.fromkeys(settings))


def _known(client: WireClient, name: str) -> KnownTopic:
    return client.retry(lambda deadline: client.topic(name, deadline=deadline))


def _summary(topic: KnownTopic) -> TopicSummary:
    replicas = min((len(each.replicas) for each in topic.partitions.values()), default=0)
    return TopicSummary(topic.name, len(topic.partitions), replicas, topic.is_internal)


def _partitions(client: WireClient, topic: KnownTopic) -> tuple[Partition, ...]:
    starts, marks, _ = (each.offsets for each in survey_bounds(client, topic))
    sizes = {
        (each.broker, each.partition): each.size_bytes
        for each in replica_sizes(client, topic.name, topic.partitions)
    }

    def made(index: int, each: KnownPartition) -> Partition:
        return Partition(
            index,
            each.leader if each.leader >= 0 else None,
            each.replicas,
            each.in_sync,
            starts.get(index),
            marks.get(index),
            sizes.get((each.leader, index)),
        )

    return tuple(made(index, each) for index, each in topic.partitions.items())


def _closing(state: State, count: int) -> Closing:
    return Closing(
        partitions=count,
        left=state.open_partitions,
        when=state.when,
        since=_time(state.since_ms),
        due=None if state.due_ms is None else _time(state.due_ms),
        is_paused=state.closed_ms is not None,
        given_up=state.reopened_reason,
        groups_behind=state.groups,
        writers={client: _time(last_ms) for client, last_ms in state.writers.items()},
    )


def _time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def _late(topic: Topic, count: int, timeout_s: float) -> str:
    closing = topic.closing
    why = "nothing is under way: call admin.topics.set_partitions() first"
    if closing is not None and closing.groups_behind:
        why = f"groups have yet to read: {', '.join(closing.groups_behind)}"
    elif closing is not None:
        why = f"it is closing, by {closing.when}; it goes on by itself"
    return (
        f"topic {topic.name} has {len(topic.partitions)} partitions and not {count} "
        f"after {timeout_s:g} s: {why}"
    )
