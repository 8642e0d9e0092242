"""Changes to settings of topics and groups, and to those of brokers that may change as they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from penstock.config import SAME_EVERYWHERE
from penstock.errors import ErrorCode, Refused
from penstock.metadata import dead_letters, group_settings, topic_settings
from penstock.metadata.changes import Commit, existing_topic, rewrite_topic
from penstock.metadata.closing import with_configs
from penstock.metadata.cluster import Held
from penstock.metadata.config_values import (
    ConfigChange,
    broker_setting,
    changed,
    checked,
    checked_topic_configs,
    group_setting,
    topic_setting,
)
from penstock.metadata.delayed_topics import (
    check_begin,
    check_change,
    has_delays,
    scheduled_name,
)
from penstock.metadata.image import Image
from penstock.metadata.internal_topics import check_internal_configs
from penstock.metadata.records import (
    ConfigRecord,
    TopicRecord,
    broker_config_key,
    encode,
    group_config_key,
)
from penstock.settings import Setting

GROUP_CONFIGS_MAX = 100_000
"""Groups that can have settings, since anyone may give some to groups that will never be."""


def replace_topic_configs(
    image: Image, name: str, configs: Mapping[str, str | None], *, nonce: bytes, now_ms: int
) -> Commit[TopicRecord]:
    """As AlterConfigs does: what is not given falls back to its default."""
    existing_topic(image, name)
    return _set_topic_configs(image, name, checked_topic_configs(configs), nonce, now_ms)


def change_topic_configs(
    image: Image, name: str, changes: Sequence[ConfigChange], *, nonce: bytes, now_ms: int
) -> Commit[TopicRecord]:
    """As IncrementalAlterConfigs does: what is not given stays."""
    topic = existing_topic(image, name)

    def in_force(setting: Setting) -> str:
        return setting.show(getattr(image.settings.of_topic(topic), setting.attribute))

    configs = changed(topic.record.configs, changes, topic_setting, in_force)
    return _set_topic_configs(image, name, configs, nonce, now_ms)


def replace_broker_configs(
    image: Image, node_id: int | None, configs: Mapping[str, str | None]
) -> Commit[ConfigRecord]:
    """None: for all brokers."""
    return _set_broker_configs(image, node_id, checked(configs, broker_setting))


def change_broker_configs(
    image: Image, node_id: int | None, changes: Sequence[ConfigChange]
) -> Commit[ConfigRecord]:
    held = image.settings.broker_config(node_id)

    def in_force(setting: Setting) -> str:
        return setting.show(setting.default)

    before = held.record.configs if held else {}
    return _set_broker_configs(image, node_id, changed(before, changes, broker_setting, in_force))


def replace_group_configs(
    image: Image, name: str, configs: Mapping[str, str | None]
) -> Commit[ConfigRecord]:
    """The group need not be there."""
    declared = group_settings.limited(image.settings.layers())
    return _set_group_configs(image, name, checked(configs, partial(group_setting, declared)))


def change_group_configs(
    image: Image, name: str, changes: Sequence[ConfigChange]
) -> Commit[ConfigRecord]:
    held = image.settings.group_config(name)
    declared = group_settings.limited(image.settings.layers())

    def in_force(setting: Setting) -> str:
        return setting.show(getattr(image.settings.of_group(name), setting.attribute))

    before = held.record.configs if held else {}
    configs = changed(before, changes, partial(group_setting, declared), in_force)
    return _set_group_configs(image, name, configs)


def _set_topic_configs(
    image: Image, name: str, configs: dict[str, str], nonce: bytes, now_ms: int
) -> Commit[TopicRecord]:
    topic = existing_topic(image, name)
    check_internal_configs(image, topic, configs)
    record = with_configs(image, topic, configs, now_ms)
    if record == topic.record:
        return Commit(answer=record)
    topic_settings.check_together(image.settings.of_record(record))
    before = image.settings.of_topic(topic)
    check_change(before, topic, record)
    if has_delays(record) and not before.delayed_delivery:
        check_begin(record, image.colliding(scheduled_name(name)))
    # Less may be kept from now on.
    return replace(rewrite_topic(image, topic, record, nonce), makes_room=True)


def _set_broker_configs(
    image: Image, node_id: int | None, configs: dict[str, str]
) -> Commit[ConfigRecord]:
    held = image.settings.broker_config(node_id)
    if node_id is not None:
        _refuse_shared(configs, held.record.configs if held else {})
    return replace(_set_configs(broker_config_key(node_id), held, configs), makes_room=True)


def _refuse_shared(configs: Mapping[str, str], before: Mapping[str, str]) -> None:
    """What one broker was given before this was refused does no harm: it does not count."""
    for name in sorted(SAME_EVERYWHERE & configs.keys()):
        if configs[name] != before.get(name):
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                f"{name} must be the same on all brokers: set it for all of them, or for a topic "
                f"(`penstock broker config all --set {name}=...`)",
            )


def _set_group_configs(image: Image, name: str, configs: dict[str, str]) -> Commit[ConfigRecord]:
    group_settings.check_name(name)
    layers = image.settings.layers()
    group_settings.check_together(configs, layers)
    dead_letters.check_group(image, group_settings.effective(configs, layers))
    held = image.settings.group_config(name)
    if held is None:
        if not configs:
            return Commit(answer=ConfigRecord(configs={}))
        if image.settings.group_configs_count >= GROUP_CONFIGS_MAX:
            raise Refused(
                ErrorCode.POLICY_VIOLATION,
                f"{GROUP_CONFIGS_MAX} groups have had settings of their own, and no more can: set "
                "the broker's group.* settings, which hold for all groups",
            )
    return _set_configs(group_config_key(name), held, configs)


def _set_configs(
    key: str, held: Held[ConfigRecord] | None, configs: dict[str, str]
) -> Commit[ConfigRecord]:
    """The key is never deleted, since it is compared: without settings it stays, empty."""
    record = ConfigRecord(configs=configs)
    if held and held.record == record:
        return Commit(answer=record)
    return Commit(
        answer=record,
        checks=[(key, held.revision if held else 0)],
        puts=[(key, encode(record))],
    )
