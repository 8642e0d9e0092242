"""What a change of settings makes of them, checked against their declarations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from penstock.config import BROKER_SETTINGS, TOPIC_DEFAULTS, TOPIC_SETTINGS
from penstock.errors import ErrorCode, Refused
from penstock.settings import Setting, unknown_setting


class Operation(IntEnum):
    """What IncrementalAlterConfigs can do to a setting, by the numbers on the wire."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigChange(NamedTuple):
    name: str
    operation: Operation
    value: str | None = None


def topic_setting(name: str) -> Setting:
    if name not in TOPIC_SETTINGS:
        raise Refused(ErrorCode.INVALID_CONFIG, unknown_setting(name, TOPIC_SETTINGS))
    return TOPIC_SETTINGS[name]


def broker_setting(name: str) -> Setting:
    """One that may be changed while brokers run; those that give topics defaults all may."""
    setting = BROKER_SETTINGS.get(name)
    if setting is not None and not setting.dynamic:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"{name} cannot be changed while the broker runs: set it in its config, and restart",
        )
    if setting is None and name not in TOPIC_DEFAULTS:
        known = {**BROKER_SETTINGS, **TOPIC_DEFAULTS}
        raise Refused(ErrorCode.INVALID_CONFIG, unknown_setting(name, known))
    return setting or TOPIC_DEFAULTS[name]


def group_setting(declared: Mapping[str, Setting], name: str) -> Setting:
    """One of those that groups have, as they are limited here (`group_settings.limited`)."""
    if name not in declared:
        raise Refused(ErrorCode.INVALID_CONFIG, unknown_setting(name, declared))
    return declared[name]


def checked_topic_configs(configs: Mapping[str, str | None]) -> dict[str, str]:
    return checked(configs, topic_setting)


def checked(
    configs: Mapping[str, str | None], declared: Callable[[str], Setting]
) -> dict[str, str]:
    """The texts, each one that its setting can be; None cannot."""
    return {name: _checked_text(declared(name), text) for name, text in configs.items()}


def changed(
    configs: Mapping[str, str],
    changes: Sequence[ConfigChange],
    declared: Callable[[str], Setting],
    in_force: Callable[[Setting], str],
) -> dict[str, str]:
    """The settings after the changes; `in_force` is what a list that is not set begins from."""
    _refuse_repeated(changes)
    result = dict(configs)
    for change in changes:
        setting = declared(change.name)
        match change.operation:
            case Operation.DELETE:
                result.pop(change.name, None)
            case Operation.SET:
                result[change.name] = _checked_text(setting, change.value)
            case _:
                before = result.get(change.name) or in_force(setting)
                result[change.name] = _changed_list(setting, change, before)
    return result


def _changed_list(setting: Setting, change: ConfigChange, before: str) -> str:
    if setting.kind is not tuple:
        raise setting.wrong("only a list can be appended to or subtracted from")
    words = _words(before)
    given = _words(_checked_text(setting, change.value))
    if change.operation is Operation.APPEND:
        words += [word for word in given if word not in words]
    else:
        words = [word for word in words if word not in given]
    return _checked_text(setting, ",".join(words))


def _checked_text(setting: Setting, text: str | None) -> str:
    if text is None:
        raise setting.wrong("a value is needed")
    setting.parse(text)
    return text


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _refuse_repeated(changes: Sequence[ConfigChange]) -> None:
    counts = Counter(change.name for change in changes)
    if repeated := [name for name, count in counts.items() if count > 1]:
        raise Refused(ErrorCode.INVALID_REQUEST, f"given more than once: {', '.join(repeated)}")
