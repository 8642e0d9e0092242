"""`penstock doctor`: whether a broker would do well here."""

from __future__ import annotations

import json
import resource
import socket
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.cli.conftest import Penstock

from penstock.node import checkup, store_checkup
from penstock.node.run import HANDLES_MIN


def findings(result: Result) -> dict[str, Any]:
    return {each["what"]: each for each in json.loads(result.stdout)}


@pytest.fixture
def handles(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The hard limit is its only number."""
    limit = [100_000]
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit[0], limit[0]))
    return limit


def test_a_machine_that_will_do(offline: Penstock, tmp_path: Path, handles: list[int]) -> None:
    folder = tmp_path / "not" / "yet"
    result = offline("doctor", "--data-dir", str(folder), "--set", "disk.free.min.bytes=1")
    assert result.exit_code == 0
    assert f"{folder} is not there yet, and will be made" in result.stdout
    assert not folder.exists()


def test_too_few_file_handles_will_not_do(
    offline: Penstock, tmp_path: Path, handles: list[int]
) -> None:
    handles[0] = HANDLES_MIN - 1
    result = offline("doctor", "--data-dir", str(tmp_path), "--json")
    assert result.exit_code == 1
    found = findings(result)["file handles"]
    assert found["verdict"] == "bad"
    assert "ulimit -n" in found["told"]


def test_fewer_handles_than_the_partitions_want_are_poor(
    offline: Penstock, tmp_path: Path, handles: list[int]
) -> None:
    handles[0] = 400
    for index in range(101):
        (tmp_path / f"news-{index}").mkdir()
    result = offline("doctor", "--data-dir", str(tmp_path), "--json")
    assert result.exit_code == 0
    found = findings(result)["file handles"]
    assert found["verdict"] == "poor"
    assert "101 partitions are in the folder: raise the limit to 404" in found["told"]


def test_a_full_disk_and_a_folder_of_a_newer_release_will_not_do(
    offline: Penstock, tmp_path: Path
) -> None:
    (tmp_path / "meta.properties").write_text("version=99\ncluster.id=c\nnode.id=1\n")
    least = f"disk.free.min.bytes={1 << 62}"
    result = offline("doctor", "--data-dir", str(tmp_path), "--set", least, "--json")
    assert result.exit_code == 1
    found = findings(result)
    assert found["disk room"]["verdict"] == found["data folder"]["verdict"] == "bad"
    assert "version 99" in found["data folder"]["told"]


def test_a_store_whose_library_is_not_there_will_not_do(
    offline: Penstock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkup, "find_spec", lambda _: None)
    monkeypatch.setattr(store_checkup, "find_spec", lambda _: None)
    store = "etcd://127.0.0.1:2379/penstock"
    result = offline("doctor", "--data-dir", str(tmp_path), "--store", store, "--json")
    found = findings(result)
    assert "pip install penstock[etcd]" in found["metadata store"]["told"]
    assert found["speed"]["verdict"] == "poor"


@pytest.mark.parametrize("below", ["", "data"])
def test_a_file_where_the_data_folder_should_be_will_not_do(
    offline: Penstock, tmp_path: Path, below: str
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    result = offline("doctor", "--data-dir", str(file / below), "--json")
    assert result.exit_code == 1
    assert f"{file} is no folder" in findings(result)["data folder"]["told"]


@pytest.mark.parametrize(
    ("store", "told"),
    [
        ("sqlite:{}/none/x.db", "none is not there: make that folder"),
        ("sqlite:{}", "is no file that can be written to"),
        ("etcd://127.0.0.1:{port}/x", "nobody answers at 127.0.0.1:{port}: start etcd there"),
        ("etcd://127.0.0.1:{port}", "it names no prefix"),
        ("zookeeper://127.0.0.1:{port}/x", "nobody answers at 127.0.0.1:{port}"),
    ],
)
def test_a_store_that_cannot_be_used_from_here_will_not_do(
    offline: Penstock, tmp_path: Path, store: str, told: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    url = store.format(tmp_path, port=port)
    result = offline("doctor", "--data-dir", str(tmp_path / "data"), "--store", url, "--json")
    assert result.exit_code == 1
    assert told.format(port=port) in findings(result)["metadata store"]["told"]


def test_a_store_that_answers_or_can_be_made_will_do(offline: Penstock, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        etcd = f"etcd://nobody.invalid:1,127.0.0.1:{server.getsockname()[1]}/x"
        for url in (etcd, f"sqlite:{tmp_path}/x.db", f"sqlite:{tmp_path}/data/x.db"):
            data = str(tmp_path / "data")
            found = findings(offline("doctor", "--data-dir", data, "--store", url, "--json"))
            assert found["metadata store"]["verdict"] == "ok", url


def test_a_setting_that_is_not_there_is_wrong_usage(offline: Penstock) -> None:
    assert offline("doctor", "--set", "foo=bar").exit_code == 2
