"""The options that a job has given, by the names of Spark's Kafka source or by ours.

Each name is taken as Spark's Kafka source spells it, and settings of Kafka's clients with and
without the prefix `kafka.`. Whatever is not asked for by the time `check_rest` is called was a
mistake, unless it is a setting of Kafka's clients that changes nothing here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from typing import TypeVar

from penstock.client.connection import parse_addresses
from penstock.client.errors import ClientError
from penstock.spark.errors import OptionError

T = TypeVar("T")

KAFKA = "kafka."
SECURITY = ("security.protocol", "sasl.", "ssl.")
PLAIN = "PLAINTEXT"
SPARKS_OWN = frozenset({"path", "checkpointlocation", "queryname"})
"""That Spark adds, or that others read."""
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000}


class GivenOptions:
    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {name.lower(): text for name, text in options.items()}
        self._spelled = {name.lower(): name for name in options}
        self._asked: dict[str, str] = {}

    def text(self, *names: str, default: str | None = None) -> str | None:
        """What was given under any of these names."""
        for name in names:
            self._asked[name.lower()] = name
        given = {name: self._options[name.lower()] for name in names if self.has(name)}
        if len(set(given.values())) > 1:
            raise OptionError(f"{' and '.join(given)} are the same option: give one of them")
        return next(iter(given.values()), default)

    def needed(self, *names: str, what: str) -> str:
        found = self.text(*names)
        if not found:
            raise OptionError(f"option {names[0]} is missing: {what}")
        return found

    def number(self, *names: str, least: int = 1) -> int | None:
        found = self.text(*names)
        if found is None:
            return None
        if not found.strip().isdecimal() or int(found) < least:
            raise OptionError(f"option {names[0]}={found}: give a whole number from {least} on")
        return int(found)

    def flag(self, *names: str, default: bool) -> bool:
        return self.choice(*names, of={"true": True, "false": False}, default=str(default).lower())

    def choice(self, *names: str, of: Mapping[str, T], default: str) -> T:
        found = self.text(*names, default=default) or default
        if found.lower() not in of:
            raise OptionError(f"option {names[0]}={found}: give one of {', '.join(of)}")
        return of[found.lower()]

    def duration_ms(self, name: str, default: str) -> int:
        text = self.text(name, default=default) or default
        found = re.fullmatch(r"(\d+)\s*(ms|s|m|min|h)", text.strip())
        if not found:
            raise OptionError(f"option {name}={text}: give a number and a unit, as in 15m or 500ms")
        return int(found[1]) * _UNITS_MS[found[2]]

    def has(self, name: str) -> bool:
        return name.lower() in self._options

    def bootstrap(self) -> str:
        found = self.needed(
            "bootstrapServers",
            "bootstrap.servers",
            "kafka.bootstrap.servers",
            what="say which brokers to ask first, HOST:PORT,...",
        )
        try:
            parse_addresses(found)
        except ClientError as error:
            raise OptionError(f"option bootstrapServers: {error}") from None
        return found

    def check_rest(self, ignored: Collection[str] = ()) -> None:
        """Raises if something was given that nobody has asked for."""
        self._check_security()
        known = {*self._asked, *SPARKS_OWN, *(name.lower() for name in ignored)}
        for name, spelled in self._spelled.items():
            if name not in known and not name.startswith(KAFKA):
                near = difflib.get_close_matches(name, self._asked, 1)
                meant = f"; did you mean {self._asked[near[0]]}?" if near else ""
                raise OptionError(f"there is no option {spelled}{meant}")

    def _check_security(self) -> None:
        for name, text in self._options.items():
            setting = name.removeprefix(KAFKA)
            if setting.startswith(SECURITY) and text.upper() != PLAIN:
                raise OptionError(
                    f"option {self._spelled[name]}: the connector speaks plain connections only"
                )
