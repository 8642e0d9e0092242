"""`penstock backup`: of a running broker's store, and into other ones."""

from __future__ import annotations

import json
import stat
import uuid
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.broker_process import BrokerProcess
from tests.cli.conftest import Penstock
from tests.metadata import etcd_backend, zookeeper_backend

from penstock.metadata.backup_file import decode_backup


@pytest.fixture
def kept(offline: Penstock, broker_data: Path, tmp_path: Path) -> Path:
    file = tmp_path / "kept.backup"
    done(offline("backup", "create", str(file), "--data-dir", str(broker_data)))
    return file


def done(result: Result) -> str:
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(result: Result, *words: str) -> None:
    assert result.exit_code == 1, result.output
    assert len(result.stderr.splitlines()) == 1
    for word in words:
        assert word in result.stderr


def store(folder: Path) -> str:
    return f"sqlite:{folder / 'new' / 'metadata.sqlite'}"


def test_a_backup_of_a_running_broker_is_for_its_owners_eyes_alone(kept: Path) -> None:
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    found = decode_backup(kept.read_bytes(), "kept")
    assert "/secret" in {entry.key for entry in found.entries}
    assert not {entry.key for entry in found.entries if entry.key.startswith("/brokers/")}
    assert [path.name for path in kept.parent.iterdir()] == [kept.name], "nothing else is left"


def test_show_tells_what_is_in_a_backup(offline: Penstock, kept: Path) -> None:
    told = json.loads(done(offline("backup", "show", str(kept), "--json")))
    assert told["brokers"] == [1]
    assert told["has_config"] is False
    assert told["cluster_id"] in done(offline("backup", "show", str(kept)))


def test_a_restored_store_is_what_was_kept(offline: Penstock, kept: Path, tmp_path: Path) -> None:
    before = json.loads(done(offline("backup", "show", str(kept), "--json")))
    put_back = offline("backup", "restore", str(kept), "--store", store(tmp_path), "--json")
    assert json.loads(done(put_back))["store"] == store(tmp_path)
    again = tmp_path / "again.backup"
    made = offline("backup", "create", str(again), "--store", store(tmp_path), "--json")
    check_same(before, json.loads(done(made)))


def check_same(before: dict[str, Any], after: dict[str, Any]) -> None:
    for name in ("cluster_id", "topics", "partitions", "brokers"):
        assert after[name] == before[name]
    assert after["records"] - before["records"] in (0, 1), "producer ids, if there were none before"


def test_a_cluster_moves_from_one_kind_of_store_to_another(
    offline: Penstock, kept: Path, tmp_path: Path
) -> None:
    etcd = etcd_backend.url_of(etcd_backend.shared_server())
    zookeeper = zookeeper_backend.shared_server().url(f"/{uuid.uuid4().hex}")
    before = json.loads(done(offline("backup", "show", str(kept), "--json")))
    for url in (etcd, zookeeper, store(tmp_path)):
        done(offline("backup", "restore", str(kept), "--store", url))
        refused(offline("backup", "restore", str(kept), "--store", url), "already")
        made = offline("backup", "create", str(kept), "--store", url, "--json")
        check_same(before, json.loads(done(made)))


def test_a_store_that_is_not_empty_is_overwritten_only_when_told_twice(
    offline: Penstock, kept: Path, tmp_path: Path
) -> None:
    command = ("backup", "restore", str(kept), "--store", store(tmp_path))
    done(offline(*command))
    refused(offline(*command), "already", "--replace")
    unsure = offline(*command, "--replace")
    assert unsure.exit_code == 2
    assert "--yes" in unsure.stderr
    done(offline(*command, "--replace", "--yes"))


def test_a_store_whose_broker_runs_is_refused(
    offline: Penstock, kept: Path, broker_data: Path
) -> None:
    where = ("--data-dir", str(broker_data), "--replace", "--yes", "--timeout", "0")
    refused(offline("backup", "restore", str(kept), *where), "stop them first")


def test_the_settings_file_goes_along(offline: Penstock, broker_data: Path, tmp_path: Path) -> None:
    config = tmp_path / "broker.toml"
    config.write_text(f'# mine\n"log.dir" = "{broker_data}"\n')
    file, copy = tmp_path / "b.backup", tmp_path / "copy.toml"
    done(offline("backup", "create", str(file), "--config", str(config)))
    where = ("--store", store(tmp_path), "--config-to", str(copy))
    done(offline("backup", "restore", str(file), *where))
    assert copy.read_text() == config.read_text()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    refused(offline("backup", "restore", str(file), *where), "copy.toml", "new file")


def test_a_backup_without_settings_has_none_to_write(
    offline: Penstock, kept: Path, tmp_path: Path
) -> None:
    where = ("--store", store(tmp_path), "--config-to", str(tmp_path / "c.toml"))
    refused(offline("backup", "restore", str(kept), *where), "--config-to")
    assert not (tmp_path / "new").exists(), "nothing was done"


def test_an_older_backup_is_replaced_and_no_other_file(
    offline: Penstock, kept: Path, broker_data: Path, tmp_path: Path
) -> None:
    done(offline("backup", "create", str(kept), "--data-dir", str(broker_data)))
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    made = offline("backup", "create", str(other), "--data-dir", str(broker_data))
    refused(made, "notes.txt", "no backup")
    assert other.read_text() == "mine"


def test_where_there_is_no_cluster_there_is_nothing_to_keep(
    offline: Penstock, tmp_path: Path
) -> None:
    file, missing = tmp_path / "b.backup", tmp_path / "none.sqlite"
    refused(offline("backup", "create", str(file), "--store", f"sqlite:{missing}"), "no cluster")
    assert not missing.exists()
    assert not file.exists()


def test_a_store_that_is_away_is_named(offline: Penstock, tmp_path: Path) -> None:
    made = offline("backup", "create", str(tmp_path / "b"), "--store", "etcd://127.0.0.1:1/p")
    refused(made, "127.0.0.1:1", "check")


def test_a_file_that_is_not_there_or_is_no_backup_is_refused(
    offline: Penstock, tmp_path: Path
) -> None:
    refused(offline("backup", "restore", str(tmp_path / "none")), "none")
    (tmp_path / "some").write_text("text")
    refused(offline("backup", "show", str(tmp_path / "some")), "no backup")


def test_a_broker_goes_on_with_a_restored_store_and_its_data(
    offline: Penstock, tmp_path: Path
) -> None:
    """The store is older than the data: a topic was made since, and more was sent."""
    broker = BrokerProcess(tmp_path / "data").start()
    address = ("--bootstrap", broker.address)
    done(offline("topic", "create", "orders", *address))
    done(offline("produce", "orders", "before", *address))
    file = str(tmp_path / "b.backup")
    done(offline("backup", "create", file, "--data-dir", str(broker.data_dir)))
    done(offline("produce", "orders", "after", *address))
    done(offline("topic", "create", "later", *address))
    done(offline("produce", "later", "x", *address))
    assert broker.stop() == 0
    for each in broker.data_dir.glob("metadata.sqlite*"):
        each.unlink()
    done(offline("backup", "restore", file, "--data-dir", str(broker.data_dir)))
    broker.start()
    try:
        assert done(offline("consume", "orders", *address)).split() == ["before", "after"]
        done(offline("produce", "orders", "then", *address))
        assert "later" not in done(offline("topic", "list", *address))
        assert list(broker.data_dir.glob("later-0.*-stray"))
    finally:
        assert broker.stop() == 0
