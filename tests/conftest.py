"""Fixtures for everyone: a real broker, and names that nobody else uses."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.broker_process import BrokerProcess

settings.register_profile(
    "penstock",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile(
    "search", settings.get_profile("penstock"), derandomize=False, max_examples=1000
)
settings.load_profile("penstock")

NEED_KCAT = ["scenarios/test_kcat.py", "scenarios/test_cross_client.py"]
collect_ignore = [] if shutil.which("kcat") else NEED_KCAT


def pytest_report_header() -> str | None:
    if not collect_ignore:
        return None
    return f"left out, because kcat is not installed (apt-get install kcat): {', '.join(NEED_KCAT)}"


_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One broker for all tests that do no harm to it."""
    running = BrokerProcess(tmp_path_factory.mktemp("broker") / "data").start()
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.log


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Callable[..., BrokerProcess]]:
    """Makes brokers that a test may kill, restart and configure; not started yet."""
    made: list[BrokerProcess] = []

    def make(*options: str) -> BrokerProcess:
        made.append(BrokerProcess(tmp_path / f"data-{len(made)}", *options))
        return made[-1]

    yield make
    for each in made:
        each.kill()


@pytest.fixture
def topic() -> str:
    """A name for a topic of the test's own."""
    return f"topic-{next(_numbers)}"
