"""What shares are called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.coordination.share.names import ShareKey, read_name
from penstock.errors import ErrorCode, Refused

TOPIC_ID = bytes(range(240, 256))
GROUPS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=50)


def test_a_name_is_what_kafka_asks_for() -> None:
    assert ShareKey("jobs", TOPIC_ID, 7).name == "jobs:8PHy8_T19vf4-fr7_P3-_w:7"


@given(GROUPS, st.binary(min_size=16, max_size=16), st.integers(0, 2**31 - 1))
def test_a_name_gives_back_what_it_was_made_of(group: str, topic_id: bytes, partition: int) -> None:
    key = ShareKey(group, topic_id, partition)
    assert read_name(key.name) == key


def test_a_group_may_have_colons_in_its_name() -> None:
    key = ShareKey("a:b:0", TOPIC_ID, 1)
    assert read_name(key.name) == key


@pytest.mark.parametrize(
    "name",
    [
        "",
        "jobs",
        "jobs:7",
        ":8PHy8_T19vf4-fr7_P3-_w:7",
        "jobs:8PHy8_T19vf4-fr7_P3-_w:",
        "jobs:8PHy8_T19vf4-fr7_P3-_w:-1",
        "jobs:8PHy8_T19vf4-fr7_P3-_w:07",
        "jobs:8PHy8_T19vf4-fr7_P3-_w:\N{ARABIC-INDIC DIGIT SEVEN}",
        "jobs:8PHy8_T19vf4-fr7_P3-_w:2147483648",
        "jobs:8PHy8_T19vf4-fr7_P3-_w:" + "9" * 5000,
        "jobs:8PHy8_T19vf4-fr7_P3-_w==:7",
        "jobs:8PHy8/T19vf4+fr7/P3+/w:7",
        "jobs:!!!!8_T19vf4-fr7_P3-_w:7",
        "jobs:8PHy8_T19vf4-fr7_P3-_x:7",
    ],
)
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="names no share") as caught:
        read_name(name)
    assert caught.value.code is ErrorCode.INVALID_REQUEST
