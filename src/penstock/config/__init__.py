"""Every setting: name, default, limits, doc. Parser, help, DescribeConfigs and docs read it."""

from penstock.config.broker import BROKER_SETTINGS, BrokerConfig
from penstock.config.group import GROUP_DEFAULTS, GROUP_SETTINGS, GroupConfig
from penstock.config.topic import (
    CODECS,
    SAME_EVERYWHERE,
    TOPIC_DEFAULTS,
    TOPIC_SETTINGS,
    TopicConfig,
)
from penstock.config.units import DAY_MS, FOREVER_MS, GIB, KIB, MIB

__all__ = [
    "BROKER_SETTINGS",
    "BrokerConfig",
    "CODECS",
    "DAY_MS",
    "FOREVER_MS",
    "GIB",
    "GROUP_DEFAULTS",
    "GROUP_SETTINGS",
    "GroupConfig",
    "KIB",
    "MIB",
    "SAME_EVERYWHERE",
    "TOPIC_DEFAULTS",
    "TOPIC_SETTINGS",
    "TopicConfig",
]
