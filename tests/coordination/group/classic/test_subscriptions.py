from __future__ import annotations

from tests.coordination.group.classic.stage import DELAY_MS, Stage, reads

from penstock.coordination.group.classic.subscriptions import (
    REMEMBERED_BYTES_MAX,
    classic_subscribes_to,
    may_subscribe_to,
    topics_of,
)


def test_topics_are_read_from_what_consumers_say_of_themselves() -> None:
    assert topics_of(reads("a", "b")) == frozenset({"a", "b"})
    assert topics_of(reads("a", user_data=bytes(REMEMBERED_BYTES_MAX))) == frozenset({"a"})


def test_what_cannot_be_read_tells_nothing() -> None:
    assert topics_of(b"") is None
    assert topics_of(b"\xff" * 20) is None


def test_a_group_reads_what_any_of_its_members_reads() -> None:
    stage = Stage()
    stage.join(protocols={"range": reads("a")})
    stage.join(protocols={"range": reads("b")})
    assert may_subscribe_to(stage.body, "c"), "nothing is known before the first generation"
    stage.wait(DELAY_MS)
    assert classic_subscribes_to(stage.body, {"b", "c"})
    assert not classic_subscribes_to(stage.body, {"c"})
    assert may_subscribe_to(stage.body, "a")
    assert not may_subscribe_to(stage.body, "c")


def test_a_member_that_says_it_in_another_language_may_read_anything() -> None:
    stage = Stage()
    stage.join(protocols={"range": b"?"})
    stage.wait(DELAY_MS)
    assert may_subscribe_to(stage.body, "a")
    assert not classic_subscribes_to(stage.body, {"a"})


def test_what_is_no_consumer_reads_no_topics() -> None:
    stage = Stage()
    stage.join(kind="connect", protocols={"eager": reads("a")})
    stage.wait(DELAY_MS)
    assert not may_subscribe_to(stage.body, "a")
    assert not classic_subscribes_to(stage.body, {"a"})
