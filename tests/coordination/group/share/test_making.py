"""Targets of large share groups: made by and by, while members come and go."""

from __future__ import annotations

from typing import Any

import pytest
from tests.coordination.group.share.stage import Stage, told

from penstock.coordination.group.assignors.sharing import ALL_UP_TO
from penstock.coordination.group.share import draft, making
from penstock.coordination.group.share.record_types import TargetEpochKey, TargetKey

PARTITIONS = 60
LONG_MS = 10_000


@pytest.fixture(autouse=True)
def _soon_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft, "AT_ONCE_MAX", 10)
    monkeypatch.setattr(making, "PARTS_A_TURN", 2)


class Large(Stage):
    """A group that shares many partitions."""

    def __init__(self) -> None:
        super().__init__()
        self.topic = self.create("orders", PARTITIONS)
        self.join("m0", "orders")
        self.initialize()
        self.settle_down()

    def settle_down(self) -> None:
        """The target is made, and all members have heard of it."""
        self.pass_ms(LONG_MS)
        for member_id in self.body.members:
            self.meet(member_id)

    def has(self, member_id: str) -> frozenset[int]:
        assigned = self.body.members[member_id].holding.assigned
        return assigned.get(self.topic, frozenset())

    def written_targets(self) -> list[str]:
        return [each.key.member_id for each in self.written if isinstance(each.key, TargetKey)]

    def look(self) -> None:
        """The next time that the group has asked for."""
        assert self.wake_ms is not None
        self.pass_ms(max(self.wake_ms - self.time_ms, 0.0))


@pytest.fixture
def large() -> Large:
    return Large()


def of_all(large: Large) -> list[frozenset[int]]:
    return [large.has(each) for each in large.body.members]


def is_even(large: Large) -> bool:
    """As far as an assignment of so many can be: all have as much, and each partition has two."""
    parts = of_all(large)
    counts = [sum(number in part for part in parts) for number in range(PARTITIONS)]
    return len(set(map(len, parts))) == 1 and min(counts) >= min(2, len(parts))


def test_who_comes_has_its_own_part_at_once_and_nobody_else_is_written(large: Large) -> None:
    for number in range(1, 6):
        answer = large.join(f"m{number}", "orders")
        assert large.written_targets() == [f"m{number}"]
        (part,) = (told(answer) or {}).values()
        assert len(part) == max(ALL_UP_TO, 2 * PARTITIONS // (number + 1))
        assert answer.member_epoch == large.body.target_epoch < large.body.epoch


def test_the_others_hear_of_it_when_all_parts_are_written(large: Large) -> None:
    for number in range(1, 6):
        large.join(f"m{number}", "orders")
    before, epoch = of_all(large), large.body.target_epoch
    written: list[Any] = []
    while large.body.target_epoch == epoch:
        assert len(large.written_targets()) <= 2
        large.meet("m0")
        assert of_all(large) == before
        large.time_ms = max(large.wake_ms or 0.0, large.time_ms)
        large.wake_ms = None
        large.run(lambda turn, group: making.make_on(turn, group, large.body))
        written += [each.key for each in large.written]
    assert isinstance(written[-1], TargetEpochKey)
    large.settle_down()
    assert is_even(large)
    assert large.body.epoch == large.body.target_epoch


def test_many_who_come_together_cost_few_targets(large: Large) -> None:
    before = large.body.target_epoch
    for number in range(1, 30):
        large.join(f"m{number:02}", "orders")
        large.time_ms += 0.01
    targets: set[int] = set()
    for _ in range(100):
        if large.wake_ms is None or large.body.epoch == large.body.target_epoch:
            break
        large.time_ms, large.wake_ms = max(large.time_ms, large.wake_ms), None
        large.run(lambda turn, group: making.make_on(turn, group, large.body))
        targets.add(large.body.target_epoch)
    assert len(targets - {before}) == 1
    large.settle_down()
    assert is_even(large)


def test_who_goes_while_a_target_is_made_leaves_nothing_behind(large: Large) -> None:
    for number in range(1, 6):
        large.join(f"m{number}", "orders")
    large.look()
    large.beat("m3", -1)
    large.beat("m0", -1)
    large.settle_down()
    assert large.body.target.keys() == large.body.members.keys() == {"m1", "m2", "m4", "m5"}
    assert is_even(large)


def test_the_next_coordinator_makes_it_anew(large: Large) -> None:
    for number in range(1, 6):
        large.join(f"m{number}", "orders")
    large.look()
    large.reload()
    assert large.body.making is None
    large.settle_down()
    assert is_even(large)
    assert large.body.epoch == large.body.target_epoch


def test_who_changes_its_mind_is_told_at_once(large: Large) -> None:
    large.join("m1", "orders")
    large.create("mails", 1)
    epoch = large.body.members["m1"].epoch
    answer = large.beat("m1", epoch, subscribed_topic_names=["mails"])
    assert told(answer) == {}
    assert answer.member_epoch == epoch
    large.initialize()
    large.settle_down()
    (mails,) = large.body.members["m1"].holding.assigned.values()
    assert mails == {0}
    assert large.has("m0") == frozenset(range(PARTITIONS))


def test_a_group_that_all_have_left_in_the_middle_begins_again(large: Large) -> None:
    for number in range(1, 6):
        large.join(f"m{number}", "orders")
    large.look()
    for member_id in list(large.body.members):
        large.beat(member_id, -1)
    large.pass_ms(LONG_MS)
    large.join("m9", "orders")
    large.settle_down()
    assert of_all(large) == [frozenset(range(PARTITIONS))]
