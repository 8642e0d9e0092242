"""What holds for a group: its own settings over those that brokers give all groups.

The broker also sets the limits of what a group may ask for. `layers` are broker settings by their
names, the weakest first, as `Settings.layers` has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from penstock.config import BROKER_SETTINGS, GROUP_DEFAULTS, GROUP_SETTINGS, GroupConfig
from penstock.errors import ErrorCode, Refused
from penstock.settings import Setting, lay

NAME_BYTES_MAX = 255

Layers = Sequence[Mapping[str, str]]


def check_name(name: str) -> None:
    """Whether a group of this name can have settings; the group itself need not be there."""
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "a group has a name: give it")
    if len(name.encode()) > NAME_BYTES_MAX:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"only groups whose names have up to {NAME_BYTES_MAX} bytes can have settings",
        )


def effective(own: Mapping[str, str], layers: Layers) -> GroupConfig:
    """What is outside the broker's limits today does not hold."""
    values: dict[str, Any] = {}
    for layer in layers:
        lay(values, layer, GROUP_DEFAULTS)
    lay(values, own, limited(layers))
    return GroupConfig(**values)


def check_together(own: Mapping[str, str], layers: Layers) -> None:
    config = effective(own, layers)
    _check_times(
        "consumer", config.consumer_heartbeat_interval_ms, config.consumer_session_timeout_ms
    )
    _check_times("share", config.share_heartbeat_interval_ms, config.share_session_timeout_ms)


def _check_times(kind: str, interval_ms: int, timeout_ms: int) -> None:
    if interval_ms >= timeout_ms:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"{kind}.session.timeout.ms would be {timeout_ms}, which must be more than "
            f"{kind}.heartbeat.interval.ms={interval_ms}: consumers would seem dead between two",
        )


def limited(layers: Layers) -> dict[str, Setting]:
    """The settings of groups by name, each within the limits that the broker sets."""
    return {name: _limited(setting, layers) for name, setting in GROUP_SETTINGS.items()}


def _limited(setting: Setting, layers: Layers) -> Setting:
    if setting.broker_limits is None:
        return setting
    lowest, highest = (BROKER_SETTINGS[name] for name in setting.broker_limits)
    least, most = broker_value(lowest, layers), broker_value(highest, layers)
    check = partial(_beyond, (lowest.name, least), (highest.name, most))
    return replace(setting, check=check)


def _beyond(lowest: tuple[str, int], highest: tuple[str, int], value: int) -> str | None:
    """0 leaves the value to the broker, which keeps to its own limits."""
    if value and value < lowest[1]:
        return f"{value} is less than the broker's {lowest[0]}={lowest[1]}"
    if value > highest[1]:
        return f"{value} is more than the broker's {highest[0]}={highest[1]}"
    return None


def broker_value(setting: Setting, layers: Layers) -> Any:
    """Of a setting of brokers."""
    values: dict[str, Any] = {setting.attribute: setting.default}
    for layer in layers:
        lay(values, layer, {setting.name: setting})
    return values[setting.attribute]
