"""The Java client of Apache Kafka. `make compat` says so where java or mvn is missing."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.cluster_process import Cluster
from tests.compat.cluster_play import PARTITIONS, go_through_faults
from tests.compat.foreign import ForeignClient

HERE = Path(__file__).parent / "java"
ASSIGNORS = "org.apache.kafka.clients.consumer"


@pytest.fixture(scope="session")
def java_libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("java-libraries")
    command = ["mvn", "-q", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies"]
    subprocess.run([*command, f"-DoutputDirectory={folder}"], check=True, timeout=300)
    return folder


def command_of(libraries: Path, program: str, *arguments: str) -> list[str]:
    command = ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    return [*command, "-cp", f"{libraries}/*", str(HERE / program), *arguments]


def check_runs(libraries: Path, program: str, *arguments: str) -> None:
    command = command_of(libraries, program, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "all well\n"


@pytest.mark.timeout(300)
def test_the_java_client_administrates_produces_and_consumes(
    broker: BrokerProcess, topic: str, java_libraries: Path
) -> None:
    check_runs(java_libraries, "Compat.java", broker.address, topic)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "kind",
    [
        f"{ASSIGNORS}.RangeAssignor",
        f"{ASSIGNORS}.RoundRobinAssignor",
        f"{ASSIGNORS}.StickyAssignor",
        f"{ASSIGNORS}.CooperativeStickyAssignor",
        "consumer",
    ],
)
def test_java_consumers_share_a_topic_as_they_come_and_go(
    broker: BrokerProcess, topic: str, java_libraries: Path, kind: str
) -> None:
    check_runs(java_libraries, "Groups.java", broker.address, topic, kind)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_java_clients_lose_and_double_nothing_when_brokers_die_restart_and_join(
    own_cluster: Callable[..., Cluster],
    foreign: Callable[..., ForeignClient],
    java_libraries: Path,
    topic: str,
    protocol: str,
) -> None:
    cluster = own_cluster().start(3)
    cluster.create(topic, PARTITIONS)
    command = command_of(java_libraries, "Cluster.java", cluster.address, topic, protocol)
    go_through_faults(cluster, foreign(command), protocol)


@pytest.mark.timeout(300)
def test_java_producers_commit_abort_and_fence_transactions(
    broker: BrokerProcess, topic: str, java_libraries: Path
) -> None:
    check_runs(java_libraries, "Transactions.java", broker.address, topic)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_java_consumers_alone_and_in_a_group_read_what_matches_of_a_view(
    broker: BrokerProcess, topic: str, java_libraries: Path, protocol: str
) -> None:
    check_runs(java_libraries, "Views.java", broker.address, topic, protocol)


@pytest.mark.timeout(300)
def test_java_members_of_a_share_group_are_given_each_message_until_one_has_accepted_it(
    broker: BrokerProcess, topic: str, java_libraries: Path
) -> None:
    check_runs(java_libraries, "Shares.java", broker.address, topic)


@pytest.mark.timeout(300)
def test_java_clients_send_cancel_and_read_messages_for_later(
    broker: BrokerProcess, topic: str, java_libraries: Path
) -> None:
    check_runs(java_libraries, "Delays.java", broker.address, topic)
