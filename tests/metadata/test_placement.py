"""Placement: even, apart, and the same for the same question."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from penstock.metadata.placement import place

clusters = st.dictionaries(st.integers(0, 99), st.sampled_from("abc"), min_size=1, max_size=9)


@given(clusters, st.integers(1, 60), st.integers(0, 2**32), st.data())
def test_replicas_are_on_different_brokers_and_on_as_many_racks_as_can_be(
    racks: dict[int, str], count: int, start: int, data: st.DataObject
) -> None:
    replication = data.draw(st.integers(1, len(racks)))
    for replicas in place(0, count, replication, racks, start):
        assert len(set(replicas)) == len(replicas) == replication
        used = {racks[broker] for broker in replicas}
        assert len(used) == min(replication, len(set(racks.values())))


@given(clusters, st.integers(1, 60), st.integers(0, 2**32))
def test_no_broker_leads_more_than_one_partition_more_than_another(
    racks: dict[int, str], count: int, start: int
) -> None:
    leads = Counter(dict.fromkeys(racks, 0))
    leads.update(replicas[0] for replicas in place(0, count, 1, racks, start))
    assert max(leads.values()) - min(leads.values()) <= 1


@given(st.integers(1, 9), st.integers(1, 5), st.integers(0, 2**32), st.data())
def test_after_whole_turns_each_broker_has_as_many_replicas(
    size: int, turns: int, start: int, data: st.DataObject
) -> None:
    replication = data.draw(st.integers(1, size))
    racks = dict.fromkeys(range(size), "")
    held = Counter(b for r in place(0, size * turns, replication, racks, start) for b in r)
    assert set(held.values()) == {turns * replication}


def test_with_racks_of_one_size_replicas_are_even_too() -> None:
    racks = {broker: "abc"[broker % 3] for broker in range(9)}
    held = Counter(b for r in place(0, 72, 3, racks, 5) for b in r)
    assert max(held.values()) - min(held.values()) <= 6


@given(clusters, st.integers(0, 40), st.integers(1, 20), st.integers(0, 2**32))
def test_added_partitions_go_on_where_the_first_ended(
    racks: dict[int, str], first: int, count: int, start: int
) -> None:
    whole = place(0, first + count, 1, racks, start)
    assert place(first, count, 1, racks, start) == whole[first:]


def test_followers_of_one_leader_are_spread() -> None:
    placed = place(0, 20, 2, dict.fromkeys(range(5), ""), 0)
    assert len({replicas[1] for replicas in placed if replicas[0] == 0}) == 4
