from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.node.log_lines import LIBRARIES, JsonLines, TextLines, set_up

FORGED = "x\n2026-01-01T00:00:00.000 ERROR   penstock: all is lost"


def record(message: str, *texts: object, error: Exception | None = None) -> logging.LogRecord:
    info: Any = None
    if error is not None:
        try:
            raise error
        except Exception:
            info = sys.exc_info()
    return logging.LogRecord("penstock.api", logging.INFO, "file", 1, message, texts, info)


def test_a_text_of_a_client_cannot_look_like_a_line_of_its_own() -> None:
    line = TextLines().format(record("%s joins %.300s", FORGED, "group"))
    assert "\n" not in line
    assert line.endswith(r"x\n2026-01-01T00:00:00.000 ERROR   penstock: all is lost joins group")


@pytest.mark.parametrize("character", "\r\x1b\x7f\x85\u2028\u202e\0\t\ud800")
def test_what_a_terminal_would_obey_is_escaped(character: str) -> None:
    line = TextLines().format(record("a%sb", character))
    assert character not in line
    assert line.isprintable()


def test_what_can_be_read_stays_as_it_is() -> None:
    text = "\N{GREEK SMALL LETTER ALPHA} \N{GRINNING FACE} C:\\new"
    assert TextLines().format(record("%s", text)).endswith(f"INFO    penstock.api: {text}")


def test_a_traceback_keeps_its_lines_and_none_of_them_looks_like_an_entry() -> None:
    message, *traceback = (
        TextLines().format(record("failed", error=ValueError(f"{FORGED}\x1b"))).split("\n")
    )
    assert message.endswith("failed")
    assert traceback[0] == "  Traceback (most recent call last):"
    assert traceback[-2:] == ["  ValueError: x", rf"  {FORGED[2:]}\x1b"]


def test_a_json_entry_is_one_line_whatever_it_says() -> None:
    line = JsonLines().format(record("%s", FORGED, error=ValueError(FORGED)))
    assert "\n" not in line
    assert json.loads(line)["message"] == FORGED


@pytest.fixture
def as_before() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("penstock", *LIBRARIES)]
    before = [(each, each.handlers[:], each.level, each.propagate) for each in loggers]
    yield
    for logger, handlers, level, propagate in before:
        logger.handlers[:], logger.level, logger.propagate = handlers, level, propagate


@pytest.mark.usefixtures("as_before")
def test_what_libraries_warn_of_has_the_same_form(capsys: pytest.CaptureFixture[str]) -> None:
    set_up("info", "json")
    logging.getLogger("kazoo.client").warning("Connection dropped: %s", FORGED)
    line = json.loads(capsys.readouterr().err)
    assert (line["logger"], line["level"]) == ("kazoo.client", "warning")
