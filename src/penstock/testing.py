"""Brokers for tests: a pytest plugin, and context managers for everyone else.

Fixtures: `penstock_broker` (one for the session), `penstock_fresh_broker` (one for the test) and
`penstock_cluster` (makes clusters). docs/testing.md tells how to use them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from penstock.sdk.testing.fixtures import (
    penstock_broker,
    penstock_cluster,
    penstock_fresh_broker,
    pytest_addoption,
    pytest_configure,
    pytest_runtest_teardown,
    pytest_unconfigure,
)

if TYPE_CHECKING:
    from penstock.sdk.testing.broker import Broker, running_broker
    from penstock.sdk.testing.cluster import Cluster, running_cluster

__all__ = [
    "Broker",
    "Cluster",
    "penstock_broker",
    "penstock_cluster",
    "penstock_fresh_broker",
    "pytest_addoption",
    "pytest_configure",
    "pytest_runtest_teardown",
    "pytest_unconfigure",
    "running_broker",
    "running_cluster",
]

LOADED_LATER = {
    "Broker": "penstock.sdk.testing.broker",
    "Cluster": "penstock.sdk.testing.cluster",
    "running_broker": "penstock.sdk.testing.broker",
    "running_cluster": "penstock.sdk.testing.cluster",
}
"""Every pytest run loads this module, and few of them need a broker."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in LOADED_LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(LOADED_LATER[name]), name)
