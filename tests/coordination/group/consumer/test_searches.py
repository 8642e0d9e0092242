"""Many expressions in one group: looked up in turns of their own, a slice at a time."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from tests.coordination.group.consumer.answers import refusal
from tests.coordination.group.consumer.stage import Stage

from penstock.coordination import regexes
from penstock.coordination.group import protocols
from penstock.coordination.group.consumer import searches
from penstock.errors import ErrorCode

MANY = 3 * searches.SLICE_CHARS // regexes.MATCHING_CHARS // 2


def join(stage: Stage, member_id: str, regex: str) -> None:
    stage.join(member_id, subscribed_topic_names=None, subscribed_topic_regex=regex)


@pytest.fixture
def many() -> Stage:
    """A group whose members have an expression each, that all stand for topics of the same name."""
    stage = Stage()
    for number in range(MANY):
        join(stage, f"m{number}", f"orders.*|none-{number}")
    stage.pass_ms(1)
    assert stage.body.lookups.is_done
    return stage


@pytest.fixture
def matched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The expressions that were matched."""
    seen: list[str] = []

    def counted(text: str, names: Collection[str]) -> frozenset[str]:
        seen.append(text)
        return regexes.matching(text, names)

    monkeypatch.setattr(searches, "matching", counted)
    return seen


def look_up(stage: Stage, matched: list[str]) -> list[int]:
    """How many expressions each turn matched, until that was done."""
    counts = []
    while not stage.body.lookups.is_done:
        before = len(matched)
        stage.run(protocols.expire)
        counts.append(len(matched) - before)
    return counts


def found(stage: Stage) -> set[frozenset[str]]:
    return {each.topics for each in stage.body.regexes.values()}


def test_a_topic_that_comes_is_matched_by_some_expressions_in_each_turn(
    many: Stage, matched: list[str]
) -> None:
    many.create("orders", 1)
    assert len(matched) <= searches.AT_ONCE_CHARS // regexes.MATCHING_CHARS + 1
    first = len(matched)
    counts = look_up(many, matched)
    assert max(counts) <= searches.SLICE_CHARS // 2 // regexes.MATCHING_CHARS + 1
    assert first + sum(counts) == MANY, "each once"
    assert found(many) == {frozenset({"orders"})}


def test_expressions_that_are_not_compiled_any_more_take_more_turns(
    many: Stage, matched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regexes, "KEPT", regexes.Kept())
    many.create("orders", 1)
    counts = look_up(many, matched)
    assert max(counts) <= searches.SLICE_CHARS // 2 // regexes.COMPILING_CHARS + 1
    assert found(many) == {frozenset({"orders"})}


def test_topics_that_come_and_go_meanwhile_are_seen(many: Stage, matched: list[str]) -> None:
    many.create("orders", 1)
    many.run(protocols.expire)
    many.create("orders.eu", 1)
    many.create("orders.us", 1)
    many.run(protocols.expire)
    many.delete("orders")
    many.delete("orders.us")
    look_up(many, matched)
    assert found(many) == {frozenset({"orders.eu"})}
    assert len(matched) <= 3 * MANY, "one sweep after the other, for all that has changed"


def test_who_comes_meanwhile_is_not_left_out(many: Stage, matched: list[str]) -> None:
    many.create("orders", 1)
    many.run(protocols.expire)
    join(many, "late", "orders|late")
    many.create("orders.eu", 1)
    join(many, "later", "orders.*|later")
    look_up(many, matched)
    assert many.body.regexes["orders|late"].topics == {"orders"}
    assert many.body.regexes["orders.*|later"].topics == {"orders", "orders.eu"}


def test_who_leaves_meanwhile_has_its_expression_left_out(many: Stage, matched: list[str]) -> None:
    many.create("orders", 1)
    for number in range(MANY - 1):
        many.beat(f"m{number}", -1)
    look_up(many, matched)
    assert list(many.body.regexes) == [f"orders.*|none-{MANY - 1}"]
    assert found(many) == {frozenset({"orders"})}


def test_a_coordinator_that_takes_over_looks_them_all_up(many: Stage, matched: list[str]) -> None:
    many.create("orders", 1)
    many.run(protocols.expire)
    many.reload()
    many.pass_ms(1)
    assert many.body.lookups.is_done
    assert found(many) == {frozenset({"orders"})}


@pytest.fixture
def searching() -> Stage:
    """With a search under way, after the look at all topics that the first member brings."""
    stage = Stage()
    for number in range(2 * searches.SLICE_CHARS // 20):
        stage.create(f"other-{number:020}", 1)
    stage.join("m1", "orders")
    stage.pass_ms(1)
    join(stage, "m2", "orders.*")
    assert stage.body.lookups.search is not None
    return stage


def test_a_topic_that_comes_during_a_first_search_is_found_by_it(searching: Stage) -> None:
    searching.create("orders", 1)
    searching.pass_ms(1)
    assert found(searching) == {frozenset({"orders"})}


def test_a_search_that_everyone_has_left_is_not_gone_on_with(searching: Stage) -> None:
    searching.beat("m1", -1)
    searching.beat("m2", -1)
    searching.pass_ms(1)
    searching.create("orders", 1)
    join(searching, "m3", "orders.*")
    searching.pass_ms(1)
    assert found(searching) == {frozenset({"orders"})}


def test_so_many_topics_at_once_that_all_is_looked_up_anew(many: Stage, matched: list[str]) -> None:
    names = [f"orders-{'x' * 200}-{number}" for number in range(searches.SLICE_CHARS // 200)]
    for name in names:
        many.create(name, 1)
    assert many.body.lookups.waiting
    assert len(many.body.lookups.changed) < len(names)
    many.pass_ms(1)
    assert found(many) == {frozenset(names)}


def test_one_expression_too_many_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "EXPRESSIONS_MAX", 2)
    stage = Stage()
    join(stage, "m1", "a.*")
    join(stage, "m2", "b.*")
    assert refusal(join, stage, "m3", "c.*") == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert "m3" not in stage.body.members
    join(stage, "m3", "b.*")
    stage.join("m4", "orders")


def test_who_is_the_last_to_use_an_expression_may_change_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(searches, "EXPRESSIONS_MAX", 2)
    stage = Stage()
    for member_id, regex in (("m1", "a.*"), ("m2", "b.*"), ("m3", "b.*")):
        join(stage, member_id, regex)
    stage.pass_ms(100)
    join(stage, "m1", "c.*")
    assert stage.body.regexes.keys() == {"b.*", "c.*"}
    assert refusal(join, stage, "m2", "d.*") == ErrorCode.GROUP_MAX_SIZE_REACHED
    stage.beat("m1", -1)
    join(stage, "m2", "d.*")
