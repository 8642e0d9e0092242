"""Small text files with a checksum that Kafka's readers pass over."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import Unusable
from penstock.log import checkpoints
from penstock.log.sealing import seal, unseal, version_of

ROWS = ["orders 0 5", "orders 1 27480", "payments 0 0"]


def is_believed(data: bytes) -> bool:
    try:
        unseal(data)
    except ValueError:
        return False
    return True


words = st.text("abcdefgh-.0123456789", min_size=1, max_size=9)


@given(st.lists(st.lists(words, min_size=1, max_size=3).map(" ".join)))
def test_what_was_sealed_is_read_back(rows: list[str]) -> None:
    data = seal(0, rows)
    assert unseal(data) == rows
    assert version_of(data) == 0


def test_to_kafkas_readers_a_sealed_file_is_a_plain_one() -> None:
    version, count, *rows = seal(0, ROWS).decode().splitlines()
    assert (version, count) == ("0", "3")
    assert [re.split(r"\s+", row.rstrip()) for row in rows] == [row.split(" ") for row in ROWS]


def test_a_plain_file_is_taken_as_it_is() -> None:
    assert unseal(("\n".join(["0", "3", *ROWS]) + "\n").encode()) == ROWS
    assert unseal(b"0\n0\n") == []


def test_no_changed_bit_and_no_cut_goes_unnoticed() -> None:
    data = seal(0, ROWS)
    for at in range(data.index(b"\n"), len(data)):
        for bit in range(8):
            broken = bytearray(data)
            broken[at] ^= 1 << bit
            assert not is_believed(bytes(broken))
        assert not is_believed(data[:at])


@pytest.mark.parametrize(
    "text",
    [
        "0\n1\norders 0 5",
        "0\n1\norders 0 5\n\n",
        "0\n1\norders 0 -5\n",
        "0\n1\norders 0 1_0\n",
        "0\n1\norders 0\n",
        "0\n2\norders 0 5\norders 0 6\n",
        "0\n-1\n",
        "0\n",
        "",
    ],
)
def test_a_checkpoint_that_is_odd_in_any_way_is_not_believed(text: str) -> None:
    with pytest.raises(Unusable, match="cannot be read"):
        checkpoints.decode_offsets(text.encode(), "file")


def test_ids_are_whole_or_not_believed() -> None:
    ids = {("orders", 0): bytes(range(16))}
    assert checkpoints.decode_topic_ids(checkpoints.encode_topic_ids(ids), "file") == ids
    with pytest.raises(Unusable, match="cannot be read"):
        checkpoints.decode_topic_ids(b"0\n1\norders 0 00ff\n", "file")
