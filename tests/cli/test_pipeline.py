"""`penstock pipeline` as far as it needs no Spark: mistakes, and looking after tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.cli.conftest import Penstock
from tests.spark.records import in_table, send

from penstock.client import admin
from penstock.client.cluster import WireClient
from penstock.spark.archive.archiver import ArchiveOptions, Archiver
from penstock.spark.archive.tasks import Here


@pytest.fixture
def table(broker: BrokerProcess, topic: str, tmp_path: Path) -> Path:
    with WireClient(broker.address) as client:
        admin.create_topic(client, topic, partitions=2)
        send(client, topic, range(40))
    folder = tmp_path / "table"
    options = ArchiveOptions(broker.address, topic, str(folder), once=True, rows_a_round=20)
    Archiver(options, Here()).run()
    return folder


def test_an_archive_without_news_needs_no_spark(
    penstock: Penstock, topic: str, table: Path
) -> None:
    done = penstock("pipeline", "archive", topic, "--to", str(table), "--once")
    assert (done.exit_code, done.stdout) == (
        0,
        f"archived 0 records in 0 rounds of {topic} to {table}\n",
    )


def test_a_table_is_compacted_vacuumed_and_expired(penstock: Penstock, table: Path) -> None:
    before = in_table(table)
    done = penstock("pipeline", "compact", str(table))
    assert (done.exit_code, done.stdout) == (0, "4 files before, 2 now\n")
    done = penstock("pipeline", "vacuum", str(table))
    assert done.stdout == "0 files removed\n"
    done = penstock("pipeline", "vacuum", str(table), "--older-than", "0s", "--dry-run", "--json")
    told = json.loads(done.stdout)
    assert (len(told["files"]), told["dry_run"]) == (4, True)
    done = penstock("pipeline", "vacuum", str(table), "--older-than", "0s")
    assert done.stdout == "4 files removed\n"
    assert in_table(table) == before
    assert penstock("pipeline", "expire", str(table)).exit_code == 2
    done = penstock("pipeline", "expire", str(table), "--older-than", "1d", "--deleted")
    assert done.stdout.startswith("40 records in 2 files, ")
    assert in_table(table) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("archive", "nowhere", "--to", "{tmp}/t", "--once"), "nowhere"),
        (("archive", "{topic}-other", "--to", "{table}", "--once"), "not of {topic}-other"),
        (("archive", "{topic}", "--to", "s3://bucket/t"), "give a path"),
        (("archive", "{topic}", "--to", "{table}", "--schema", "a INT"), "leave --schema out"),
        (("archive", "{topic}", "--to", "{table}", "--table-format", "iceberg"), "table in delta"),
        (("archive", "{topic}", "--to", "{table}", "--schema", "a IN"), "there is no type IN"),
        (("replay", "{tmp}/t", "--to", "{topic}"), "there is no table"),
        (("replay", "{table}", "--to", "{topic}"), "the one that was archived"),
        (("replay", "{table}", "--to", "{topic}-other"), "--by-key"),
        (("compact", "{tmp}/t"), "there is no table"),
    ],
)
def test_a_mistake_is_one_line(
    penstock: Penstock,
    broker: BrokerProcess,
    topic: str,
    table: Path,
    tmp_path: Path,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    with WireClient(broker.address) as client:
        admin.create_topic(client, f"{topic}-other")
    names = {"topic": topic, "table": table, "tmp": tmp_path}
    done = penstock("pipeline", *(each.format(**names) for each in arguments))
    assert done.exit_code == 1
    assert said.format(**names) in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_wrong_usage_is_told(penstock: Penstock, table: Path) -> None:
    done = penstock("pipeline", "replay", str(table), "--to", "t", "--id", "a/b")
    assert (done.exit_code, "letters, digits" in done.stderr) == (2, True)
    assert penstock("pipeline", "archive", "t").exit_code == 2


@pytest.mark.parametrize("missing", ["pyspark", "deltalake"])
def test_where_the_extra_is_missing_it_is_named(missing: str, tmp_path: Path) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; from penstock.cli.main import main; "
    program += f"main(['pipeline', 'archive', 't', '--to', {str(tmp_path)!r}])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "`pip install penstock[spark]`" in done.stderr
    assert "Traceback" not in done.stderr


def test_where_what_iceberg_needs_is_missing_it_is_named(
    broker: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    with WireClient(broker.address) as client:
        admin.create_topic(client, topic)
    program = "import sys; sys.modules['pyiceberg'] = None; from penstock.cli.main import main; "
    program += "main(['pipeline', 'archive', *sys.argv[1:], '--once', '--table-format', 'iceberg'])"
    done = subprocess.run(
        [sys.executable, "-c", program, topic, "--to", str(tmp_path / "t")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PENSTOCK_BOOTSTRAP": broker.address},
    )
    assert done.returncode == 1
    assert "`pip install penstock[iceberg]`" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "t").exists()


def test_an_archive_is_listed_with_how_it_ended(
    penstock: Penstock, topic: str, table: Path, tmp_path: Path
) -> None:
    state = ("--state", str(tmp_path / "state"))
    assert (
        penstock("pipeline", "archive", topic, "--to", str(table), "--once", *state).exit_code == 0
    )
    (told,) = json.loads(penstock("pipeline", "list", "--json", *state).stdout)
    assert (told["kind"], told["state"]) == ("archive", "done")
    assert told["name"].startswith(f"archive-{topic}-")
    shown = penstock("pipeline", "list", *state).stdout.splitlines()
    assert shown[0].split()[:3] == ["NAME", "KIND", "STATE"]
    other = ("--to", str(tmp_path / "other"), "--once", *state)
    assert penstock("pipeline", "archive", "nowhere", *other).exit_code == 1
    name = next(
        each["name"]
        for each in json.loads(penstock("pipeline", "list", "--json", *state).stdout)
        if each["state"] == "failed"
    )
    assert "there is no such topic" in penstock("pipeline", "status", name, *state).stdout
    assert "does not run: failed" in penstock("pipeline", "stop", name, *state).stdout


def test_an_archive_runs_where_nothing_can_be_noted(
    penstock: Penstock, topic: str, table: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    state = ("--state", str(tmp_path / "file" / "state"))
    assert (
        penstock("pipeline", "archive", topic, "--to", str(table), "--once", *state).exit_code == 0
    )
