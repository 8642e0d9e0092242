"""Which topics a group reads, as far as that can be told."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from tests.coordination.group.classic.stage import DELAY_MS, Stage, reads

from penstock.coordination.group import readers as module
from penstock.coordination.group.classic.subscriptions import Topics, topics_of
from penstock.coordination.group.readers import Readers
from penstock.coordination.pace import COST_A_SLICE, Pace


def readers(*topics: str) -> Readers:
    return Readers(topics, Pace())


def a_group(*subscriptions: Iterable[str], kind: str = "consumer") -> Stage:
    stage = Stage()
    for topics in subscriptions:
        stage.join(kind=kind, protocols={"range": reads(*topics)})
    stage.wait(DELAY_MS)
    return stage


def test_a_group_reads_what_any_of_its_members_reads() -> None:
    group = a_group("a", "b").group
    assert readers("b", "c").read(group) == readers("b", "c").may_be_read(group) == {"b"}
    assert not readers("c").may_be_read(group)


def test_nothing_is_known_before_the_first_generation() -> None:
    stage = Stage()
    stage.join(protocols={"range": reads("a")})
    assert readers("c").may_be_read(stage.group) == {"c"}
    assert not readers("a").read(stage.group)


def test_a_member_that_says_it_in_another_language_may_read_anything() -> None:
    stage = Stage()
    stage.join(protocols={"range": b"?"})
    stage.wait(DELAY_MS)
    assert readers("a").may_be_read(stage.group) == {"a"}
    assert not readers("a").read(stage.group)


def test_what_is_no_consumer_reads_no_topics() -> None:
    group = a_group("a", kind="connect").group
    assert not readers("a").may_be_read(group)
    assert not readers("a").read(group)


def test_each_subscription_is_looked_at_once_however_many_groups_and_topics_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[bytes] = []

    def counting(metadata: bytes) -> Topics:
        looked.append(metadata)
        return topics_of(metadata)

    monkeypatch.setattr(module, "topics_of", counting)
    some = readers(*(f"topic-{each}" for each in range(1_000)))
    for _ in range(3):
        group = a_group("a", "b", "b", "a").group
        list(some.look(group))
        some.read(group)
        some.may_be_read(group)
    assert len(looked) == 2


def test_pauses_come_with_the_names_that_are_looked_at() -> None:
    wide = [[f"{member}-{each}" for each in range(COST_A_SLICE // 2)] for member in range(6)]
    assert len(list(readers("a").look(a_group(*wide).group))) == 3
    assert not list(readers("a").look(a_group("a", "b", "c").group))


def test_members_who_come_in_a_pause_are_looked_at_too() -> None:
    stage = a_group([str(each) for each in range(COST_A_SLICE)])
    some = readers("late")
    pauses = some.look(stage.group)
    next(pauses)
    stage.join(protocols={"range": reads("late")})
    stage.body.protocol = "range"
    assert not list(pauses)
    assert some.read(stage.group) == {"late"}
