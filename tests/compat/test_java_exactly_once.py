"""The Java client copies a topic in transactions, and reads what is committed, while brokers and
processes are killed."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.cluster_faults import SECONDS
from tests.cluster_process import Cluster
from tests.cluster_traffic import Read
from tests.compat.test_java import HERE, java_libraries
from tests.copy_faults import (
    CopyFault,
    Crew,
    join_and_leave,
    kill_broker,
    kill_copier,
    lose_broker,
    sleep_through,
)
from tests.copy_ordeal import check_copied, check_copies, hire
from tests.copying import CopyProcess
from tests.group_stage import wait_until

__all__ = ["java_libraries"]

MESSAGES = 40_000 if SECONDS else 4_000
FAULTS: list[CopyFault] = [
    *(kill_copier, lose_broker, join_and_leave),
    *(kill_copier, kill_broker, sleep_through),
]
SIZE = "100"
WAIT_S = 120


@pytest.fixture(scope="session")
def java_classes(java_libraries: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where java finds the programs: they are started often."""
    folder = tmp_path_factory.mktemp("java-classes")
    programs = [str(HERE / name) for name in ("Copier.java", "Reader.java")]
    command = ["javac", "-cp", f"{java_libraries}/*", "-d", str(folder), *programs]
    subprocess.run(command, check=True, timeout=120)
    return f"{folder}:{java_libraries}/*"


@pytest.fixture
def start(java_classes: str, tmp_path: Path) -> Iterator[Callable[..., CopyProcess]]:
    """Makes programs, which end with the test: a name, the class, and its arguments."""
    made: list[CopyProcess] = []

    def make(name: str, *command: str) -> CopyProcess:
        settings = ["-Xmx200m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
        java = ["java", *settings, "-cp", java_classes, *command]
        made.append(CopyProcess(tmp_path / name, java))
        return made[-1]

    yield make
    for each in made:
        each.kill()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_java_clients_copy_exactly_once_and_readers_see_no_aborted_and_no_half_transaction(
    own_cluster: Callable[..., Cluster],
    start: Callable[..., CopyProcess],
    topic: str,
    protocol: str,
) -> None:
    cluster = own_cluster().start(3)
    crew = hire(
        cluster,
        topic,
        lambda name, *places: start(name, "Copier", *places, name, SIZE, protocol),
    )
    committed, uncommitted = [
        start(kind, "Reader", cluster.address, crew.target, kind).start()
        for kind in ("read_committed", "read_uncommitted")
    ]
    found = check_copied(crew, FAULTS, MESSAGES, 300, random.Random(7))
    wait_until(lambda: len(committed.lines) >= len(found), f"all is read: {committed}", WAIT_S)
    seen = attempts_of(committed.lines)
    wait_until(lambda: attempts_of(uncommitted.lines) >= seen, f"and here: {uncommitted}", WAIT_S)
    check_copies([(each.key, each.number) for each in found], reads_of(committed.lines))
    check_attempts(crew, seen, attempts_of(uncommitted.lines))


def reads_of(lines: Sequence[str]) -> list[Read]:
    return [Read(*map(int, line.split()[:4])) for line in lines]


def attempts_of(lines: Sequence[str]) -> Counter[str]:
    """How many copies of each transaction were seen. Its name ends with how many there are."""
    return Counter(line.split(maxsplit=4)[4] for line in lines)


def check_attempts(crew: Crew, seen: Counter[str], everything: Counter[str]) -> None:
    """The reader has seen each transaction as a whole, and none that did not count."""
    assert {name: count for name, count in seen.items() if int(name.split()[1]) != count} == {}
    said = [line for each in (*crew.copiers, crew.spare) for line in each.lines]
    told = {
        what: {line.removeprefix(f"{what} ") for line in said if line.startswith(f"{what} ")}
        for what in ("committed", "aborted")
    }
    assert told["committed"] <= seen.keys()
    assert not told["aborted"] & seen.keys()
    assert told["aborted"] | (everything.keys() - seen.keys()), "nothing was aborted"
