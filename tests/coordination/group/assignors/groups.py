"""Groups for the tests of the assignors: made by hand, or drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from hypothesis import strategies as st
from msgspec.structs import replace

from penstock.coordination.group.assignors import Assign, Assignment, Subscriber, at_once

A, B, C, D = b"a" * 16, b"b" * 16, b"c" * 16, b"d" * 16
TOPICS = [A, B, C, D]

Group = list[Subscriber]
Partitions = dict[bytes, int]
Owned = tuple[str, bytes, int]
InOneGo = Callable[[Sequence[Subscriber], Mapping[bytes, int]], dict[str, Assignment]]


def in_one_go(assign: Assign) -> InOneGo:
    return lambda group, sizes: at_once(assign(group, sizes))


def member(
    name: str,
    topics: Iterable[bytes],
    assigned: Mapping[bytes, Iterable[int]] | None = None,
    instance: str | None = None,
) -> Subscriber:
    held = {topic: frozenset(numbers) for topic, numbers in (assigned or {}).items()}
    return Subscriber(name, instance, frozenset(topics), held)


def shown(assignment: Assignment) -> dict[bytes, list[int]]:
    return {topic: sorted(numbers) for topic, numbers in assignment.items()}


def after(group: Sequence[Subscriber], result: Mapping[str, Assignment]) -> Group:
    """The group once it has what it was assigned."""
    return [replace(each, assigned=result[each.member_id]) for each in group]


def owned(result: Mapping[str, Assignment]) -> set[Owned]:
    return {
        (name, topic, number)
        for name, assignment in result.items()
        for topic, numbers in assignment.items()
        for number in numbers
    }


def held(group: Sequence[Subscriber]) -> set[Owned]:
    return owned({each.member_id: each.assigned for each in group})


def loads(result: Mapping[str, Assignment]) -> Counter[str]:
    counts = Counter(dict.fromkeys(result, 0))
    counts.update(name for name, _, _ in owned(result))
    return counts


partitions = st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 12), min_size=1)
some_topics = st.frozensets(st.sampled_from(TOPICS))
any_assigned = st.dictionaries(
    st.sampled_from(TOPICS), st.frozensets(st.integers(0, 14), min_size=1)
)
names = st.sets(st.integers(0, 30), min_size=1, max_size=9)


@st.composite
def differing(draw: st.DrawFn) -> Group:
    """Anyone may subscribe to anything, and claim to have had anything."""
    return [
        Subscriber(
            f"m{name:02}",
            draw(st.sampled_from([None, f"i{name * 7 % 31:02}"])),
            draw(some_topics),
            draw(any_assigned),
        )
        for name in draw(names)
    ]


@st.composite
def alike(draw: st.DrawFn, sizes: Partitions) -> Group:
    """All subscribe to all topics; each partition was one member's, or nobody's."""
    members = sorted(draw(names))
    takers = st.sampled_from([None, *members])
    had: dict[int, dict[bytes, set[int]]] = {name: {} for name in members}
    for topic in sorted(sizes):
        for number in range(sizes[topic]):
            taker = draw(takers)
            if taker is not None:
                had[taker].setdefault(topic, set()).add(number)
    return [member(f"m{name:02}", sizes, had[name]) for name in members]
