from __future__ import annotations

import pytest
from tests.api.desk import Desk

from penstock.errors import ErrorCode
from penstock.wire.messages.k33_alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)

TOPIC, BROKER, GROUP = 2, 4, 32


def resource(kind: int, name: str, **configs: str | None) -> AlterConfigsResource:
    settings = [AlterableConfig(key.replace("_", "."), value) for key, value in configs.items()]
    return AlterConfigsResource(kind, name, settings)


def alter(
    desk: Desk, *resources: AlterConfigsResource, version: int = 2, validate_only: bool = False
) -> list[int]:
    answer = desk.ask(AlterConfigsRequest(list(resources), validate_only), version)
    return [result.error_code for result in answer.responses]


def configs_of(desk: Desk, name: str) -> dict[str, str]:
    topic = desk.image.topic(name)
    assert topic is not None
    return topic.record.configs


@pytest.mark.parametrize("version", range(3))
def test_settings_that_are_not_given_fall_to_their_defaults(desk: Desk, version: int) -> None:
    desk.create("orders", retention_ms="1000", segment_ms="5")
    assert alter(desk, resource(TOPIC, "orders", segment_ms="6"), version=version) == [0]
    assert configs_of(desk, "orders") == {"segment.ms": "6"}


def test_broker_settings_are_replaced_for_one_or_for_all(desk: Desk) -> None:
    one = resource(BROKER, "1", log_retention_ms="5")
    every = resource(BROKER, "", disk_free_min_bytes="7")
    assert alter(desk, one, every) == [0, 0]
    own, general = desk.image.settings.broker_config(1), desk.image.settings.broker_config(None)
    assert own is not None
    assert general is not None
    assert own.record.configs == {"log.retention.ms": "5"}
    assert general.record.configs == {"disk.free.min.bytes": "7"}
    assert alter(desk, resource(BROKER, "1")) == [0]
    emptied = desk.image.settings.broker_config(1)
    assert emptied is not None
    assert emptied.record.configs == {}


def test_one_refused_resource_does_not_spoil_the_others(desk: Desk) -> None:
    desk.create("orders")
    desk.create("bills")
    found = alter(
        desk,
        resource(TOPIC, "orders", retention_ms="soon"),
        resource(TOPIC, "unknown", retention_ms="5"),
        resource(BROKER, "2", log_retention_ms="5"),
        resource(BROKER, "1", num_partitions="5"),
        resource(GROUP, "group", x="5"),
        resource(TOPIC, "bills", retention_ms=None),
        resource(BROKER, "", log_retention_ms="6"),
    )
    assert found == [
        ErrorCode.INVALID_CONFIG,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.NONE,
    ]


def test_groups_are_referred_to_the_newer_request(desk: Desk) -> None:
    group = resource(GROUP, "readers", consumer_session_timeout_ms="7000")
    (result,) = desk.ask(AlterConfigsRequest([group])).responses
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert "IncrementalAlterConfigs" in result.error_message
    assert desk.image.settings.group_config("readers") is None


def test_a_resource_that_comes_twice_is_left_as_it_is(desk: Desk) -> None:
    desk.create("orders", retention_ms="1")
    twice = [resource(TOPIC, "orders", retention_ms=value) for value in ("2", "3")]
    assert alter(desk, *twice) == [ErrorCode.INVALID_REQUEST]
    assert configs_of(desk, "orders") == {"retention.ms": "1"}


def test_validate_only_changes_nothing(desk: Desk) -> None:
    desk.create("orders")
    good, bad = resource(TOPIC, "orders", retention_ms="2"), resource(BROKER, "", nonsense="2")
    assert alter(desk, good, bad, validate_only=True) == [0, ErrorCode.INVALID_CONFIG]
    assert configs_of(desk, "orders") == {}


def test_topics_and_brokers_of_one_request_are_one_commit(desk: Desk) -> None:
    desk.create("orders")
    desk.commits.clear()
    changes = (
        resource(BROKER, "", log_retention_ms="6"),
        resource(TOPIC, "orders", retention_ms="2"),
    )
    assert alter(desk, *changes) == [0, 0]
    (commit,) = desk.commits
    assert commit.puts[0][0] == "/catalog", "its nonce tells the commit from all others"


def test_a_failure_as_a_whole_is_told_for_every_resource(desk: Desk) -> None:
    call = desk.call(AlterConfigsRequest([resource(TOPIC, "orders")]))
    answer = call.api.failure(call.request, ErrorCode.REQUEST_TIMED_OUT, "no store")
    (result,) = desk.decoded(answer, 2).responses
    assert (result.resource_type, result.resource_name) == (TOPIC, "orders")
    assert result.error_code == ErrorCode.REQUEST_TIMED_OUT
