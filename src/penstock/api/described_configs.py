"""Settings as clients are shown them: what holds, and the layers that it comes from.

A topic's setting is looked for in the topic, then in what was changed for this broker while it ran,
then for all brokers, then in what the broker was started with, and last comes the default. With a
group's it is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from penstock.api.broker import Broker
from penstock.config import BROKER_SETTINGS, TOPIC_DEFAULTS, TOPIC_SETTINGS
from penstock.errors import Refused
from penstock.metadata import group_settings, topic_settings
from penstock.metadata.cluster import Held
from penstock.metadata.records import ConfigRecord, TopicRecord
from penstock.metadata.views import VIEW_IDLE, VIEW_OF, VIEW_WHERE, View
from penstock.settings import Setting

ALL_BROKER_SETTINGS: Mapping[str, Setting] = {**TOPIC_DEFAULTS, **BROKER_SETTINGS}
INT_MAX = 2_147_483_647


VIEW_SETTINGS = (
    Setting(VIEW_OF, "", "The topic that the view shows a part of."),
    Setting(VIEW_WHERE, "", "Which of its records: a predicate over key, timestamp and headers."),
    Setting(VIEW_IDLE, 0, "It is deleted when nobody has read it for so long. 0: it stays."),
)


class Source(IntEnum):
    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_GROUP = 8


class ConfigType(IntEnum):
    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


class Layer(NamedTuple):
    """One place where a setting has a value, and its name there."""

    source: Source
    name: str
    value: str | None
    """None for secrets: they are never shown."""


class Described(NamedTuple):
    name: str
    setting: Setting
    layers: list[Layer]
    """The first is the one that holds; the default is among them."""

    @property
    def value(self) -> str | None:
        return self.layers[0].value

    @property
    def source(self) -> Source:
        return self.layers[0].source

    @property
    def read_only(self) -> bool:
        """Whether it can only be set in the broker's config, before it starts, or cannot be set."""
        own = BROKER_SETTINGS.get(self.name)
        return self.setting in VIEW_SETTINGS or (own is self.setting and not own.dynamic)

    @property
    def type(self) -> ConfigType:
        kind, most = self.setting.kind, self.setting.at_most
        if kind is int:
            return ConfigType.INT if most is not None and most <= INT_MAX else ConfigType.LONG
        return _TYPES[kind]


_TYPES = {
    bool: ConfigType.BOOLEAN,
    str: ConfigType.STRING,
    float: ConfigType.DOUBLE,
    tuple: ConfigType.LIST,
}


def describe_topic(broker: Broker, record: TopicRecord) -> Iterator[Described]:
    defaults = topic_settings.effective({}, (), record.replication_factor)
    lower = _layers_of_this_broker(broker)
    for name, setting in TOPIC_SETTINGS.items():
        layers = [
            *_found(setting, Source.DYNAMIC_TOPIC, name, record.configs),
            *_found_in(setting, setting.broker_name, lower),
            _layer(setting, Source.DEFAULT, setting.broker_name or name, _value(defaults, setting)),
        ]
        yield Described(name, setting, layers)


def describe_view(view: View) -> Iterator[Described]:
    """It has no settings but what it was made with: its records are its topic's."""
    held = view.held
    texts = (view.source.name, held.where, str(held.idle_ms))
    for setting, text in zip(VIEW_SETTINGS, texts, strict=True):
        yield Described(setting.name, setting, [Layer(Source.DYNAMIC_TOPIC, setting.name, text)])


def describe_group(broker: Broker, name: str) -> Iterator[Described]:
    """Of any group, whether it is there or not."""
    held = broker.image.settings.group_config(name)
    own = held.record.configs if held else {}
    lower = _layers_of_this_broker(broker)
    for setting in group_settings.limited(broker.image.settings.layers()).values():
        layers = [
            *_found(setting, Source.DYNAMIC_GROUP, setting.name, own),
            *_found_in(setting, setting.broker_name, lower),
            _layer(
                setting,
                Source.DEFAULT,
                setting.broker_name or setting.name,
                setting.show(setting.default),
            ),
        ]
        yield Described(setting.name, setting, layers)


def describe_broker(broker: Broker) -> Iterator[Described]:
    """All settings of this broker."""
    places = _layers_of_this_broker(broker)
    for name, setting in ALL_BROKER_SETTINGS.items():
        layers = _found_in(setting, name, places)
        default = _layer(setting, Source.DEFAULT, name, setting.show(setting.default))
        yield Described(name, setting, [*layers, default])


def describe_all_brokers(broker: Broker) -> Iterator[Described]:
    """Only what was changed for all of them: the rest may differ from one to the next."""
    return _describe_changed(
        broker.image.settings.broker_config(None), Source.DYNAMIC_DEFAULT_BROKER
    )


def describe_other_broker(broker: Broker, node_id: int) -> Iterator[Described]:
    """Only what was changed while it ran: how it was started is not known here."""
    return _describe_changed(broker.image.settings.broker_config(node_id), Source.DYNAMIC_BROKER)


def _describe_changed(held: Held[ConfigRecord] | None, source: Source) -> Iterator[Described]:
    texts = held.record.configs if held else {}
    for name, setting in ALL_BROKER_SETTINGS.items():
        if layers := list(_found(setting, source, name, texts)):
            default = _layer(setting, Source.DEFAULT, name, setting.show(setting.default))
            yield Described(name, setting, [*layers, default])


def _layers_of_this_broker(broker: Broker) -> dict[Source, Mapping[str, str]]:
    static, general, own = broker.image.settings.layers()
    return {
        Source.DYNAMIC_BROKER: own,
        Source.DYNAMIC_DEFAULT_BROKER: general,
        Source.STATIC_BROKER: static,
    }


def _found_in(
    setting: Setting, name: str, layers: Mapping[Source, Mapping[str, str]]
) -> Iterator[Layer]:
    for source, texts in layers.items():
        yield from _found(setting, source, name, texts)


def _found(
    setting: Setting, source: Source, name: str, texts: Mapping[str, str]
) -> Iterator[Layer]:
    """The layer, if it has the setting. What we would refuse today does not hold: left out."""
    if name in texts:
        try:
            yield _layer(setting, source, name, setting.show(setting.parse(texts[name])))
        except Refused:
            return


def _layer(setting: Setting, source: Source, name: str, value: str) -> Layer:
    return Layer(source, name, None if setting.secret else value)


def _value(config: object, setting: Setting) -> str:
    return setting.show(getattr(config, setting.attribute))
