from __future__ import annotations

from pathlib import Path

import pytest

from penstock.log import layout
from penstock.log.unsynced_topics import UnsyncedTopics
from penstock.world.real_disk import RealDisk

A, B = b"a" * 16, b"b" * 16


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path)


def noted(folder: str) -> UnsyncedTopics:
    return UnsyncedTopics(RealDisk(1), folder)


def test_what_was_noted_is_known_at_the_next_start(folder: str) -> None:
    noted(folder).note({A})
    later = noted(folder)
    assert later.may_have([B, A])
    assert not later.may_have([B])
    later.note({B})
    assert not later.may_have([B]), "by the processes before"
    assert noted(folder).may_have([A])


def test_what_is_on_disk_is_forgotten_at_a_start(folder: str) -> None:
    noted(folder).note({A, B})
    noted(folder).begin_anew({B})
    assert not noted(folder).may_have([A])
    assert noted(folder).may_have([B])


def test_where_there_is_nothing_to_note_there_is_no_file(folder: str) -> None:
    noted(folder).note(set())
    noted(folder).begin_anew(set())
    assert not (Path(folder) / layout.UNSYNCED_TOPICS_FILE).exists()


@pytest.mark.parametrize("content", [b"", b"0\n2\n00\n", b"\xff\n", b"0\n1\nxyz\n"])
def test_a_note_that_cannot_be_read_may_mean_any_topic(folder: str, content: bytes) -> None:
    (Path(folder) / layout.UNSYNCED_TOPICS_FILE).write_bytes(content)
    assert noted(folder).may_have([A])
    noted(folder).begin_anew(set())
    assert not noted(folder).may_have([A])
