"""Fixtures for everyone: a real broker, clusters with traffic, and names that nobody else uses."""

from __future__ import annotations

import itertools
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.broker_process import BrokerProcess
from tests.cluster_process import Cluster
from tests.cluster_traffic import Traffic

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


for _number, _usual in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:  # from nohup, or a shell's background: brokers
        signal.signal(_number, _usual)  # and clients of tests would ignore them too

_numbers = itertools.count(1)


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Pipelines note themselves there, and not among the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_STATE", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One broker for all tests that do no harm to it."""
    running = BrokerProcess(tmp_path_factory.mktemp("broker") / "data")
    running.is_forked = False  # one at least is started as users do it
    running.start()
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


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Makes clusters without brokers, in which a test may lose them, and on a store of its own."""
    made: list[Cluster] = []

    def make(**more: Any) -> Cluster:
        folder = tmp_path / f"cluster-{len(made)}"
        folder.mkdir()
        made.append(Cluster(folder, **more))
        return made[-1]

    yield make
    for each in made:
        each.end()


@pytest.fixture
def traffic() -> Iterator[Callable[..., Traffic]]:
    """Sends to a cluster's topic until the test is over, or told to finish."""
    made: list[Traffic] = []

    def make(cluster: Cluster, topic: str, **options: Any) -> Traffic:
        made.append(Traffic(cluster.address, topic, **options))
        return made[-1]

    yield make
    for each in made:
        each.abandon()
