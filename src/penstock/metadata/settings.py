"""What brokers and groups were set to while running, and what holds for a topic or a group then.

A setting is looked for in the topic's or group's own, this broker's, all brokers', what the broker
was started with, and the defaults. What was found is kept until one of these changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.config import GroupConfig, TopicConfig
from penstock.metadata import group_settings, topic_settings
from penstock.metadata.cluster import Changed, Held, Topic, hold
from penstock.metadata.records import (
    ConfigRecord,
    TopicRecord,
    broker_config_key,
    group_config_key,
    group_of_config_key,
)
from penstock.metadata.store import Entry


class Settings:
    def __init__(self, node_id: int, defaults: Mapping[str, str]) -> None:
        """`defaults`: what the broker was started with, by broker setting (`log.retention.ms`)."""
        self._node_id = node_id
        self._defaults = topic_settings.own(defaults)
        self._broker_configs: dict[str, Held[ConfigRecord]] = {}
        self._group_configs: dict[str, Held[ConfigRecord]] = {}
        self._group_settings: dict[str, GroupConfig] = {}
        """By key, of groups that have some of their own; the empty key is for all others."""
        self._plain_configs: dict[bool, TopicConfig] = {}

    def broker_config(self, node_id: int | None) -> Held[ConfigRecord] | None:
        """What was changed for one broker while running, or for all (None)."""
        return self._broker_configs.get(broker_config_key(node_id))

    def group_config(self, name: str) -> Held[ConfigRecord] | None:
        """The own settings of a group, which may not be there yet, or any more."""
        return self._group_configs.get(group_config_key(name))

    def group_configs(self) -> Mapping[str, Mapping[str, str]]:
        """The groups that have settings of their own, by name, with these."""
        return {
            group_of_config_key(key): held.record.configs
            for key, held in self._group_configs.items()
            if held.record.configs
        }

    @property
    def group_configs_count(self) -> int:
        """Groups that have had settings of their own: the keys stay when these are taken back."""
        return len(self._group_configs)

    def of_group(self, name: str) -> GroupConfig:
        """What holds for a group: its own settings, this broker's, all brokers', the defaults."""
        key = group_config_key(name)
        held = self._group_configs.get(key)
        if held is None:
            key = ""
        if key not in self._group_settings:
            own = held.record.configs if held else {}
            self._group_settings[key] = group_settings.effective(own, self.layers())
        return self._group_settings[key]

    def of_topic(self, topic: Topic) -> TopicConfig:
        """What holds for a topic: its own settings, this broker's, all brokers', the defaults."""
        if topic.config is None:
            topic.config = self.of_record(topic.record)
        return topic.config

    def layers(self) -> Sequence[Mapping[str, str]]:
        """Broker settings by name, the weakest first: as started, for all, for this broker."""
        own = self.broker_config(self._node_id)
        return [
            self._defaults,
            self.cluster_configs,
            topic_settings.own(own.record.configs) if own else {},
        ]

    @property
    def cluster_configs(self) -> Mapping[str, str]:
        """What was set for all brokers, by broker setting."""
        held = self.broker_config(None)
        return held.record.configs if held else {}

    def of_record(self, record: TopicRecord) -> TopicConfig:
        """The same, of a topic that need not be there yet."""
        if record.configs:
            layers = self.layers()
            return topic_settings.effective(record.configs, layers, record.replication_factor)
        replicated = record.replication_factor >= 3
        if replicated not in self._plain_configs:
            self._plain_configs[replicated] = topic_settings.effective(
                {}, self.layers(), record.replication_factor
            )
        return self._plain_configs[replicated]

    def held(self) -> Iterator[tuple[str, ConfigRecord, int]]:
        """Everything, as keys, records and revisions."""
        for key, config in (*self._broker_configs.items(), *self._group_configs.items()):
            yield key, config.record, config.revision

    def replay(self, rest: str, entry: Entry | None, changed: Changed) -> None:
        """One key below /configs was written, or deleted."""
        key = f"/configs/{rest}"
        if rest.startswith("brokers/"):
            changed.broker_configs = True
            hold(self._broker_configs, ConfigRecord, key, entry)
            self._plain_configs.clear()
            self._group_settings.clear()
        elif rest.startswith("groups/"):
            changed.group_configs.add(group_of_config_key(key))
            hold(self._group_configs, ConfigRecord, key, entry)
            self._group_settings.pop(key, None)
