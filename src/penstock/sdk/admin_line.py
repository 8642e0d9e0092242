"""The way to the cluster that the parts of an Admin share."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from penstock.client.admin import ConfigValue
from penstock.client.cluster import WireClient
from penstock.sdk.admin_errors import as_our_own
from penstock.sdk.admin_values import Setting

Value = str | int | float | bool
"""Of a setting."""


class Line:
    """One call at a time, from whichever thread; every call looks at the cluster anew."""

    def __init__(self, bootstrap: str, client_id: str, timeout_s: float) -> None:
        self._turn = threading.RLock()
        with as_our_own():
            self._client = WireClient(bootstrap, client_id, timeout_s)

    @contextmanager
    def open(self) -> Iterator[WireClient]:
        with self._turn, as_our_own():
            self._client.forget()
            yield self._client

    def close(self) -> None:
        with self._turn:
            self._client.close()


def text(value: Value) -> str:
    """As settings are written in files."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def texts(configs: Mapping[str, Value]) -> dict[str, str]:
    return {name: text(value) for name, value in configs.items()}


def as_settings(found: Mapping[str, ConfigValue]) -> dict[str, Setting]:
    return {name: Setting(*each) for name, each in sorted(found.items())}
