"""Subscriptions by regular expression."""

from __future__ import annotations

from typing import Any

import pytest
from tests.coordination.group.consumer.answers import given
from tests.coordination.group.consumer.stage import Stage

from penstock.coordination import regexes
from penstock.coordination.group.consumer.searches import SLICE_CHARS
from penstock.coordination.group.readers import Readers
from penstock.coordination.pace import Pace
from penstock.coordination.regexes import check_regex, matching
from penstock.errors import ErrorCode, Refused

NAMES = ["orders", "orders.eu", "orders-dead", "payments", "__consumer_offsets"]


def by_regex(stage: Stage, member_id: str, regex: str):  # type: ignore[no-untyped-def]
    return stage.join(member_id, subscribed_topic_names=None, subscribed_topic_regex=regex)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("orders", {"orders"}),
        ("orders.*", {"orders", "orders.eu", "orders-dead"}),
        ("orders\\..*|pay(ments|outs)", {"orders.eu", "payments"}),
        (".*", {"orders", "orders.eu", "orders-dead", "payments"}),
        ("[^x]*", {"orders", "orders.eu", "orders-dead", "payments"}),
        ("\\Aorders\\z", {"orders"}),
        ("^orders$", {"orders"}),
        ("(?i)ORDERS", {"orders"}),
        ("(?-m)^orders$", {"orders"}),
        ("(?i-m:^Orders$)|payments", {"orders", "payments"}),
        ("\\Qorders.eu", {"orders.eu"}),
        ("\\Qorders.\\E(eu|us)", {"orders.eu"}),
        ("(?s).*\n.*", set()),
        ("rders", set()),
        ("", set()),
    ],
)
def test_an_expression_stands_for_the_names_that_it_matches_as_a_whole(
    text: str, found: set[str]
) -> None:
    check_regex(text)
    assert matching(text, NAMES) == found


@pytest.mark.parametrize(
    "text", ["(", "a)|(b", "*", "(?<x", "a" * 1_001, "(a{1000}){1000}", "[a-z]{0,1000}" * 60]
)
def test_an_expression_that_cannot_be_used_is_refused(text: str) -> None:
    with pytest.raises(Refused) as caught:
        check_regex(text)
    assert caught.value.code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_an_expression_is_compiled_once_and_kept_in_one_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts: list[str] = []
    compiled = regexes._compiled

    def counted(text: str) -> Any:
        texts.append(text)
        return compiled(text)

    monkeypatch.setattr(regexes, "KEPT", regexes.Kept())
    monkeypatch.setattr(regexes, "_compiled", counted)
    for _ in range(3):
        check_regex("ord.*")
        assert matching("ord.*", NAMES) == {"orders", "orders.eu", "orders-dead"}
    assert texts == ["ord.*", "(?m)^(?:ord.*)$"], "by itself, to check it, and as it is matched"
    assert len(regexes.KEPT) == 1


def test_so_many_expressions_are_kept_and_those_used_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regexes, "KEPT", regexes.Kept())
    monkeypatch.setattr(regexes, "KEPT_MAX", 3)
    for text in ("a", "b", "c", "a", "d", "e"):
        matching(text, NAMES)
    assert [text for text in "abcde" if text in regexes.KEPT] == ["a", "d", "e"]
    assert [regexes.cost_chars(text) for text in "ab"] == [
        regexes.MATCHING_CHARS,
        regexes.COMPILING_CHARS,
    ]


def test_a_member_gets_the_topics_that_its_expression_matches() -> None:
    stage = Stage()
    stage.create("payments", 1)
    orders = stage.create("orders", 2)
    assert given(by_regex(stage, "m1", "ord.*")) == {orders: {0, 1}}


def test_topics_that_come_and_go_are_seen() -> None:
    stage = Stage()
    orders = stage.create("orders", 1)
    by_regex(stage, "m1", "ord.*")
    stage.pass_ms(100)
    eu = stage.create("orders.eu", 1)
    answer = stage.beat("m1", 1)
    assert given(answer) == {orders: {0}, eu: {0}}
    assert stage.body.regexes["ord.*"].topics == {"orders", "orders.eu"}
    stage.pass_ms(100)
    stage.delete("orders")
    assert given(stage.beat("m1", 2)) == {eu: {0}}


def test_a_topic_that_no_expression_matches_changes_nothing() -> None:
    stage = Stage()
    stage.create("orders", 1)
    by_regex(stage, "m1", "ord.*")
    stage.create("payments", 1)
    assert stage.written == []


def test_members_share_what_an_expression_was_found_to_be_until_nobody_uses_it() -> None:
    stage = Stage()
    stage.create("orders", 1)
    by_regex(stage, "m1", "ord.*")
    stage.pass_ms(100)
    by_regex(stage, "m2", "ord.*")
    assert not any("Regular" in type(event.key).__name__ for event in stage.written)
    stage.beat("m1", -1)
    assert list(stage.body.regexes) == ["ord.*"]
    stage.beat("m2", -1)
    assert not stage.body.regexes


def test_another_expression_takes_the_place_of_the_first() -> None:
    stage = Stage()
    orders, payments = stage.create("orders", 1), stage.create("payments", 1)
    assert given(by_regex(stage, "m1", "ord.*")) == {orders: {0}}
    stage.pass_ms(100)
    assert given(stage.beat("m1", 1, subscribed_topic_regex="pay.*")) == {}
    assert given(stage.beat("m1", 1, topic_partitions=[])) == {payments: {0}}
    assert list(stage.body.regexes) == ["pay.*"]


def test_a_name_that_another_member_has_may_also_be_matched() -> None:
    stage = Stage()
    topic = stage.create("orders", 2)
    stage.join("m1", "orders")
    stage.pass_ms(100)
    by_regex(stage, "m2", "ord.*")
    stage.beat("m1", 1)
    stage.beat("m1", 1, topic_partitions=[])
    assert len(given(stage.beat("m2", 2))[topic]) == 1


def test_many_topics_are_matched_in_slices() -> None:
    stage = Stage()
    for number in range(600):
        stage.create(f"topic-{number:020}", 1)
    assert 2 * SLICE_CHARS < 600 * 26
    assert given(by_regex(stage, "m1", "topic-.*")) == {}
    stage.pass_ms(100)
    assert len(given(stage.beat("m1", 1))) == 600
    assert stage.body.lookups.is_done


def test_a_search_that_a_coordinator_left_undone_is_begun_again() -> None:
    stage = Stage()
    for number in range(600):
        stage.create(f"topic-{number:020}", 1)
    by_regex(stage, "m1", "topic-.*")
    stage.reload()
    stage.pass_ms(100)
    assert len(given(stage.beat("m1", 1))) == 600


def test_a_topic_that_comes_while_others_are_matched_is_not_missed() -> None:
    stage = Stage()
    for number in range(600):
        stage.create(f"topic-{number:020}", 1)
    by_regex(stage, "m1", "topic-.*")
    stage.create("topic-late", 1)
    stage.delete(f"topic-{3:020}")
    stage.pass_ms(100)
    found = stage.body.regexes["topic-.*"].topics
    assert "topic-late" in found
    assert len(found) == 600


def test_a_group_subscribes_to_what_its_expressions_match() -> None:
    stage = Stage()
    stage.create("orders", 1)
    by_regex(stage, "m1", "ord.*")
    stage.join("m2", "payments")
    readers = Readers({"orders", "payments", "returns"}, Pace())
    assert readers.may_be_read(stage.group) == {"orders", "payments"}
