"""Changes to the settings of topics, and to those of brokers that may change while they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from penstock.metadata.changes import Commit, existing_topic, rewrite_topic
from penstock.metadata.config_values import (
    ConfigChange,
    broker_setting,
    changed,
    checked,
    checked_topic_configs,
    topic_setting,
)
from penstock.metadata.image import Image
from penstock.metadata.records import ConfigRecord, TopicRecord, broker_config_key, encode
from penstock.settings import Setting


def replace_topic_configs(
    image: Image, name: str, configs: Mapping[str, str | None], *, nonce: bytes
) -> Commit[TopicRecord]:
    """As AlterConfigs does: what is not given falls back to its default."""
    existing_topic(image, name)
    return _set_topic_configs(image, name, checked_topic_configs(configs), nonce)


def change_topic_configs(
    image: Image, name: str, changes: Sequence[ConfigChange], *, nonce: bytes
) -> Commit[TopicRecord]:
    """As IncrementalAlterConfigs does: what is not given stays."""
    topic = existing_topic(image, name)

    def in_force(setting: Setting) -> str:
        return setting.show(getattr(image.config(topic), setting.attribute))

    configs = changed(topic.record.configs, changes, topic_setting, in_force)
    return _set_topic_configs(image, name, configs, nonce)


def replace_broker_configs(
    image: Image, node_id: int | None, configs: Mapping[str, str | None]
) -> Commit[ConfigRecord]:
    """None: for all brokers."""
    return _set_broker_configs(image, node_id, checked(configs, broker_setting))


def change_broker_configs(
    image: Image, node_id: int | None, changes: Sequence[ConfigChange]
) -> Commit[ConfigRecord]:
    held = image.broker_config(node_id)

    def in_force(setting: Setting) -> str:
        return setting.show(setting.default)

    before = held.record.configs if held else {}
    return _set_broker_configs(image, node_id, changed(before, changes, broker_setting, in_force))


def _set_topic_configs(
    image: Image, name: str, configs: dict[str, str], nonce: bytes
) -> Commit[TopicRecord]:
    topic = existing_topic(image, name)
    record = msgspec.structs.replace(topic.record, configs=configs)
    if record == topic.record:
        return Commit(answer=record)
    return rewrite_topic(image, topic, record, nonce)


def _set_broker_configs(
    image: Image, node_id: int | None, configs: dict[str, str]
) -> Commit[ConfigRecord]:
    """The key is never deleted, since it is compared: without settings it stays, empty."""
    held = image.broker_config(node_id)
    record = ConfigRecord(configs=configs)
    if held and held.record == record:
        return Commit(answer=record)
    key = broker_config_key(node_id)
    return Commit(
        answer=record,
        checks=[(key, held.revision if held else 0)],
        puts=[(key, encode(record))],
    )
