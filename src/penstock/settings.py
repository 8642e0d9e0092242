"""How a setting is declared once, and parsed, checked, shown and documented from that declaration.

A settings class is a frozen dataclass whose fields are made by `setting(...)`. Configuration
values are text on the wire and in files, so every setting is read from text and written back.
Whole numbers are Kafka's: LONG of 64 bits, and INT where a setting says so with `at_most`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, TypeVar

from penstock.errors import ErrorCode, Refused

T = TypeVar("T")
S = TypeVar("S")

LONG_MIN, LONG_MAX = -(1 << 63), (1 << 63) - 1
_WHOLE = re.compile(r"[+-]?[0-9]{1,100}")
_FRACTION = re.compile(r"[+-]?([0-9]{1,100}(\.[0-9]{0,100})?|\.[0-9]{1,100})([eE][+-]?[0-9]{1,3})?")
_TRUE, _FALSE = frozenset({"true", "yes", "1"}), frozenset({"false", "no", "0"})


@dataclass(frozen=True, slots=True)
class Setting:
    """One declared setting, apart from its value."""

    name: str
    default: Any
    doc: str
    at_least: float | None = None
    at_most: float | None = None
    one_of: tuple[str, ...] = ()
    any_case: bool = False
    """With `one_of`, whose words are then in lower case: read in any case."""
    broker_name: str = ""
    """For a topic's or group's setting: the broker setting that gives its default."""
    broker_limits: tuple[str, str] | None = None
    """For a group setting: the broker settings of the least and the most that it may be."""
    dynamic: bool = False
    """For a broker setting: may be changed while the broker runs."""
    same_everywhere: bool = False
    """For a topic's setting: brokers must agree on it, so none of them has a default of its own."""
    secret: bool = False
    attribute: str = ""
    check: Callable[[Any], str | None] | None = None
    """Says what is wrong with a value, if anything."""

    @property
    def kind(self) -> type:
        return type(self.default)

    def parse(self, text: str) -> Any:
        """The value that a text means; Refused with what would have been right."""
        return self.checked(self._convert(text.strip()))

    def checked(self, value: Any) -> Any:
        if self.one_of:
            for word in value if isinstance(value, tuple) else (value,):
                if word not in self.one_of:
                    raise self.wrong(f"{word!r} is none of {', '.join(self.one_of)}")
        if self.kind in (int, float):
            self._check_range(value)
        if self.check is not None and (problem := self.check(value)):
            raise self.wrong(problem)
        return value

    def _check_range(self, value: float) -> None:
        least = LONG_MIN if self.at_least is None else self.at_least
        most = LONG_MAX if self.at_most is None else self.at_most
        if value < least:
            raise self.wrong(f"{value} is less than {least}")
        if value > most:
            raise self.wrong(f"{value} is more than {most}")

    def wrong(self, problem: str) -> Refused:
        return Refused(ErrorCode.INVALID_CONFIG, f"{self.name}: {problem}")

    def _convert(self, text: str) -> Any:
        kind = self.kind
        if kind is bool:
            if text.lower() in _TRUE | _FALSE:
                return text.lower() in _TRUE
            raise self.wrong(f"{text!r} is neither true nor false")
        if kind is tuple:
            return tuple(word.strip() for word in text.split(",") if word.strip())
        if kind is int:
            return self._whole(text)
        if kind is float:
            return self._fraction(text)
        return text.lower() if self.any_case else text

    def _whole(self, text: str) -> int:
        """Python's own reading would let underscores and the digits of other scripts pass."""
        if not _WHOLE.fullmatch(text):
            raise self.wrong(f"{text!r} is not a whole number")
        return int(text)

    def _fraction(self, text: str) -> float:
        if not _FRACTION.fullmatch(text) or not math.isfinite(float(text)):
            raise self.wrong(f"{text!r} is not a number")
        return float(text)

    def show(self, value: Any) -> str:
        """The text that `parse` reads back."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, tuple):
            return ",".join(value)
        return str(value)


def setting(name: str, default: T, *, doc: str, **rest: Any) -> T:
    """A field of a settings class. Kafka's name where Kafka has one, ours where it has none."""
    declared = Setting(name=name, default=default, doc=doc, **rest)
    made: T = field(default=default, metadata={"setting": declared})
    return made


def settings_of(cls: type) -> dict[str, Setting]:
    """What a settings class declares, by name; its own first, then what it has from others."""
    declared = {}
    for item in sorted(fields(cls), key=lambda item: item.name not in cls.__annotations__):
        raw: Setting = item.metadata["setting"]
        declared[raw.name] = Setting(**{**_attributes(raw), "attribute": item.name})
    return declared


def _attributes(raw: Setting) -> dict[str, Any]:
    return {name: getattr(raw, name) for name in Setting.__slots__}


def read_settings(cls: type[S], declared: Mapping[str, Setting], texts: Mapping[str, str]) -> S:
    """An instance from texts by name; names that are not declared are refused with a hint."""
    values = {}
    for name, text in texts.items():
        if name not in declared:
            raise Refused(ErrorCode.INVALID_CONFIG, unknown_setting(name, declared))
        values[declared[name].attribute] = declared[name].parse(text)
    return cls(**values)


def lay(values: dict[str, Any], texts: Mapping[str, str], declared: Mapping[str, Setting]) -> None:
    """Puts what texts say over values by attribute.

    What we do not know, or would refuse today, another release has written: it is left out.
    """
    for name, text in texts.items():
        if name in declared:
            with suppress(Refused):
                values[declared[name].attribute] = declared[name].parse(text)


def unknown_setting(name: str, declared: Mapping[str, Setting]) -> str:
    near = get_close_matches(name, declared, 1)
    hint = f"; did you mean {near[0]}?" if near else "; `penstock config sample` lists them all"
    return f"unknown setting {name}{hint}"
