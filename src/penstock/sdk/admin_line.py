"""The way to the cluster that the parts of an Admin share."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from penstock.client.admin import ConfigValue
from penstock.client.cluster import WireClient
from penstock.sdk.admin_errors import as_our_own
from penstock.sdk.admin_values import Setting
from penstock.sdk.checks import check_addresses, check_seconds
from penstock.sdk.errors import PenstockError

Value = str | int | float | bool
"""Of a setting."""


class Line:
    """One call at a time, from whichever thread; every call looks at the cluster anew."""

    def __init__(self, bootstrap: str, client_id: str, timeout_s: float) -> None:
        check_addresses(bootstrap)
        check_seconds("timeout_s", timeout_s)
        self._turn = threading.RLock()
        self._client = WireClient(bootstrap, client_id, timeout_s)
        self._is_closed = False

    @contextmanager
    def open(self) -> Iterator[WireClient]:
        with self._turn, as_our_own():
            if self._is_closed:
                raise PenstockError("this Admin is closed: make another")
            self._client.forget()
            yield self._client

    def close(self) -> None:
        with self._turn:
            self._is_closed = True
            self._client.close()


def text(value: Value) -> str:
    """As settings are written in files."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def texts(configs: Mapping[str, Value]) -> dict[str, str]:
    return {name: text(value) for name, value in configs.items()}


def as_settings(found: Mapping[str, ConfigValue]) -> dict[str, Setting]:
    return {name: Setting(*each) for name, each in sorted(found.items())}
