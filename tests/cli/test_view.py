"""`penstock view`: made, listed, described and deleted."""

from __future__ import annotations

import json

import pytest
from tests.cli.conftest import Penstock

WHERE = "size > 50 and not region in ('us')"


@pytest.fixture
def view(penstock: Penstock, topic: str) -> str:
    penstock("topic", "create", topic, "--partitions", "3")
    made = penstock("view", "create", f"{topic}-large", "--of", topic, "--where", WHERE)
    assert made.stdout == f"created view {topic}-large of {topic}: 3 partitions\n"
    return f"{topic}-large"


def test_a_view_is_told_as_it_was_made(penstock: Penstock, topic: str, view: str) -> None:
    told = {"view": view, "of": topic, "where": WHERE, "partitions": 3}
    assert json.loads(penstock("view", "describe", view, "--json").stdout) == told
    assert told in json.loads(penstock("view", "list", "--json").stdout)
    shown = penstock("view", "describe", view).stdout
    assert shown == f"view {view} of {topic}: 3 partitions\nwhere {WHERE}\n"
    assert WHERE in penstock("view", "list").stdout


def test_views_are_not_listed_among_topics(penstock: Penstock, topic: str, view: str) -> None:
    listed = [each["topic"] for each in json.loads(penstock("topic", "list", "--json").stdout)]
    assert topic in listed
    assert view not in listed


def test_a_deleted_view_is_gone_and_its_topic_stays(
    penstock: Penstock, topic: str, view: str
) -> None:
    assert penstock("view", "delete", view, "--yes").exit_code == 0
    assert penstock("view", "describe", view, "--timeout", "2").exit_code == 1
    assert penstock("topic", "describe", topic).exit_code == 0


def test_a_predicate_that_cannot_be_read_is_shown_with_the_place(
    penstock: Penstock, topic: str
) -> None:
    penstock("topic", "create", topic)
    done = penstock("view", "create", f"{topic}-bad", "--of", topic, "--where", "size > 5 and")
    assert done.exit_code == 1
    lines = done.stderr.splitlines()
    assert lines[1].strip() == "size > 5 and"
    assert lines[2] == " " * lines[1].index("and") + "   ^"


def test_a_topic_is_not_taken_for_a_view(penstock: Penstock, topic: str) -> None:
    penstock("topic", "create", topic)
    done = penstock("view", "describe", topic)
    assert done.exit_code == 2
    assert "penstock topic" in done.stderr


def test_views_of_nothing_and_of_views_are_refused(
    penstock: Penstock, topic: str, view: str
) -> None:
    for of, words in ((f"{topic}-nope", "there is no topic"), (view, f"view itself, of {topic}")):
        done = penstock("view", "create", f"{topic}-other", "--of", of, "--where", "a = 'b'")
        assert (done.exit_code, words in done.stderr) == (1, True)
