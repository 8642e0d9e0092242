"""Names of transactions, and brokers that do not have what exactly-once takes."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from tests.broker_process import BrokerProcess
from tests.client.scripted import ScriptedBroker, client_of, cluster

from penstock.client.cluster import WireClient
from penstock.spark.errors import SparkError
from penstock.spark.sink import transactions
from penstock.spark.sink.transactions import Names, open_two_phase, query_of
from penstock.wire.messages import APIS, ApiKey
from penstock.wire.messages.k10_find_coordinator import Coordinator, FindCoordinatorResponse
from penstock.wire.messages.k22_init_producer_id import InitProducerIdRequest


def test_tasks_of_a_batch_have_names_of_their_own_and_later_batches_the_same_ones() -> None:
    names = Names()
    first = [names.take("q", 0) for _ in range(3)]
    assert len(set(first)) == 3
    assert [names.take("q", 1) for _ in range(2)] == first[:2]
    assert names.take("other", 1) not in first
    assert {query_of(each) for each in first} == {"q"}


def test_a_batch_that_is_run_again_has_other_names() -> None:
    names = Names()
    assert names.take("q", 0) != names.take("q", 0)


def test_no_two_processes_share_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names()
    before = names.take("q", 0)
    assert Names().take("q", 0) != before
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert names.take("q", 0).endswith("-0")
    assert names.take("q", 1) != before


def test_a_query_that_was_forgotten_gets_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "QUERIES_MAX", 1)
    names = Names()
    before = names.take("q", 0)
    names.take("other", 0)
    assert names.take("q", 0) != before


@pytest.mark.parametrize(
    ("key", "version"),
    [(ApiKey.INIT_PRODUCER_ID, 5), (ApiKey.END_TXN, 4), (ApiKey.PRODUCE, 11)],
)
def test_a_broker_without_two_phases_is_told_of(key: ApiKey, version: int) -> None:
    """Before it opens one that its timeout would abort."""
    versions = {ApiKey(each): (api.min_version, api.max_version) for each, api in APIS.items()}
    broker = ScriptedBroker({**versions, key: (0, version)})
    broker.answers(ApiKey.METADATA, cluster({0: 1}))
    found = FindCoordinatorResponse(coordinators=[Coordinator("a", 1, "broker", 1)])
    broker.answers(ApiKey.FIND_COORDINATOR, lambda _: found)
    with pytest.raises(SparkError, match="delivery=at-least-once works with them"):
        open_two_phase(client_of({1: broker}), "a")
    assert broker.asked(InitProducerIdRequest) == []


def test_brokers_that_do_not_allow_two_phases_are_told_of(
    own_broker: Callable[..., BrokerProcess],
) -> None:
    broker = own_broker("--set", "transaction.two.phase.commit.enable=false").start()
    with (
        WireClient(broker.address) as client,
        pytest.raises(SparkError, match=r"set transaction\.two\.phase\.commit\.enable=true"),
    ):
        open_two_phase(client, "a")
