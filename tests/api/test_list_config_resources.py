from __future__ import annotations

import pytest
from tests.api.desk import Desk

from penstock.errors import ErrorCode
from penstock.metadata.config_changes import change_group_configs, replace_group_configs
from penstock.metadata.config_values import ConfigChange, Operation
from penstock.wire.messages.k74_list_config_resources import ListConfigResourcesRequest

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
TIMEOUT = "consumer.session.timeout.ms"


@pytest.fixture
def peopled(desk: Desk) -> Desk:
    """Two topics, two brokers, a group with settings and one that has them no more."""
    desk.register(10)
    desk.create("orders", retention_ms="5")
    desk.create("bills")
    for name in ("a/b", "reset"):
        desk.change(lambda image, name=name: replace_group_configs(image, name, {TIMEOUT: "7000"}))
    taken = [ConfigChange(TIMEOUT, Operation.DELETE)]
    desk.change(lambda image: change_group_configs(image, "reset", taken))
    return desk


def listed(desk: Desk, *types: int, version: int = 1) -> set[tuple[int, str]]:
    answer = desk.ask(ListConfigResourcesRequest(list(types)), version)
    assert answer.error_code == ErrorCode.NONE
    found = [(each.resource_type, each.resource_name) for each in answer.config_resources]
    assert len(set(found)) == len(found)
    return set(found)


def test_version_0_lists_client_metrics_alone_of_which_there_are_none(peopled: Desk) -> None:
    assert listed(peopled, version=0) == set()


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (TOPIC, {"orders", "bills"}),
        (BROKER, {"1", "10"}),
        (GROUP, {"a/b"}),
        (BROKER_LOGGER, set()),
        (CLIENT_METRICS, set()),
    ],
)
def test_resources_are_listed_by_type(peopled: Desk, kind: int, names: set[str]) -> None:
    assert listed(peopled, kind) == {(kind, name) for name in names}


def test_no_type_means_every_type(peopled: Desk) -> None:
    everything = {
        (TOPIC, "orders"),
        (TOPIC, "bills"),
        (BROKER, "1"),
        (BROKER, "10"),
        (GROUP, "a/b"),
    }
    assert listed(peopled) == everything


def test_a_type_that_is_asked_for_twice_is_listed_once(peopled: Desk) -> None:
    assert listed(peopled, GROUP, TOPIC, GROUP) == {
        (GROUP, "a/b"),
        (TOPIC, "orders"),
        (TOPIC, "bills"),
    }


@pytest.mark.parametrize("kind", [0, 1, 3, 99, -1])
def test_a_type_that_there_is_not_is_refused(peopled: Desk, kind: int) -> None:
    answer = peopled.ask(ListConfigResourcesRequest([TOPIC, kind]), 1)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert not answer.config_resources
