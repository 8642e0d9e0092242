"""The settings file: what it may look like, and what is said of it if it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock import config_file
from penstock.errors import Unusable

DOCS = Path(__file__).parents[2] / "docs"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "penstock.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        '"log.cleanup.policy" = ["compact", "delete"]\n"log.preallocate" = true\n"node.id" = 7\n',
        'node.id = 7\n[log]\ncleanup.policy = "compact,delete"\npreallocate = true\n',
    ],
    ids=["quoted", "tables"],
)
def test_names_may_be_quoted_or_tables(tmp_path: Path, text: str) -> None:
    assert config_file.read(write(tmp_path, text)) == {
        "log.cleanup.policy": "compact,delete",
        "log.preallocate": "true",
        "node.id": "7",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("node.id = \n", r"is not TOML: .*line 1"),
        ('"node.id" = 1\n[node]\nid = 2\n', r"sets node\.id twice"),
        ("node.id = 1979-05-27\n", r"node\.id must be a text, a number"),
        ('"node.idd" = 1\n', r"did you mean node\.id\?"),
        ('"broker.rack" = "' + "r" * 250 + '"\n', r"broker\.rack: .*at most 249 characters"),
        ("node.id = " + "1" * 5000 + "\n", r"cannot be read: .*digits"),
        ("node.id = " + "[" * 5000 + "]" * 5000 + "\n", r"cannot be read: .*recursion"),
        ('"log.retention.ms" = -2\n', r"log\.retention\.ms: -2 is less than -1"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(Unusable, match=said):
        config_file.read(write(tmp_path, text))


def test_settings_that_do_not_go_together_are_told(tmp_path: Path) -> None:
    text = '"group.min.session.timeout.ms" = 9000\n"group.max.session.timeout.ms" = 8000\n'
    with pytest.raises(Unusable, match=r"9000 is more than group\.max\.session\.timeout\.ms"):
        config_file.read(write(tmp_path, text))


def test_a_missing_file_says_how_to_begin_one(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"No such file.*penstock config sample"):
        config_file.read(tmp_path / "none.toml")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(Unusable, match="not UTF-8"):
        config_file.read(path)


def test_the_sample_uncommented_says_every_default(tmp_path: Path) -> None:
    text = config_file.sample().replace('\n#"', '\n"')
    texts = config_file.read(write(tmp_path, text))
    assert texts.keys() == config_file.KNOWN.keys()
    for name, declared in config_file.KNOWN.items():
        assert declared.parse(texts[name]) == declared.default


def test_the_page_of_settings_is_current() -> None:
    assert (DOCS / "config.md").read_text() == config_file.page(), (
        "run: python -m penstock.config_file > docs/config.md"
    )
