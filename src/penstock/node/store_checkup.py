"""Whether the metadata store that a broker is to use can be reached from here."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from penstock.errors import Unusable
from penstock.metadata.stores import etcd_address, zookeeper_address

LIBRARIES = {"etcd": "aiohttp", "zookeeper": "kazoo"}
"""That a store takes, by the beginning of its URL."""
CONNECT_S_MAX = 2.0
HOSTS_TRIED_MAX = 20


def trouble_with(url: str, data_folder: Path) -> str:
    """Why a broker could not use the store, and what to do; empty if it could."""
    kind, _, rest = url.partition(":")
    library = LIBRARIES.get(kind)
    if library is None:
        return _trouble_with_file(Path(rest), data_folder) if kind == "sqlite" and rest else ""
    if find_spec(library) is None:
        return f"{kind} needs a library: pip install penstock[{kind}]"
    try:
        hosts = _hosts(kind, url)
    except Unusable as problem:
        return str(problem)
    return (
        "" if _is_any_there(hosts) else f"nobody answers at {', '.join(hosts)}: start {kind} there"
    )


def _trouble_with_file(path: Path, data_folder: Path) -> str:
    """The data folder is made before the store is opened; no other is."""
    if path.exists():
        is_good = path.is_file() and os.access(path, os.R_OK | os.W_OK)
        return "" if is_good else f"{path} is no file that can be written to"
    if path.parent.absolute() == data_folder.absolute():
        return ""
    if not path.parent.is_dir():
        return f"{path.parent} is not there: make that folder"
    return "" if os.access(path.parent, os.W_OK | os.X_OK) else f"{path.parent} takes no files"


def _hosts(kind: str, url: str) -> tuple[str, ...]:
    if kind == "etcd":
        return etcd_address.parse_url(url).endpoints
    return zookeeper_address.parse_url(url).hosts


def _is_any_there(hosts: Iterable[str]) -> bool:
    for each in list(hosts)[:HOSTS_TRIED_MAX]:
        host, _, port = each.rpartition(":")
        with suppress(OSError, UnicodeError):
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_S_MAX).close()
            return True
    return False
