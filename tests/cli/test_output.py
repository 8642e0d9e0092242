"""What others have named is shown by a terminal, and not obeyed."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from penstock.cli.consume_format import for_eyes
from penstock.cli.group_describe import _show as show_group
from penstock.cli.group_members import running
from penstock.cli.main import Commands
from penstock.cli.output import emit_table, plain
from penstock.client.group_members import Member
from penstock.client.groups import GroupDescription
from penstock.errors import Malformed
from penstock.wire.records import Record

RED = "\x1b[31m"
BACK = "\N{RIGHT-TO-LEFT OVERRIDE}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("orders-1 ü 漢", "orders-1 ü 漢"),
        (f"{RED}red", "\\x1b[31mred"),
        ("a\r\nb\tc", "a\\r\\nb\\tc"),
        ("\x9b2J\x7f", "\\x9b2J\\x7f"),
        (f"abc{BACK}def", "abc\\u202edef"),
        ("\udcff", "\\udcff"),
    ],
)
def test_what_is_not_printed_is_spelt_out(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_some_of_it_can_be_let_through() -> None:
    assert plain("a\tb\n\x07", but_for="\t\n") == "a\tb\n\\x07"


def test_tables_show_what_they_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    emit_table(("name", "list"), [(f"{RED}\n", [f"a{RED}", 1])])
    _, row = capsys.readouterr().out.splitlines()
    assert row == "\\x1b[31m\\n  a\\x1b[31m,1"


def test_a_group_is_described_whatever_its_assignor_is_called(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_group(GroupDescription(f"g{RED}", "classic", "Stable", 1, RED, []), [])
    told = capsys.readouterr().out
    assert "\x1b" not in told
    assert "group g\\x1b[31m" in told
    assert "assignor \\x1b[31m" in told


@pytest.mark.parametrize(
    "problem", [click.ClickException(f"{RED}\nmore"), Malformed(f"{RED}\nmore")]
)
def test_a_failure_is_told_whatever_it_is_about(problem: Exception) -> None:
    @click.group(cls=Commands)
    def main() -> None:
        raise problem

    told = CliRunner().invoke(main, ["group"]).output
    assert "\\x1b[31m\nmore" in told
    assert "\x1b" not in told


def test_a_group_that_is_running_is_told_of_with_its_members() -> None:
    member = Member(f"m{RED}", None, "client", "host", {})
    told = running(GroupDescription("g", "classic", "Stable", 1, "", [member]))
    assert f"m{RED}" in told.message, "it is spelt out where it is printed"


def test_records_are_spelt_out_for_eyes_alone() -> None:
    line = b"\x1b[31m\tvalue\xff\xc3\xbc\n"
    shown = for_eyes(lambda arrived, record: line)
    assert shown(None, Record(0, 0, None, None)) == b"\\x1b[31m\tvalue\\xff\xc3\xbc\n"  # type: ignore[arg-type]
