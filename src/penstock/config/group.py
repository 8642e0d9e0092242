"""The settings of single groups. Each has a broker setting that gives its default."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.config.units import INT_MAX
from penstock.settings import Setting, setting, settings_of


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """How one group behaves, within the limits that the broker sets."""

    consumer_session_timeout_ms: int = setting(
        "consumer.session.timeout.ms",
        45_000,
        at_least=1,
        at_most=INT_MAX,
        broker_name="group.consumer.session.timeout.ms",
        broker_limits=(
            "group.consumer.min.session.timeout.ms",
            "group.consumer.max.session.timeout.ms",
        ),
        doc="A consumer that gives no sign of life for so long leaves the group. More than the "
        "heartbeat interval.",
    )
    consumer_heartbeat_interval_ms: int = setting(
        "consumer.heartbeat.interval.ms",
        0,
        at_least=0,
        at_most=INT_MAX,
        broker_name="group.consumer.heartbeat.interval.ms",
        broker_limits=(
            "group.consumer.min.heartbeat.interval.ms",
            "group.consumer.max.heartbeat.interval.ms",
        ),
        doc="How often consumers of the group give a sign of life; 0 goes by its size.",
    )


GROUP_SETTINGS: dict[str, Setting] = settings_of(GroupConfig)
GROUP_DEFAULTS: dict[str, Setting] = {s.broker_name: s for s in GROUP_SETTINGS.values()}
"""Broker settings that give groups their defaults, by the broker's name for them."""
