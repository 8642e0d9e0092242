"""Notes of what runs: by which process, and how it ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from penstock.spark.errors import SparkError
from penstock.spark.pipelines.progress import Progress
from penstock.spark.pipelines.state import (
    DONE,
    FAILED,
    GONE,
    RUNNING,
    STOPPED,
    Note,
    Running,
    State,
    default_folder,
    is_alive,
    process_began,
)


def test_a_pipeline_is_noted_while_it_runs_and_after(tmp_path: Path) -> None:
    state = State(tmp_path)
    with state.running("a", "pipeline", "/a.toml") as noted:
        noted.update(progress=Progress(batches=3, rows=7))
        note = state.note("a")
        assert (note.situation, note.file, note.progress.rows) == (RUNNING, "/a.toml", 7)
        with pytest.raises(Running, match="is running already"), state.running("a", "pipeline"):
            pass
    assert state.note("a").situation == DONE
    with state.running("a", "pipeline") as noted:
        noted.update(told=STOPPED)
    assert state.note("a").situation == STOPPED
    with pytest.raises(ZeroDivisionError), state.running("b", "replay"):
        raise ZeroDivisionError("no")
    assert [(each.name, each.situation, each.error) for each in state.notes()] == [
        ("a", STOPPED, None),
        ("b", FAILED, "no"),
    ]


def test_a_process_that_died_is_gone_and_so_is_one_whose_number_another_has(
    tmp_path: Path,
) -> None:
    state = State(tmp_path)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        began = process_began(other.pid)
        with state.running("a", "pipeline") as noted:
            noted.update(pid=other.pid, process_began=began)
            assert state.note("a").situation == RUNNING
            noted.update(process_began=began - 1)
            assert state.note("a").situation == GONE
            noted.update(process_began=began)
            other.kill()
            other.wait()
            assert state.note("a").situation == GONE
    assert not is_alive(other.pid, began)


def test_what_is_not_there_or_cannot_be_read_is_no_note(tmp_path: Path) -> None:
    state = State(tmp_path)
    assert state.notes() == []
    with pytest.raises(SparkError, match="there is no pipeline a"):
        state.note("a")
    for name in ("../a", "", "a/b", ".."):
        with pytest.raises(SparkError, match="is no name"):
            state.note(name)
    (state.root / "broken").mkdir(parents=True)
    (state.root / "broken" / "note.json").write_text('{"name": 1')
    assert state.notes() == []


def test_a_note_of_a_later_version_with_more_in_it_is_read(tmp_path: Path) -> None:
    with State(tmp_path).running("a", "pipeline"):
        pass
    path = State(tmp_path).root / "a" / "note.json"
    path.write_bytes(msgspec.json.encode({**msgspec.json.decode(path.read_bytes()), "more": 1}))
    assert isinstance(State(tmp_path).note("a"), Note)


def test_the_folder_is_the_users_own_unless_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PENSTOCK_STATE", raising=False)
    assert default_folder() == tmp_path / "home" / "penstock"
    monkeypatch.setenv("PENSTOCK_STATE", str(tmp_path / "told"))
    assert default_folder() == tmp_path / "told"
