"""Plans for moving replicas: as few as it takes, and racks kept apart."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.metadata.balancing import Named, evened, off_broker
from penstock.metadata.placement import Replicas, place

RACKS = {1: "a", 2: "b", 3: "c", 4: "a"}


def topic(count: int, replication: int, racks: dict[int, str], name: str = "t") -> dict:  # type: ignore[type-arg]
    placed = place(0, count, replication, racks, 3)
    return {(name, index): replicas for index, replicas in enumerate(placed)}


def held(assignment: dict[Named, Replicas]) -> Counter[int]:
    return Counter(broker for replicas in assignment.values() for broker in replicas)


def test_what_a_leaving_broker_holds_goes_to_others_in_its_place() -> None:
    racks = dict.fromkeys((1, 2, 3, 4), "")
    before = topic(12, 2, racks)
    plan = off_broker(before, 2, racks)
    assert set(plan) == {named for named, replicas in before.items() if 2 in replicas}
    for named, replicas in plan.items():
        assert replicas is not None
        assert 2 not in replicas
        changed = [old for old, new in zip(before[named], replicas, strict=True) if old != new]
        assert changed == [2]
    after = held({**before, **{k: v for k, v in plan.items() if v}})
    assert max(after.values()) - min(after.values()) <= 2


def test_where_all_others_have_a_replica_there_is_no_place_to_go() -> None:
    racks = {1: "", 2: "", 3: ""}
    assert set(off_broker(topic(3, 3, racks), 1, racks).values()) == {None}


def test_a_broker_that_is_down_can_be_drained_too() -> None:
    plan = off_broker({("t", 0): (9, 1)}, 9, RACKS)
    assert plan[("t", 0)] in {(2, 1), (3, 1)}


def test_a_new_broker_gets_its_share_and_nothing_else_is_moved() -> None:
    before = topic(30, 2, {1: "", 2: "", 3: ""})
    plan = evened(before, dict.fromkeys((1, 2, 3, 4), ""))
    after = {**before, **plan}
    assert sorted(held(after).values()) == [15, 15, 15, 15]
    moved = sum(len(set(after[named]) - set(before[named])) for named in before)
    assert moved == 15


def test_what_is_even_stays_as_it_is() -> None:
    racks = {1: "", 2: "", 3: ""}
    assert evened(topic(9, 2, racks), racks) == {}


def test_a_topic_is_spread_as_well_as_the_whole() -> None:
    before = {(name, index): (1,) for name in "ab" for index in range(4)}
    after = {**before, **evened(before, {1: "", 2: ""})}
    for name in "ab":
        own = Counter(replicas[0] for (each, _), replicas in after.items() if each == name)
        assert own == {1: 2, 2: 2}


def test_replicas_never_come_to_share_a_rack_for_evenness() -> None:
    """4 stands beside 1: what 2 and 3 hold beside 1 cannot go there."""
    before = {("t", index): (1, 2 + index % 2) for index in range(8)}
    after = {**before, **evened(before, RACKS)}
    assert all(len({RACKS[broker] for broker in replicas}) == 2 for replicas in after.values())


assignments = st.lists(
    st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True).map(tuple), max_size=25
)


@settings(deadline=None)
@given(assignments, st.dictionaries(st.integers(1, 6), st.sampled_from("ab"), min_size=1))
def test_a_plan_ends_keeps_the_number_of_replicas_and_spoils_no_racks(
    listed: list[Replicas], racks: dict[int, str]
) -> None:
    before = {("t", index): replicas for index, replicas in enumerate(listed)}
    plan = evened(before, racks)
    for named, replicas in plan.items():
        assert len(set(replicas)) == len(replicas) == len(before[named])
        assert len({racks.get(each) for each in replicas}) >= len(
            {racks.get(each) for each in before[named]}
        )
    counts = held({**before, **plan})
    if len(set(racks.values())) == 1 and all(len(replicas) == 1 for replicas in listed):
        own = [counts[broker] for broker in racks]
        assert max(own) - min(own) <= 1
