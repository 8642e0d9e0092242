"""What the documentation shows does what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.snippets import ROOT, run_script, snippets, with_projects, with_scripts

from penstock.testing import Broker


@pytest.mark.parametrize("page", with_scripts(), ids=lambda page: page.name)
def test_scripts_run_from_beginning_to_end(page: Path, penstock_fresh_broker: Broker) -> None:
    run_script(page, penstock_fresh_broker.bootstrap)


@pytest.mark.parametrize("page", with_projects(), ids=lambda page: page.name)
def test_projects_pass_their_tests(page: Path, pytester: pytest.Pytester) -> None:
    for each in snippets(page):
        if each.file:
            path = pytester.path / each.file
            path.write_text(each.text)
    result = pytester.runpytest_subprocess("-p", "penstock.testing", "-p", "no:randomly")
    outcomes = result.parseoutcomes()
    assert outcomes.pop("passed") > 0
    assert outcomes.keys() <= {"warnings"}, outcomes


@pytest.mark.parametrize("name", ["delays.md", "queues.md", "sdk.md", "transactions.md"])
def test_all_python_that_a_page_shows_is_run(name: str) -> None:
    page = ROOT / "docs" / name
    assert len(snippets(page)) == page.read_text().count("```python") > 0


def test_a_script_that_fails_is_told_with_its_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "text\n\n<!-- test -->\n```python\nwhere = 1\n```\n<!-- test -->\n```\n1 / 0\n```\n"
    )
    with pytest.raises(ZeroDivisionError) as failed:
        run_script(page, "")
    assert (failed.traceback[-1].path, failed.traceback[-1].lineno + 1) == (page, 9)


def test_code_that_is_not_marked_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\n1 / 0\n```\n\n<!-- test: a.py -->\n```python\nx = 1\n```\n")
    assert [(each.file, each.text) for each in snippets(page)] == [("a.py", "x = 1\n")]


def test_a_script_that_was_to_print_something_and_did_not_has_failed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- test -->\n```python\nfor each in ():\n    print(each)\n```\n")
    with pytest.raises(AssertionError, match="prints nothing"):
        run_script(page, "")
