"""From texts by name, as file and command line give them, to a broker's settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.config import BROKER_SETTINGS, TOPIC_DEFAULTS, BrokerConfig, TopicConfig
from penstock.errors import ErrorCode, Refused, Unusable
from penstock.settings import read_settings, unknown_setting

EVERYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104
NO_HOST = frozenset("/, ")


@dataclass(frozen=True, slots=True)
class NodeSettings:
    broker: BrokerConfig
    topic_defaults: TopicConfig
    texts: Mapping[str, str]
    """What was set, as opposed to what is so by default."""


def read(texts: Mapping[str, str]) -> NodeSettings:
    """Raises Refused or Unusable at the first text that is wrong."""
    own = {name: text for name, text in texts.items() if name in BROKER_SETTINGS}
    for name in texts.keys() - own.keys() - TOPIC_DEFAULTS.keys():
        known = {**BROKER_SETTINGS, **TOPIC_DEFAULTS}
        raise Refused(ErrorCode.INVALID_CONFIG, unknown_setting(name, known))
    for name, text in own.items():
        check_place(name, text)
    defaults = {
        setting.attribute: setting.parse(texts[name])
        for name, setting in TOPIC_DEFAULTS.items()
        if name in texts
    }
    broker = read_settings(BrokerConfig, BROKER_SETTINGS, own)
    broker = replace(broker, data_dir=os.path.abspath(broker.data_dir))
    return NodeSettings(broker, TopicConfig(**defaults), dict(texts))


def host_and_port(text: str, setting: str) -> tuple[str, int]:
    """Of `HOST:PORT`; an IPv6 address is in brackets, `[::1]:9092`."""
    host, colon, port = text.strip().rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65_535 or not NO_HOST.isdisjoint(host):
        raise Unusable(f"{setting}: {text!r} is not HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


def address(host: str, port: int) -> str:
    """As `host_and_port` reads it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def advertised(text: str) -> tuple[str, int]:
    host, port = host_and_port(text, "advertised.listeners")
    if host in EVERYWHERE:
        raise Unusable(f"advertised.listeners: {text!r} is no address that clients can connect to")
    return host, port


def check_store(url: str) -> None:
    kind, _, rest = url.partition(":")
    if kind not in ("sqlite", "etcd", "zookeeper") or not rest:
        raise Unusable(
            f"metadata.store: {url!r} is not known; give sqlite:PATH, etcd://HOST:PORT,.../PREFIX "
            "or zookeeper://HOST:PORT,.../CHROOT"
        )


def check_place(name: str, text: str) -> None:
    """Raises Unusable for a setting that is sound as a text, and where there can be nothing."""
    if name == "listeners":
        host_and_port(text, name)
    elif name == "advertised.listeners" and text:
        advertised(text)
    elif name == "metadata.store" and text:
        check_store(text)
