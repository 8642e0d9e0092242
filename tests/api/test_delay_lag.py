"""Lag where messages wait: what can be read counts, and what is held does not."""

from __future__ import annotations

import pytest
from tests.api.desk import NOW_MS, Desk
from tests.api.test_delays import DUE, HELD, batch_of, commit, produced
from tests.api.test_views import make
from tests.delays.writing import CANCEL, carried_out, put_copies

from penstock.api import partial_lag
from penstock.api.lag import NOTHING, Lag, Place, lags
from penstock.delays.pending import Entry
from penstock.log.damage import Damage
from penstock.metadata.delayed_topics import SUFFIX

LATER_MS = 60_000
EU, US = ((b"region", b"eu"),), ((b"region", b"us"),)


@pytest.fixture
def orders(desk: Desk) -> Desk:
    desk.create("orders", delayed_delivery="true")
    return desk


def lag(desk: Desk, offset: int, topic: str = "orders") -> Lag:
    place = Place(topic, 0, offset)
    found: dict[Place, Lag] = carried_out(lags(desk.broker, [place], NOW_MS + LATER_MS))
    return found[place]


def test_what_is_held_is_no_lag(orders: Desk) -> None:
    produced(orders, batch_of((), HELD, (), HELD))
    produced(orders, batch_of(HELD, HELD))
    assert [lag(orders, offset).messages for offset in range(7)] == [2, 1, 1, 0, 0, 0, 0]
    assert lag(orders, 0).waiting_ms == LATER_MS
    assert lag(orders, 3) == NOTHING


def test_what_is_delivered_counts_once_and_waits_since_it_was_due(orders: Desk) -> None:
    produced(orders, batch_of(HELD, HELD, HELD))
    log = orders.broker.leader("orders", 0).log
    put_copies(log, [Entry(0, NOW_MS + 5000, 0)], still_held=False)
    put_copies(log, [Entry(1, DUE, 1)], still_held=True)
    commit(orders)
    assert lag(orders, 0) == Lag(1, LATER_MS - 5000)
    assert lag(orders, 4) == NOTHING


def test_cancels_and_what_they_cancel_are_no_lag(orders: Desk) -> None:
    produced(orders, batch_of(HELD))
    produced(orders, batch_of(((CANCEL, b"0"),)))
    assert lag(orders, 0) == NOTHING


def test_in_a_view_it_is_what_matches_and_is_not_held(orders: Desk) -> None:
    assert make(orders).error_code == 0
    produced(orders, batch_of(EU, (*EU, *HELD), US, HELD, EU))
    assert [lag(orders, offset, "eu").messages for offset in range(6)] == [2, 1, 1, 1, 1, 0]


@pytest.mark.parametrize("has_views", [False, True])
def test_in_the_list_of_what_is_held_it_counts_offsets(orders: Desk, has_views: bool) -> None:
    if has_views:
        assert make(orders).error_code == 0
    produced(orders, batch_of((), HELD))
    assert lag(orders, 0, "orders" + SUFFIX).messages == 2


def test_beyond_what_is_looked_at_it_is_offsets_but_for_what_waits_there(
    orders: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partial_lag, "LOOKED_AT_MOST", 1)
    for _ in range(20):
        produced(orders, batch_of(*[HELD, ()] * 1000))
    assert lag(orders, 0) == Lag(20_000, LATER_MS)
    monkeypatch.setattr(partial_lag, "LOOKED_AT_MOST", 0)
    assert lag(orders, 0) == Lag(20_000, None)
    assert lag(orders, 20_000) == Lag(10_000, None)


def test_damage_hides_the_time_only(orders: Desk) -> None:
    produced(orders, batch_of((), HELD))
    orders.broker.leader("orders", 0).log.damage = [Damage(0, 2, 0, 0, 10)]
    assert lag(orders, 0) == Lag(1, None)
