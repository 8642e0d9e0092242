"""What the cluster is, held in memory: a replay of the store's entries, and nothing beside them.

Every lookup is a dictionary or list access. Partitions of the same shape share one record, so ten
thousand of them cost little more than two numbers each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeVar

from penstock.metadata.cluster import Broker, Changed, Held, Partitions, Topic, hold, replicas_of
from penstock.metadata.delayed_topics import Scheduled, has_delays, scheduled_name
from penstock.metadata.readable import Readable
from penstock.metadata.records import (
    CATALOG,
    CLUSTER,
    CONTROLLER,
    FEATURES,
    PRODUCER_IDS,
    RESTORING,
    SECRET,
    TERM,
    BrokerRecord,
    CatalogRecord,
    ClusterRecord,
    ControllerRecord,
    DeletedRecord,
    FeaturesRecord,
    LeavingRecord,
    MemberRecord,
    PartitionRecord,
    ProducerIdsRecord,
    Record,
    RestoringRecord,
    SecretRecord,
    TermRecord,
    TopicRecord,
    ViewRecord,
    broker_key,
    decode,
    deleted_key,
    leaving_key,
    member_key,
    partition_key,
    topic_key,
    view_key,
)
from penstock.metadata.sealed_topics import SealedTopics
from penstock.metadata.settings import Settings
from penstock.metadata.shown_ids import ShownIds
from penstock.metadata.store import Check, Entry, Event
from penstock.metadata.views import View, Views

R = TypeVar("R", bound=Record)

SHAPES_MAX = 4096
_SINGLES: dict[str, type[Record]] = {
    CLUSTER: ClusterRecord,
    SECRET: SecretRecord,
    CONTROLLER: ControllerRecord,
    TERM: TermRecord,
    FEATURES: FeaturesRecord,
    PRODUCER_IDS: ProducerIdsRecord,
    CATALOG: CatalogRecord,
    RESTORING: RestoringRecord,
}


class Image:
    def __init__(self, node_id: int = -1, defaults: Mapping[str, str] | None = None) -> None:
        """`defaults`: what the broker was started with, by broker setting (`log.retention.ms`)."""
        self.revision = 0
        self.settings = Settings(node_id, defaults or {})
        self._topics: dict[str, Topic] = {}
        self._by_id: dict[bytes, Topic] = {}
        self.shown = ShownIds()
        self.sealed = SealedTopics()
        self.views = Views()
        self.readable = Readable()
        self._by_collision: dict[str, str] = {}
        self._tables: dict[bytes, Partitions] = {}
        self._brokers: dict[int, Broker] = {}
        self._leaving: dict[int, Held[LeavingRecord]] = {}
        self._members: dict[int, Held[MemberRecord]] = {}
        self._deleted: dict[bytes, Held[DeletedRecord]] = {}
        self._singles: dict[str, Held[Record]] = {}
        self._shapes: dict[bytes, PartitionRecord] = {}
        self._replicas_held: Counter[int] | None = None
        self._kinds: dict[str, Callable[[str, Entry | None, Changed], None]] = {
            "topics": self._on_topic,
            "partitions": self._on_partition,
            "brokers": self._on_broker,
            "leaving": self._on_leaving,
            "members": self._on_member,
            "deleted": self._on_deleted,
            "configs": self._on_config,
            "views": self._on_view,
        }

    # Lookups

    @property
    def cluster_id(self) -> str:
        """Empty before there is a cluster."""
        held = self.single(ClusterRecord)
        return held.record.cluster_id if held else ""

    @property
    def topics(self) -> Mapping[str, Topic]:
        return self._topics

    @property
    def brokers(self) -> Mapping[int, Broker]:
        return self._brokers

    @property
    def leaving(self) -> Collection[int]:
        """Brokers that are alive, and about to stop."""
        return self._leaving.keys()

    @property
    def members(self) -> Mapping[int, Held[MemberRecord]]:
        """Brokers that the cluster counts on, alive or not."""
        return self._members

    @property
    def deleted(self) -> Mapping[bytes, Held[DeletedRecord]]:
        """Topics that were deleted lately, by id."""
        return self._deleted

    @property
    def controller_id(self) -> int:
        """-1 while there is none."""
        term = self.single(TermRecord)
        holder = self.single(ControllerRecord)
        if term is None or holder is None or term.record.node_id != holder.record.node_id:
            return -1
        return term.record.node_id

    @property
    def finalized_features(self) -> Mapping[str, int]:
        held = self.single(FeaturesRecord)
        return held.record.levels if held else {}

    @property
    def features_epoch(self) -> int:
        """-1 before any have been finalized, as ApiVersions wants it."""
        held = self.single(FeaturesRecord)
        return held.record.epoch if held else -1

    def feature_level(self, name: str) -> int:
        """0 for a feature that the cluster was never told to use."""
        return self.finalized_features.get(name, 0)

    def topic(self, name: str) -> Topic | None:
        return self._topics.get(name)

    def topic_by_id(self, topic_id: bytes) -> Topic | None:
        return self._by_id.get(topic_id)

    def registration(self, node_id: int) -> Check:
        """As it is now, for a commit that relies on it."""
        known = self.brokers.get(node_id)
        return broker_key(node_id), known.epoch if known else 0

    def partition(self, topic_id: bytes, index: int) -> PartitionRecord | None:
        topic = self._by_id.get(topic_id)
        return topic.partition(index) if topic else None

    def colliding(self, name: str) -> str | None:
        """The topic whose name is this one but for dots and underscores, or this one itself."""
        return self._by_collision.get(_collision(name))

    def orphans(self) -> Iterator[tuple[bytes, int]]:
        """Partitions of topics that are not there, or not yet."""
        for topic_id in self._tables.keys() - self._by_id.keys():
            for index, record in enumerate(self._tables[topic_id].records):
                if record is not None:
                    yield topic_id, index

    def racks(self) -> dict[int, str]:
        """The brokers that live, by id, with the rack each stands in."""
        return {number: self._brokers[number].record.rack for number in sorted(self._brokers)}

    def replicas_held(self) -> Mapping[int, int]:
        """How many replicas each broker has; counted again only when some have moved."""
        if self._replicas_held is None:
            self._replicas_held = Counter()
            for topic in self._topics.values():
                self._replicas_held.update(replicas_of(topic))
        return self._replicas_held

    def single(self, kind: type[R]) -> Held[R] | None:
        """The record that there is but one of, with its revision."""
        for key, declared in _SINGLES.items():
            if declared is kind:
                return self._singles.get(key)  # type: ignore[return-value]
        raise LookupError(kind)

    def revision_of(self, key: str) -> int:
        """Of a key that there is but one of, as a check wants it: 0 where it does not exist."""
        held = self._singles.get(key)
        return held.revision if held else 0

    def held(self) -> Iterator[tuple[str, Record, int]]:
        """Everything, as keys, records and revisions."""
        for key, single in self._singles.items():
            yield key, single.record, single.revision
        yield from self.settings.held()
        for number, broker in self._brokers.items():
            yield broker_key(number), broker.record, broker.epoch
        for number, leaving in self._leaving.items():
            yield leaving_key(number), leaving.record, leaving.revision
        for number, member in self._members.items():
            yield member_key(number), member.record, member.revision
        for topic_id, deleted in self._deleted.items():
            yield deleted_key(topic_id), deleted.record, deleted.revision
        for name, topic in self._topics.items():
            yield topic_key(name), topic.record, topic.revision
        for view, revision in self.views.held():
            yield view_key(view.name), view, revision
        for topic_id, table in self._tables.items():
            for index, record in enumerate(table.records):
                if record is not None:
                    yield partition_key(topic_id, index), record, table.revisions[index]

    # Replay

    def load(self, entries: Iterable[Entry], revision: int) -> Changed:
        """Becomes what was listed, whatever it was before."""
        listed = {entry.key: entry for entry in entries}
        known = {key: revision for key, _, revision in self.held()}
        events = [Event(key, None, revision) for key in known if key not in listed]
        events += [
            Event(key, entry, entry.revision)
            for key, entry in listed.items()
            if known.get(key) != entry.revision
        ]
        return self.apply(events, revision)

    def apply(self, events: Iterable[Event], revision: int) -> Changed:
        """Goes on to a later revision. Keys that we do not know are a later release's: ignored."""
        changed = Changed()
        for event in events:
            if event.key in _SINGLES:
                self._on_single(event.key, event.entry, changed)
                continue
            kind, _, rest = event.key[1:].partition("/")
            if kind in self._kinds:
                self._kinds[kind](rest, event.entry, changed)
        self.revision = revision
        for place in [place for place in changed.partitions if self.partition(*place) is None]:
            del changed.partitions[place]  # not yet there, or no more
        return changed

    def _on_single(self, key: str, entry: Entry | None, changed: Changed) -> None:
        changed.features |= key == FEATURES
        changed.controller |= key in (CONTROLLER, TERM)
        if entry is None:
            self._singles.pop(key, None)
        else:
            record = decode(_SINGLES[key], key, entry.value)
            self._singles[key] = Held(record, entry.revision, entry.session)

    def _on_broker(self, rest: str, entry: Entry | None, changed: Changed) -> None:
        changed.brokers.add(int(rest))
        if entry is None:
            self._brokers.pop(int(rest), None)
        else:
            record = decode(BrokerRecord, entry.key, entry.value)
            self._brokers[int(rest)] = Broker(record, entry.revision, entry.session)

    def _on_leaving(self, rest: str, entry: Entry | None, changed: Changed) -> None:
        changed.brokers.add(int(rest))
        hold(self._leaving, LeavingRecord, int(rest), entry)

    def _on_member(self, rest: str, entry: Entry | None, changed: Changed) -> None:
        changed.members.add(int(rest))
        hold(self._members, MemberRecord, int(rest), entry)

    def _on_deleted(self, rest: str, entry: Entry | None, _changed: Changed) -> None:
        hold(self._deleted, DeletedRecord, bytes.fromhex(rest), entry)

    def _on_config(self, rest: str, entry: Entry | None, changed: Changed) -> None:
        self.settings.replay(rest, entry, changed)
        if rest.startswith("brokers/"):
            for topic in self._topics.values():
                topic.config = None  # it depends on the brokers'

    def _on_topic(self, name: str, entry: Entry | None, changed: Changed) -> None:
        topic = self._topics.get(name)
        record = decode(TopicRecord, entry.key, entry.value) if entry else None
        if topic and (record is None or record.topic_id != topic.id):
            self._drop(topic, changed)
            topic = None
        if entry is None or record is None:
            return
        if topic is None:
            self._add(record, entry.revision, changed)
            return
        before, after = topic.record.partitions, record.partitions
        for index in range(before, after):
            changed.partitions[topic.id, index] = None
        self.shown.remove(topic)
        topic.record, topic.revision, topic.config = record, entry.revision, None
        self.shown.add(topic)
        if topic.id not in changed.created:
            changed.altered[topic.id] = topic
        self._show_views(topic, changed)
        self._show_held(topic)
        if after < before:
            self._replicas_held = None
            changed.reduced[topic.id] = range(after, before)

    def _add(self, record: TopicRecord, revision: int, changed: Changed) -> None:
        self._replicas_held = None
        table = self._tables.setdefault(record.topic_id, Partitions())
        topic = Topic(record, revision, table)
        self._topics[record.name] = self._by_id[record.topic_id] = topic
        self.shown.add(topic)
        self.sealed.add(topic)
        self._by_collision[_collision(record.name)] = record.name
        changed.created[record.topic_id] = topic
        self.readable.add(topic)
        self._show_views(topic, changed)
        self._show_held(topic)
        for index, partition in enumerate(table.records):
            if partition is not None:
                changed.partitions[record.topic_id, index] = None

    def _drop(self, topic: Topic, changed: Changed) -> None:
        self._replicas_held = None
        del self._topics[topic.name], self._by_id[topic.id]
        self.shown.remove(topic)
        self.sealed.remove(topic)
        self.readable.remove(topic)
        for view, _ in self.views.of(topic.id):
            self._hide_view(view.name, changed)
        self._hide_held(topic)
        self._free_name(topic.name)
        if not topic.record_count:
            del self._tables[topic.id]
        changed.altered.pop(topic.id, None)
        if changed.created.pop(topic.id, None) is None:
            changed.deleted[topic.id] = topic

    def _on_view(self, name: str, entry: Entry | None, changed: Changed) -> None:
        if self.views.remove(name) is not None:
            self._hide_view(name, changed)
            self._free_name(name)
        if entry is None:
            return
        record = decode(ViewRecord, entry.key, entry.value)
        self.views.put(record, entry.revision)
        self._by_collision[_collision(name)] = name
        source = self._by_id.get(record.source_id)
        if source is not None:
            self._show_view(View(record, entry.revision, source), changed)

    def _free_name(self, name: str) -> None:
        if self.colliding(name) == name:
            del self._by_collision[_collision(name)]

    def _show_views(self, source: Topic, changed: Changed) -> None:
        """It is there now, or has another number of partitions."""
        for record, revision in self.views.of(source.id):
            self._hide_view(record.name, changed)
            self._show_view(View(record, revision, source), changed)

    def _show_view(self, view: View, changed: Changed) -> None:
        self.readable.add(view)
        self.shown.add(view)
        changed.views[view.name] = view

    def _hide_view(self, name: str, changed: Changed) -> None:
        view = self.readable.topic(name)
        if isinstance(view, View):
            self.readable.remove(view)
            self.shown.remove(view)
            changed.views[name] = None

    def _show_held(self, source: Topic) -> None:
        """What a topic with delays holds back can be read, too."""
        self._hide_held(source)
        if has_delays(source.record):
            scheduled = Scheduled(source)
            self.readable.add_unlisted(scheduled)
            self.shown.add(scheduled)
            self._by_collision.setdefault(_collision(scheduled.name), scheduled.name)

    def _hide_held(self, source: Topic) -> None:
        known = self.readable.topic(scheduled_name(source.name))
        if isinstance(known, Scheduled):
            self.readable.remove(known)
            self.shown.remove(known)
            self._free_name(known.name)

    def _on_partition(self, rest: str, entry: Entry | None, changed: Changed) -> None:
        topic_hex, _, number = rest.partition("/")
        topic_id, index = bytes.fromhex(topic_hex), int(number)
        table = self._tables.get(topic_id)
        self._replicas_held = None
        if entry is not None:
            if table is None:
                table = self._tables[topic_id] = Partitions()
            table.put(index, self._shared(entry), entry.revision)
            changed.partitions[topic_id, index] = None
        elif table is not None:
            table.remove(index)
            changed.partitions.pop((topic_id, index), None)
            if not table.records and topic_id not in self._by_id:
                del self._tables[topic_id]

    def _shared(self, entry: Entry) -> PartitionRecord:
        """One record for all partitions that are alike: in a calm cluster there are few shapes."""
        record = self._shapes.get(entry.value)
        if record is None:
            record = decode(PartitionRecord, entry.key, entry.value)
            if len(self._shapes) >= SHAPES_MAX:
                self._shapes.clear()
            self._shapes[entry.value] = record
        return record


def _collision(name: str) -> str:
    return name.replace(".", "_")
