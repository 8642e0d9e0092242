"""The broker's settings as a TOML file: read, checked, shown as a sample and as a page of docs.

`python -m penstock.config_file` writes that page, docs/config.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import Any

from penstock.config import (
    BROKER_SETTINGS,
    GROUP_SETTINGS,
    TOPIC_DEFAULTS,
    TOPIC_SETTINGS,
    BrokerConfig,
)
from penstock.errors import Refused, Unusable
from penstock.node.settings import check_place
from penstock.settings import Setting, read_settings, unknown_setting

KNOWN: dict[str, Setting] = {**BROKER_SETTINGS, **TOPIC_DEFAULTS}
"""Every setting that a file or `--set` may give, by the broker's name for it."""

SAMPLE_HINT = "`penstock config sample` prints one to begin with"
_WIDTH = 98


def read(path: str | Path) -> dict[str, str]:
    """The texts by setting name that a file gives, all of them sound; else Unusable."""
    texts = parse(path)
    if wrong := problems(texts):
        raise Unusable(f"{path}: {'; '.join(wrong)}")
    return texts


def parse(path: str | Path) -> dict[str, str]:
    """What a file says, whether the settings exist or not."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise Unusable(f"cannot read {path} ({error.strerror}); {SAMPLE_HINT}") from None
    return parse_bytes(data, path)


def parse_bytes(data: bytes, path: str | Path) -> dict[str, str]:
    """The same of what was read from there."""
    import tomllib  # noqa: PLC0415  # a broker without a file need not wait for it

    try:
        content = data.decode()
    except UnicodeDecodeError:
        raise Unusable(f"{path} is not UTF-8 text; {SAMPLE_HINT}") from None
    try:
        tables = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise Unusable(f"{path} is not TOML: {error}; {SAMPLE_HINT}") from None
    except (ValueError, RecursionError) as error:  # numbers and lists that nobody means
        raise Unusable(f"{path} cannot be read: {error}; {SAMPLE_HINT}") from None
    texts: dict[str, str] = {}
    for name, value in _flat("", tables):
        if name in texts:
            raise Unusable(f"{path} sets {name} twice: leave one of them")
        texts[name] = _text(path, name, value)
    return texts


def problems(texts: Mapping[str, str]) -> list[str]:
    """Everything that is wrong with these settings; empty if nothing is."""
    found = []
    for name, text in texts.items():
        if name not in KNOWN:
            found.append(unknown_setting(name, KNOWN))
            continue
        try:
            KNOWN[name].parse(text)
            check_place(name, text)
        except Refused as error:
            found.append(error.message.replace(KNOWN[name].name, name, 1))
        except Unusable as error:
            found.append(str(error))
    return found or _problems_together(texts)


def _problems_together(texts: Mapping[str, str]) -> list[str]:
    """Of settings that are sound each by itself."""
    own = {name: text for name, text in texts.items() if name in BROKER_SETTINGS}
    try:
        read_settings(BrokerConfig, BROKER_SETTINGS, own)
    except Refused as error:
        return [error.message]
    return []


def _flat(prefix: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{key}.", value)
        else:
            yield prefix + key, value


def _text(path: str | Path, name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    if isinstance(value, str | int | float):
        return str(value)
    raise Unusable(f"{path}: {name} must be a text, a number, true or false, or a list of texts")


def sample() -> str:
    """A file with every setting at its default, commented out: what is not said may change."""
    lines = [
        "# Settings of a Penstock broker: penstock serve --config FILE",
        "# Each line shows a default; take its # away to set something else. Names stay quoted,",
        "# since some are the beginning of others. `penstock config check FILE` looks it over.",
        "",
        "# The broker.",
        "",
    ]
    for name, each in BROKER_SETTINGS.items():
        lines += _sample_entry(name, each)
    lines += ["# What topics have by default.", ""]
    for name, each in TOPIC_DEFAULTS.items():
        lines += _sample_entry(name, each)
    return "\n".join(lines[:-1]) + "\n"


def sample_values() -> dict[str, dict[str, Any]]:
    """The same for programs."""
    return {
        name: {"default": each.default, "limits": _limits(each) or None, "doc": each.doc}
        for name, each in KNOWN.items()
    }


def _sample_entry(name: str, declared: Setting) -> list[str]:
    limits = _limits(declared)
    said = wrap(declared.doc + (f" ({limits})" if limits else ""), _WIDTH)
    return [*(f"# {line}" for line in said), f'#"{name}" = {_toml(declared.default)}', ""]


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _limits(declared: Setting) -> str:
    if declared.one_of:
        return "one of " + ", ".join(declared.one_of)
    low, high = declared.at_least, declared.at_most
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"at least {low}"
    return "" if high is None else f"at most {high}"


def page() -> str:
    """docs/config.md."""
    parts = [
        "# Settings\n\n"
        "Generated by `python -m penstock.config_file > docs/config.md` from the declarations in "
        "`src/penstock/config`; do not edit.\n\n"
        "A broker takes its settings from a TOML file (`penstock serve --config FILE`), then from "
        "`--set KEY=VALUE`, then from flags of their own such as `--listen`; the later ones win. "
        'In TOML a name is quoted (`"log.level" = "debug"`) or written as tables. '
        "`penstock config sample` prints a file to begin with, `penstock config check FILE` looks "
        "one over, and `penstock config show` tells what is in effect and why.\n",
        "## Broker\n\n" + _table(BROKER_SETTINGS),
        "## Topics\n\n"
        "Given with `penstock topic create NAME --set KEY=VALUE`, or later with `topic alter`. The "
        "broker setting named with each gives its default.\n\n" + _table(TOPIC_SETTINGS),
        "## Groups\n\n"
        "Given to a group by name, whether it is there yet or not (IncrementalAlterConfigs with "
        "resource type GROUP). Where a broker setting is named, it gives the default, and two more "
        "the limits.\n\n" + _table(GROUP_SETTINGS),
    ]
    return "\n".join(parts)


def _table(declared: Mapping[str, Setting]) -> str:
    rows = ["| setting | default | |", "|---|---|---|"]
    for name, each in declared.items():
        words = [each.doc]
        if limits := _limits(each):
            words.append(f"{limits[0].upper()}{limits[1:]}.")
        if each.broker_name and each.broker_name != name:
            words.append(f"Broker setting: `{each.broker_name}`.")
        if each.broker_limits:
            words.append("Within `{}` and `{}`.".format(*each.broker_limits))
        if each.same_everywhere:
            words.append("The same for all brokers: their files count when a cluster is founded.")
        if each.dynamic:
            words.append("Can be changed while the broker runs.")
        shown = each.show(each.default)
        rows.append(f"| `{name}` | {f'`{shown}`' if shown else 'none'} | {' '.join(words)} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
