from __future__ import annotations

import pytest
from tests.api.desk import Desk

from penstock.errors import ErrorCode
from penstock.metadata.changes import Commit
from penstock.metadata.records import broker_key
from penstock.wire.messages.k10_find_coordinator import FindCoordinatorRequest

GROUP, TRANSACTION, SHARE = 0, 1, 2


@pytest.mark.parametrize("version", range(4))
def test_a_group_is_looked_after_by_this_broker(desk: Desk, version: int) -> None:
    answer = desk.ask(FindCoordinatorRequest(key="group"), version)
    assert answer.error_code == ErrorCode.NONE
    assert (answer.node_id, answer.host, answer.port) == (1, "broker.test", 9092)


@pytest.mark.parametrize("version", range(4, 7))
def test_several_groups_are_answered_each(desk: Desk, version: int) -> None:
    answer = desk.ask(FindCoordinatorRequest(coordinator_keys=["a", "b"]), version)
    found = [(each.key, each.node_id, each.host, each.port) for each in answer.coordinators]
    assert found == [("a", 1, "broker.test", 9092), ("b", 1, "broker.test", 9092)]
    assert not any(each.error_code for each in answer.coordinators)


@pytest.mark.parametrize("kind", [TRANSACTION, SHARE, 9])
def test_what_is_not_supported_is_refused_for_good(desk: Desk, kind: int) -> None:
    old = desk.ask(FindCoordinatorRequest(key="key", key_type=kind), 3)
    assert (old.error_code, old.node_id) == (ErrorCode.INVALID_REQUEST, -1)
    assert old.error_message
    (new,) = desk.ask(FindCoordinatorRequest(key_type=kind, coordinator_keys=["key"])).coordinators
    assert (new.key, new.error_code, new.node_id) == ("key", ErrorCode.INVALID_REQUEST, -1)
    assert new.error_message == old.error_message


def test_a_broker_that_is_not_registered_asks_clients_to_come_back(desk: Desk) -> None:
    desk.change(lambda image: Commit(None, deletes=[broker_key(1)]))
    answer = desk.ask(FindCoordinatorRequest(key="group"), 0)
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
