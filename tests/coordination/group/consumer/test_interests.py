"""What a group subscribes to and what of it is there, kept up to date name by name."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from tests.coordination.group.consumer.stage import Stage

from penstock.coordination.group.consumer.interests import Interests, hash_of, sized

NAMES = [f"topic-{number}" for number in range(6)]
SUBSCRIPTIONS = st.lists(st.sampled_from(NAMES), unique=True).map(tuple)
MATCHES = st.frozensets(st.sampled_from(NAMES))


def image_of(names: Iterable[str], partitions: int = 1) -> Stage:
    stage = Stage()
    for name in names:
        stage.create(name, partitions)
    return stage


@given(st.lists(st.tuples(SUBSCRIPTIONS, MATCHES, MATCHES, st.booleans()), max_size=8))
def test_whatever_comes_and_goes_what_is_there_is_what_is_wanted(
    steps: list[tuple[tuple[str, ...], frozenset[str], frozenset[str], bool]],
) -> None:
    interests, held, matched = Interests(), list[tuple[str, ...]](), frozenset[str]()
    for names, match, there, one_goes in steps:
        interests.subscribe(names)
        held.append(names)
        if one_goes:
            interests.unsubscribe(held.pop(0))
        interests.match(matched, match)
        matched = match
        topics = image_of(there, len(held) + 1).image.topics
        interests.doubt(NAMES)
        interests.look(topics)
        wanted = matched.union(*held)
        assert interests.users.keys() == wanted
        assert interests.names == sum(map(len, set(held)))
        assert interests.present == {n: sized(topics[n]) for n in wanted & topics.keys()}
        assert interests.hash == hash_of(interests.present.values())


def test_names_of_no_topic_are_not_looked_at() -> None:
    interests = Interests()
    interests.subscribe(("orders", *(f"none-{number}" for number in range(1_000))))
    assert interests.look(image_of(["orders", "payments"]).image.topics) == 1


def test_what_was_looked_at_is_not_looked_at_again_until_it_is_in_doubt() -> None:
    topics = image_of(NAMES).image.topics
    interests = Interests()
    interests.subscribe(tuple(NAMES))
    assert interests.look(topics) == len(NAMES)
    assert interests.look(topics) == 0
    interests.doubt([NAMES[0]])
    assert interests.look(topics) == 1
    interests.doubt_all(topics)
    assert interests.look(topics) == len(NAMES)


def test_a_topic_that_grows_or_is_made_anew_makes_another_number() -> None:
    stage = image_of(["orders"])
    before = sized(stage.image.topics["orders"])
    stage.grow("orders", 2)
    grown = sized(stage.image.topics["orders"])
    stage.delete("orders")
    stage.create("orders", 2)
    again = sized(stage.image.topics["orders"])
    assert len({hash_of([each]) for each in (before, grown, again)} - {0}) == 3
    assert hash_of([]) == 0


def test_members_with_the_same_names_have_the_same_object() -> None:
    stage = Stage()
    stage.join("m1", "orders", "payments")
    stage.join("m2", "payments", "orders")
    one, other = (member.profile.topics for member in stage.body.members.values())
    assert one is other
    stage.beat("m1", -1)
    stage.join("m3", "orders", "payments")
    assert stage.body.members["m3"].profile.topics is other
    assert stage.body.interests.users == {"orders": 1, "payments": 1}
