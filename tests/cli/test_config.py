"""`penstock config`: every problem at once, and where each value comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Penstock

from penstock.cli.serve import gather


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "penstock.toml"
    made.write_text('[log]\nlevel = "debug"\n')
    return made


def test_a_sound_file_is_ok(offline: Penstock, path: Path) -> None:
    assert offline("config", "check", str(path)).stdout == f"{path}: ok, 1 setting\n"


def test_every_problem_is_told_at_once(offline: Penstock, path: Path) -> None:
    path.write_text('"log.levl" = "info"\n"node.id" = -1\n"num.partitions" = "many"\n')
    result = offline("config", "check", str(path))
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"{path}: unknown setting log.levl; did you mean log.level?",
        f"{path}: node.id: -1 is less than 0",
        f"{path}: num.partitions: 'many' is not a whole number",
    ]
    told = json.loads(offline("config", "check", str(path), "--json").stdout)
    assert (told["ok"], len(told["problems"])) == (False, 3)


def test_what_a_broker_would_not_start_with_is_told(offline: Penstock, path: Path) -> None:
    path.write_text(
        'listeners = "foo"\n"advertised.listeners" = "0.0.0.0:1"\n"metadata.store" = "ftp://x"\n'
        '"node.id" = -1\n'
    )
    listen, advertise, store, node = offline("config", "check", str(path)).stderr.splitlines()
    assert listen == f"{path}: listeners: 'foo' is not HOST:PORT"
    assert advertise.startswith(f"{path}: advertised.listeners: '0.0.0.0:1' is no address")
    assert store.startswith(f"{path}: metadata.store: 'ftp://x' is not known; give sqlite:PATH")
    assert node == f"{path}: node.id: -1 is less than 0"


def test_values_are_shown_with_where_they_come_from(offline: Penstock, path: Path) -> None:
    result = offline(
        "config", "show", "--config", str(path), "--set", "log.retention.ms=5", "--json"
    )
    told = json.loads(result.stdout)
    assert told["log.level"] == {"value": "debug", "source": "file"}
    assert told["log.retention.ms"] == {"value": "5", "source": "flag"}
    assert told["node.id"] == {"value": "1", "source": "default"}


def test_values_for_eyes_are_a_table(offline: Penstock) -> None:
    head, first, *_ = offline("config", "show").stdout.splitlines()
    assert head.split() == ["SETTING", "VALUE", "FROM"]
    assert first.split() == ["node.id", "1", "default"]


def test_the_sample_is_a_sound_file(offline: Penstock, path: Path) -> None:
    path.write_text(offline("config", "sample").stdout)
    assert offline("config", "check", str(path)).exit_code == 0


def test_the_sample_for_programs_has_every_setting(offline: Penstock) -> None:
    told = json.loads(offline("config", "sample", "--json").stdout)
    assert told.keys() == json.loads(offline("config", "show", "--json").stdout).keys()
    assert told["log.format"]["default"] == "text"
    assert told["log.format"]["limits"] == "one of text, json"
    assert told["delete.topic.enable"] == {
        "default": True,
        "limits": None,
        "doc": "Whether topics can be deleted.",
    }


def test_standard_input_is_checked_too(offline: Penstock) -> None:
    result = offline("config", "check", "-", stdin=offline("config", "sample").stdout)
    assert (result.exit_code, result.stdout) == (0, "standard input: ok, 0 settings\n")
    result = offline("config", "check", "-", stdin='"node.id" = -1\n')
    assert (result.exit_code, result.stderr) == (1, "standard input: node.id: -1 is less than 0\n")
    assert "is not UTF-8 text" in offline("config", "check", "-", stdin=b"\xff").stderr


def test_flags_win_over_set_and_set_over_the_file(path: Path) -> None:
    path.write_text('"node.id" = 1\n"log.level" = "debug"\n"listeners" = "h:1"\n')
    texts = gather(
        str(path),
        {"node.id": "2", "log.level": "error"},
        {"node_id": "3", "listen": None, "store": None},
    )
    assert texts == {"node.id": "3", "log.level": "error", "listeners": "h:1"}


@pytest.mark.parametrize(
    ("place", "problem"), [("", "it is a file"), ("/below", "Not a directory")]
)
def test_where_no_data_can_be_kept_it_is_said_what_to_do(
    offline: Penstock, path: Path, place: str, problem: str
) -> None:
    result = offline("serve", "--data-dir", f"{path}{place}", "--listen", "127.0.0.1:0")
    assert result.exit_code == 1
    assert result.stderr == (
        f"Error: cannot keep data in '{path}{place}' ({problem}); "
        "name a folder that can be written to with --data-dir\n"
    )


def test_numbers_that_are_none_are_refused_before_a_broker_starts(offline: Penstock) -> None:
    result = offline("serve", "--set", f"broker.session.timeout.ms={10**30}")
    assert result.exit_code == 2
    assert f"broker.session.timeout.ms: {10**30} is more than 1800000" in result.stderr


def test_a_broker_does_not_start_with_a_wrong_file(offline: Penstock, path: Path) -> None:
    path.write_text('"log.format" = "yaml"\n')
    result = offline("serve", "--config", str(path))
    assert result.exit_code == 1
    assert result.stderr == f"Error: {path}: log.format: 'yaml' is none of text, json\n"
