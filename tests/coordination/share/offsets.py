"""Stretches of records as a state for each offset: the plain way, to compare with."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from hypothesis import strategies as st

from penstock.wire.delivery import Delivery, StateBatch

LAST = 40
Plain = dict[int, tuple[int, int]]


def plain(batches: Iterable[StateBatch]) -> Plain:
    """What stands further on counts."""
    return {
        offset: (batch.state, batch.deliveries)
        for batch in batches
        for offset in range(batch.first, batch.last + 1)
    }


def is_in_order(batches: Iterable[StateBatch]) -> bool:
    """And as short as can be."""
    return all(
        one.last < two.first and not (one.last + 1 == two.first and one[2:] == two[2:])
        for one, two in pairwise(batches)
    )


def _batch(first: int, length: int, state: int, deliveries: int) -> StateBatch:
    return StateBatch(first, min(first + length, LAST), state, deliveries)


STATES = st.sampled_from([Delivery.AVAILABLE, Delivery.ACKNOWLEDGED, Delivery.ARCHIVED])
BATCHES = st.lists(
    st.builds(_batch, st.integers(0, LAST), st.integers(0, 8), STATES, st.integers(1, 2)),
    max_size=8,
)
