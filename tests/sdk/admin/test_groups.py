"""Consumer groups, as a program looks after them."""

from __future__ import annotations

import pytest
from tests.sdk.admin.conftest import Running, moment

from penstock import Admin
from penstock.sdk.admin_positions import To
from penstock.sdk.errors import GroupNotFound, GroupRunning, Misconfigured, TopicNotFound


def test_a_group_that_runs_is_listed_and_described(
    admin: Admin, orders: str, group: str, running: Running
) -> None:
    with running(group, orders):
        (listed,) = [each for each in admin.groups.list() if each.name == group]
        assert (listed.kind, listed.coordinator) == ("classic", 1)
        found = admin.groups.describe(group)
        (member,) = admin.groups.members(group)
    assert (found.state, found.kind, found.members) == ("Stable", "classic", (member,))
    assert (member.client_id, member.topics) == ("w", (orders,))
    assert member.partitions == {orders: (0, 1)}


def test_lag_is_told_in_messages_and_in_seconds(admin: Admin, orders: str, group: str) -> None:
    admin.groups.set_offsets(group, {(orders, 0): 1, (orders, 1): 4})
    lag = admin.groups.lag(group)
    first, second = lag.partitions
    assert (lag.messages, lag.is_complete) == (3, True)
    assert (first.topic, first.partition, first.committed, first.end) == (orders, 0, 1, 4)
    assert (second.messages, second.seconds) == (0, 0.0)
    assert lag.seconds == first.seconds
    assert lag.seconds > 0


def test_offsets_are_set_shown_and_deleted(admin: Admin, orders: str, group: str) -> None:
    admin.groups.set_offsets(group, {(orders, 0): 3, (orders, 1): 2})
    assert admin.groups.offsets(group) == {(orders, 0): 3, (orders, 1): 2}
    admin.groups.delete_offsets(group, orders)
    assert admin.groups.offsets(group) == {}


@pytest.mark.parametrize(
    ("to", "after"),
    [("earliest", 0), ("latest", 4), (3, 3), (99, 4), (moment(1.5), 2), (moment(60), 4)],
)
def test_a_group_is_moved(admin: Admin, orders: str, group: str, to: To, after: int) -> None:
    admin.groups.set_offsets(group, {(orders, 0): 1})
    (move,) = admin.groups.reset_offsets(group, to)
    assert (move.topic, move.partition, move.before, move.after) == (orders, 0, 1, after)
    assert (move.lag, move.note) == (4 - after, "99 is past the end" if to == 99 else "")
    assert admin.groups.offsets(group) == {(orders, 0): after}


@pytest.mark.parametrize(("shift", "after"), [(2, 3), (-1, 0), (-5, 0), (50, 4)])
def test_a_group_is_shifted(admin: Admin, orders: str, group: str, shift: int, after: int) -> None:
    admin.groups.set_offsets(group, {(orders, 0): 1})
    (move,) = admin.groups.reset_offsets(group, topics={orders: [0]}, shift=shift)
    assert (move.before, move.after) == (1, after)


def test_a_dry_run_changes_nothing(admin: Admin, orders: str, group: str) -> None:
    moves = admin.groups.reset_offsets(group, "latest", topics=[orders], dry_run=True)
    assert [(each.partition, each.before, each.after) for each in moves] == [
        (0, None, 4),
        (1, None, 4),
    ]
    assert admin.groups.offsets(group) == {}


def test_settings_of_a_group_are_set_shown_and_taken_back(admin: Admin, group: str) -> None:
    name = "consumer.session.timeout.ms"
    admin.groups.set_configs(group, {name: 7000})
    assert admin.groups.get_configs(group)[name].value == "7000"
    admin.groups.unset_configs(group, name)
    assert admin.groups.get_configs(group)[name].source != "group"


def test_a_group_that_runs_is_left_alone(
    admin: Admin, orders: str, group: str, running: Running
) -> None:
    with running(group, orders):
        with pytest.raises(GroupRunning, match="stop its members first"):
            admin.groups.delete(group)
        with pytest.raises(GroupRunning):
            admin.groups.reset_offsets(group, "earliest", topics=orders)
        with pytest.raises(GroupRunning):
            admin.groups.set_offsets(group, {(orders, 0): 1})
    assert admin.groups.offsets(group).get((orders, 0)) != 1


def test_a_group_that_is_down_can_be_deleted(admin: Admin, orders: str, group: str) -> None:
    admin.groups.set_offsets(group, {(orders, 0): 1})
    admin.groups.delete(group)
    with pytest.raises(GroupNotFound, match=r"admin\.groups\.list\(\) shows"):
        admin.groups.delete(group)
    for ask in (admin.groups.describe, admin.groups.lag, admin.groups.delete_offsets):
        with pytest.raises(GroupNotFound):
            ask(group)


def test_what_cannot_be_is_refused_with_a_way_out(admin: Admin, orders: str, group: str) -> None:
    with pytest.raises(Misconfigured, match="give either to= or shift="):
        admin.groups.reset_offsets(group)
    with pytest.raises(Misconfigured, match="give either to= or shift="):
        admin.groups.reset_offsets(group, "latest", shift=1)
    with pytest.raises(Misconfigured, match="has committed no offsets; give topics="):
        admin.groups.reset_offsets(group, "latest")
    with pytest.raises(TopicNotFound):
        admin.groups.reset_offsets(group, "latest", topics="nowhere")
    with pytest.raises(TopicNotFound, match="has no partition 9"):
        admin.groups.set_offsets(group, {(orders, 9): 1})
    for offset in (-1, 2**63):
        with pytest.raises(Misconfigured, match=f"offset of {orders}-0=-?.*: give a whole number"):
            admin.groups.set_offsets(group, {(orders, 0): offset})
    assert admin.groups.offsets(group) == {}
