"""One partition that the broker cannot read: the others are shown and read, and it is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result
from tests.broker_process import BrokerProcess
from tests.cli.conftest import run

WHY = "kafka storage error; look at the broker's log"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a broker with a topic of two partitions, the first of which lacks its identity."""
    folder: Path = tmp_path_factory.mktemp("unreadable") / "data"
    broker = BrokerProcess(folder).start()
    done(run(broker.address, "topic", "create", "t", "--partitions", "2"))
    for partition in ("0", "1"):
        done(run(broker.address, "produce", "t", f"in {partition}", "--partition", partition))
    broker.stop()
    with (folder / "t-0" / "partition.metadata").open("r+b") as file:
        file.truncate(22)
    yield broker.start().address
    broker.kill()


def done(result: Result) -> None:
    assert result.exit_code == 0, result.output


def test_a_description_marks_it(address: str) -> None:
    result = run(address, "topic", "describe", "t")
    _, head, first, second = result.stdout.splitlines()
    assert head.split()[-1] == "ERROR"
    assert first.split()[-1] == "KAFKA_STORAGE_ERROR"
    assert second.split()[4:7] == ["0", "1", "1"]
    assert second.split()[-1] == "-"
    assert result.stderr.startswith(f"Error: t-0: {WHY}")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)


def test_a_description_for_programs_marks_it(address: str) -> None:
    result = run(address, "topic", "describe", "t", "--json")
    first, second = json.loads(result.stdout)["partitions"]
    assert (first["error"], first["start"], first["end"]) == ("KAFKA_STORAGE_ERROR", None, None)
    assert (second["error"], second["start"], second["end"]) == (None, 0, 1)
    assert result.exit_code == 1


@pytest.mark.parametrize("start", ["beginning", "0", "2020-01-01"])
def test_the_others_are_read(address: str, start: str) -> None:
    result = run(address, "consume", "t", "--from", start)
    assert (result.exit_code, result.stdout) == (1, "in 1\n")
    assert result.stderr.startswith(f"cannot read t-0: {WHY}")
    assert result.stderr.count("\n") == 1


def test_alone_it_is_an_error(address: str) -> None:
    result = run(address, "consume", "t", "--partition", "0")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"cannot read t-0: {WHY}")


def test_what_does_not_need_it_is_done_as_ever(address: str) -> None:
    result = run(address, "consume", "t", "--partition", "1")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "in 1\n", "")
