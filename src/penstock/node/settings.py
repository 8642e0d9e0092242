"""From texts by name, as file and command line give them, to a broker's settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.config import BROKER_SETTINGS, TOPIC_DEFAULTS, BrokerConfig, TopicConfig
from penstock.errors import ErrorCode, Refused, Unusable
from penstock.settings import read_settings, unknown_setting


@dataclass(frozen=True, slots=True)
class NodeSettings:
    broker: BrokerConfig
    topic_defaults: TopicConfig
    texts: Mapping[str, str]
    """What was set, as opposed to what is so by default."""


def read(texts: Mapping[str, str]) -> NodeSettings:
    """Raises Refused at the first text that is wrong."""
    own = {name: text for name, text in texts.items() if name in BROKER_SETTINGS}
    for name in texts.keys() - own.keys() - TOPIC_DEFAULTS.keys():
        known = {**BROKER_SETTINGS, **TOPIC_DEFAULTS}
        raise Refused(ErrorCode.INVALID_CONFIG, unknown_setting(name, known))
    defaults = {
        setting.attribute: setting.parse(texts[name])
        for name, setting in TOPIC_DEFAULTS.items()
        if name in texts
    }
    broker = read_settings(BrokerConfig, BROKER_SETTINGS, own)
    broker = replace(broker, data_dir=os.path.abspath(broker.data_dir))
    return NodeSettings(broker, TopicConfig(**defaults), dict(texts))


def host_and_port(text: str, setting: str) -> tuple[str, int]:
    host, colon, port = text.strip().rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65_535:
        raise Unusable(f"{setting}: {text!r} is not HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)
