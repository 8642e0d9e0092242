"""Brokers for tests: a pytest plugin, and context managers for everyone else.

Fixtures: `penstock_broker` (one for the session), `penstock_fresh_broker` (one for the test) and
`penstock_cluster` (makes clusters). docs/testing.md tells how to use them.

Every pytest run loads this module, and few of them need a broker: it imports little until it is
used, and stands outside of the SDK for that.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from penstock.sdk.admin_line import Value
    from penstock.sdk.testing.broker import Broker, running_broker
    from penstock.sdk.testing.cluster import Cluster, running_cluster

__all__ = [
    "Broker",
    "Cluster",
    "penstock_broker",
    "penstock_cluster",
    "penstock_fresh_broker",
    "running_broker",
    "running_cluster",
]

LOADED_LATER = {
    "Broker": "penstock.sdk.testing.broker",
    "Cluster": "penstock.sdk.testing.cluster",
    "running_broker": "penstock.sdk.testing.broker",
    "running_cluster": "penstock.sdk.testing.cluster",
}
"""What others import from here, and where it is."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in LOADED_LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(LOADED_LATER[name]), name)


MARKER = "penstock(settings={}, in_process=False): how penstock_fresh_broker is to run in this test"
_OPTIONS = {"settings", "in_process"}
_shared = pytest.StashKey["Broker"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        "penstock_in_process",
        "run Penstock brokers in threads of the test process",
        type="bool",
        default=False,
    )
    parser.addini(
        "penstock_settings",
        "settings of Penstock brokers in tests, one name=value a line",
        type="linelist",
        default=[],
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.fixture(scope="session")
def penstock_broker(pytestconfig: pytest.Config) -> Iterator[Broker]:
    """One Kafka-compatible broker for the whole session. Use fresh topics: `.topic()`."""
    with _started(pytestconfig, {}) as broker:
        pytestconfig.stash[_shared] = broker
        yield broker
        del pytestconfig.stash[_shared]


@pytest.fixture
def penstock_fresh_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """An empty Kafka-compatible broker for this test alone; `@pytest.mark.penstock` sets it up."""
    with _started(request.config, _marked(request)) as broker:
        yield broker


@pytest.fixture
def penstock_cluster(pytestconfig: pytest.Config) -> Iterator[Callable[..., Cluster]]:
    """Makes clusters for this test alone: `penstock_cluster(3)`."""
    from penstock.sdk.testing.cluster import running_cluster  # noqa: PLC0415

    made: list[Cluster] = []

    def make(count: int = 3, settings: Mapping[str, Value] | None = None) -> Cluster:
        made.append(running_cluster(count, {**_settings(pytestconfig), **(settings or {})}))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """A test may harm the shared broker; the next one finds it running."""
    result = yield
    broker = item.config.stash.get(_shared, None)
    if broker is not None:
        broker.mend()
    return result


def pytest_unconfigure() -> None:
    import sys  # noqa: PLC0415

    if nursery := sys.modules.get("penstock.sdk.testing.nursery"):
        nursery.close_nursery()


def _started(config: pytest.Config, marked: Mapping[str, Any]) -> Broker:
    from penstock.sdk.testing.broker import running_broker  # noqa: PLC0415

    in_process = marked.get("in_process", config.getini("penstock_in_process"))
    settings = {**_settings(config), **marked.get("settings", {})}
    return running_broker(settings, in_process=in_process)


def _settings(config: pytest.Config) -> dict[str, Value]:
    from penstock.sdk.testing.settings import parsed  # noqa: PLC0415

    return parsed(config.getini("penstock_settings"))


def _marked(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The nearest marker counts; settings of those further out, as of its class, count too."""
    found: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("penstock"))):
        if marker.args or not marker.kwargs.keys() <= _OPTIONS:
            raise pytest.UsageError(
                f"@pytest.mark.penstock takes settings= and in_process=: {marker}"
            )
        settings = {**found.get("settings", {}), **marker.kwargs.get("settings", {})}
        found |= {**marker.kwargs, "settings": settings}
    return found
